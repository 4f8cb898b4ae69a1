package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// beside is what an event means beyond the frames of its turn: decided on the
// state of the log, which the turn machine does not know.
type beside func(s *hub.State, draft *hub.Draft)

// besides returns what an event means for the directory and for those who
// asked; nil for nothing. It may read the log.
func (h *hostSession) besides(ctx context.Context, ev link.Event) (beside, error) {
	switch ev.Kind {
	case link.KindTitle:
		b, err := link.Decode[link.Title](ev.Body)
		return func(s *hub.State, d *hub.Draft) { title(s, d, ev.Lane(), b.Title) }, err
	case link.KindThreadCreate:
		b, err := link.Decode[link.ThreadCreate](ev.Body)
		return func(s *hub.State, d *hub.Draft) { createThread(s, d, ev.ChatID, b) }, err
	case link.KindDone:
		b, err := link.Decode[link.Done](ev.Body)
		if err != nil {
			return nil, err
		}
		item, err := h.inboundItem(ctx, b.Cursor, b.Item)
		return func(s *hub.State, d *hub.Draft) { done(s, d, item, b, ev.At) }, err
	}
	return nil, nil
}

// title gives a thread that was made for a message the host's name for it,
// unless a person has named it meanwhile (protocol: message.send, "auto_thread").
func title(s *hub.State, draft *hub.Draft, lane iris.Lane, name string) {
	c, ok := s.Channel(lane)
	if name = hostName(name); !ok || !c.Auto || name == "" {
		return
	}
	_ = renameChannel(s, draft, lane, name) // the lane exists
}

// createThread adds a thread that the host made.
func createThread(s *hub.State, draft *hub.Draft, chat string, b link.ThreadCreate) {
	lane := iris.Lane{ChatID: chat, ThreadID: b.ThreadID}
	if _, exists := s.Channel(lane); exists {
		return
	}
	name := hostName(b.Name)
	if name == "" {
		name = unnamed
	}
	// Beyond the limit it is not made, and its messages are dropped like those
	// of a lane that was deleted.
	_ = createChannel(s, draft, iris.Channel{Lane: lane, Name: name, Kind: iris.KindThread})
}

// hostName makes a channel's name of what the host says.
func hostName(name string) string { return shorten(oneLine(name), wire.MaxChannelName) }

// done tells whoever asked what became of an inbound item. An answer that came
// too late is shown in its lane: the picker has long been closed.
func done(s *hub.State, draft *hub.Draft, item link.Inbound, b link.Done, at int64) {
	if item.Kind != link.InboundAnswer {
		draft.Control = append(draft.Control, iris.Control{
			Kind: iris.InboundDone, Done: iris.Done{Cursor: b.Cursor, Item: b.Item, OK: b.OK, Error: b.Error},
		})
		return
	}
	if _, ok := s.Channel(item.Lane()); b.OK || !ok {
		return
	}
	text := b.Error
	if text == "" {
		text = "The answer came too late."
	}
	m := iris.Message{
		// The same whoever makes it: the event may be decided on twice.
		ID:   iris.ClientMessageID("done", fmt.Sprint(b.Cursor, ".", b.Item)),
		Lane: item.Lane(), Role: iris.RoleSystem, Text: text, At: time.UnixMilli(at),
	}
	draft.Add(m.Lane, messageFrame(m))
	draft.Messages = append(draft.Messages, m.ID)
	draft.Changes = append(draft.Changes, iris.PutMessage{Message: m})
}

// inboundItem reads an item that the host was sent. One that the log no longer
// has is the zero Inbound.
func (h *hostSession) inboundItem(ctx context.Context, cursor int64, item int) (link.Inbound, error) {
	entry, found, err := h.gateway.Entry(ctx, cursor)
	if err != nil {
		return link.Inbound{}, fmt.Errorf("read what the host has done: %w", err)
	}
	var in link.Inbound
	if !found || item >= len(entry.Inbound) {
		return in, nil
	}
	if err := json.Unmarshal([]byte(entry.Inbound[item]), &in); err != nil {
		return link.Inbound{}, fmt.Errorf("inbound item %d of entry %d: %w", item, cursor, err)
	}
	return in, nil
}
