package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// readFrames reads the host's frames until the connection ends. What has the
// wrong form is logged and dropped: nothing is resent for ever.
func (h *hostSession) readFrames(ctx context.Context) error {
	for {
		binary, r, err := h.ws.reader(ctx)
		if err != nil {
			return err
		}
		if binary {
			if err := h.mediaBytes(ctx, r); err != nil {
				return err
			}
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := h.room.Acquire(ctx, int64(len(data))); err != nil {
			return err
		}
		done := func() { h.room.Release(int64(len(data))) }
		if err := h.handle(ctx, data, done); err != nil {
			done()
			if !isPublic(err) {
				return err
			}
			h.log.Warn("host frame dropped", "err", err)
		}
	}
}

// handle does what a frame asks for, and sees to it that done is called once
// its memory is free again, unless it returns an error.
func (h *hostSession) handle(ctx context.Context, data []byte, done func()) error {
	kind, err := link.Type(data)
	if err != nil {
		return err
	}
	switch kind {
	case link.TypeEvent:
		ev, err := decodeEvent(data)
		if err != nil && ev.Seq == 0 {
			return err
		}
		var more beside
		if err == nil {
			ev, err = h.described(ctx, ev)
		}
		if err == nil {
			more, err = h.besides(ctx, ev)
		}
		if err == nil {
			err = h.look(ctx, ev)
		}
		if err != nil && !isPublic(err) {
			return err
		}
		return h.gateway.Do(func(a *hub.Actor) { h.take(a, ev, more, err, done) })
	case link.TypeReceived:
		f, err := link.Decode[link.Received](data)
		if err != nil {
			return err
		}
		return h.gateway.Do(func(a *hub.Actor) { h.received(a, f.Cursor); done() })
	}
	if err := h.handleMedia(ctx, kind, data); err != nil {
		return err
	}
	done()
	return nil
}

// decodeEvent reads an event. Of one with the wrong form it still returns the
// seq, if it can, so that it can be acknowledged.
func decodeEvent(data []byte) (link.Event, error) {
	ev, err := link.Decode[link.Event](data)
	if err != nil {
		seq, _ := link.Decode[struct {
			Seq int64 `json:"seq"`
		}](data)
		return link.Event{Seq: seq.Seq}, err
	}
	return ev, nil
}

// isPublic reports whether err is about what the peer sent.
func isPublic(err error) bool {
	var e *iris.Error
	return errors.As(err, &e)
}

// noteSent remembers which messages the host has been given.
func (h *hostSession) noteSent(cursor int64, item string) {
	if cursor <= h.counted {
		return
	}
	var f struct {
		Kind     string `json:"kind"`
		ChatID   string `json:"chat_id"`
		ThreadID string `json:"thread_id"`
		Body     struct {
			MessageID string `json:"message_id"`
		} `json:"body"`
	}
	if json.Unmarshal([]byte(item), &f) != nil || f.Kind != link.InboundMessage && f.Kind != link.InboundSteer {
		return
	}
	h.sent = append(h.sent, sentMessage{cursor, iris.Lane{ChatID: f.ChatID, ThreadID: f.ThreadID}, f.Body.MessageID})
}

// received takes the host's word that it has all inbound up to cursor: the
// devices get a read receipt for each message, once. It is true whatever has
// become of the link since.
func (h *hostSession) received(a *hub.Actor, cursor int64) {
	n := 0
	for n < len(h.sent) && h.sent[n].cursor <= cursor {
		n++
	}
	messages := h.sent[:n]
	h.sent = h.sent[n:]
	a.Propose(hub.Proposal{
		Decide: func(s *hub.State) (hub.Draft, error) { return receiptDraft(s, messages, cursor), nil },
		Done: func(a *hub.Actor, r hub.Result) {
			if r.Err == nil {
				a.Received(cursor)
			}
		},
	})
}

// receiptDraft makes the receipts of messages that the log does not have yet:
// what it says was received has its receipts in it.
func receiptDraft(s *hub.State, messages []sentMessage, cursor int64) hub.Draft {
	mark := s.Host
	mark.Received = max(mark.Received, min(cursor, s.Cursor))
	d := hub.Draft{Host: &mark}
	for _, m := range messages {
		if _, ok := s.Channel(m.lane); ok && m.cursor > s.Host.Received && !s.Erased(m.id) {
			d.Add(m.lane, wire.ReadReceipt{MessageID: m.id})
			d.Messages = append(d.Messages, m.id)
		}
	}
	return d
}

// sendBacklog brings the host the inbound that lies behind it, then lets it
// follow the log.
func (h *hostSession) sendBacklog(ctx context.Context, pos int64) {
	for {
		var done bool
		err := h.gateway.Call(ctx, func(a *hub.Actor) {
			if done = a.CatchUpHost(h.host, pos); done {
				h.received(a, h.hello.Received)
			}
		})
		if err != nil || done {
			return
		}
		entries, err := h.gateway.Page(ctx, pos)
		if err != nil || len(entries) == 0 {
			if ctx.Err() == nil {
				h.log.Error("read the host's backlog", "after", pos, "err", err)
				h.socket.Close(wire.CloseSlow, "the backlog cannot be read, connect again")
			}
			return
		}
		for _, e := range entries {
			if err := h.deliverOld(ctx, e); err != nil {
				return
			}
			pos = e.Cursor
		}
	}
}

// deliverOld sends the inbound of an entry of the backlog. What the host has
// already is only noted, for its receipts.
func (h *hostSession) deliverOld(ctx context.Context, e iris.Entry) error {
	if len(e.Inbound) == 0 {
		return nil
	}
	if err := h.socket.WaitIdle(ctx); err != nil {
		return err
	}
	return h.gateway.Call(ctx, func(*hub.Actor) {
		if e.Cursor > h.hello.Received {
			h.host.Deliver(e)
			return
		}
		for _, item := range e.Inbound {
			h.noteSent(e.Cursor, item)
		}
	})
}
