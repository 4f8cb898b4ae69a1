package handlers

import (
	"context"
	"encoding/json"
	"slices"

	"iris-gateway/handlers/erase"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// erased takes over that people have deleted something: the machine makes no
// frames of it any more. What it made before, and waits for the log, is left out
// when that is decided.
func (h *hostSession) erased(a *hub.Actor, d iris.Deletion) {
	if h.machine == nil { // it will be made of what is left
		return
	}
	h.machine.Forget(d.Covers)
	h.machine.Drop(d.Messages)
	a.TurnsChanged()
}

// dropOrphan removes a file of the agent whose message, or lane, people have
// deleted while it, or the event that shows it, was on its way.
func (h *hostSession) dropOrphan(a *hub.Actor, ev link.Event) {
	b, err := link.Decode[link.Media](ev.Body)
	media := h.server.cfg.Media
	_, known := a.State().Channel(ev.Lane())
	if err != nil || media == nil || known && !a.State().Erased(b.MessageID) {
		return
	}
	a.Go(func(ctx context.Context) {
		if err := media.DeleteMedia(ctx, h.gateway.ID, b.MediaID); err != nil && ctx.Err() == nil {
			h.log.Warn("remove a file of a deleted message", "media", b.MediaID, "err", err)
		}
	})
}

// alive leaves the turns of lanes that exist.
func alive(s *hub.State, turns []link.Turn) []link.Turn {
	return slices.DeleteFunc(turns, func(t link.Turn) bool { _, ok := s.Channel(t.Lane()); return !ok })
}

// unerased returns a host's draft without what was deleted since it was made: a
// frame or row of it must not bring a message back, nor refuse its commit because
// the lane is gone.
func unerased(s *hub.State, draft hub.Draft) hub.Draft {
	gone := func(lane iris.Lane) bool { _, ok := s.Channel(lane); return !ok }
	draft.Changes = unerasedLives(s, draft.Changes)
	if !slices.ContainsFunc(draft.Lanes, gone) && !slices.ContainsFunc(draft.Messages, s.Erased) {
		return draft
	}
	draft.Frames = slices.DeleteFunc(slices.Clone(draft.Frames), func(frame string) bool {
		var f struct {
			ChatID   string `json:"chat_id"`
			ThreadID string `json:"thread_id"`
			Payload  struct {
				MessageID string `json:"message_id"`
			} `json:"payload"`
		}
		err := json.Unmarshal([]byte(frame), &f)
		return err == nil && (gone(iris.Lane{ChatID: f.ChatID, ThreadID: f.ThreadID}) || s.Erased(f.Payload.MessageID))
	})
	draft.Changes = slices.DeleteFunc(slices.Clone(draft.Changes), func(ch iris.Change) bool {
		switch c := ch.(type) {
		case iris.PutMessage:
			return gone(c.Message.Lane) || s.Erased(c.Message.ID)
		case iris.SetBusy:
			return gone(c.Lane)
		case iris.PutPicker:
			return gone(c.Picker.Lane)
		}
		return false
	})
	return draft
}

// unerasedLives does the same with the live documents that go with an entry.
func unerasedLives(s *hub.State, changes []iris.Change) []iris.Change {
	isLive := func(ch iris.Change) bool { _, ok := ch.(iris.PutLive); return ok }
	if !slices.ContainsFunc(changes, isLive) {
		return changes
	}
	var kept []iris.Change
	for _, ch := range changes {
		if put, ok := ch.(iris.PutLive); ok {
			if _, known := s.Channel(put.Live.Lane); !known {
				continue
			}
			put.Live, _ = erase.Live(put.Live, s.Erased)
			ch = put
		}
		kept = append(kept, ch)
	}
	return kept
}
