package handlers

import (
	"context"
	"fmt"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// The turn machine asks of some messages whether they have a row already: an
// earlier process may have stopped them. It runs on the gateway's actor, which
// must not wait for the store; so the rows are read before.

// rowWait bounds the look at rows. Without an answer the connection ends, and
// the host comes again: a guess might end a message twice.
const rowWait = 10 * time.Second

// look reads the row of the message that the machine will ask for, if it does.
func (h *hostSession) look(ctx context.Context, ev link.Event) error {
	if ev.Kind != link.KindEdit && ev.Kind != link.KindCron { // it asks for no other
		return nil
	}
	id := ""
	err := h.gateway.Call(ctx, func(*hub.Actor) {
		if ev.Seq == 0 || ev.Seq > h.taken {
			id = h.machine.Asks(ev)
		}
	})
	if err != nil || id == "" {
		return err
	}
	return h.lookAt(ctx, id)
}

// lookAtTurns reads the rows of the messages that turns name.
func (h *hostSession) lookAtTurns(ctx context.Context, turns []link.Turn) error {
	var ids []string
	for _, t := range turns {
		for _, m := range t.Messages {
			ids = append(ids, m.MessageID)
		}
	}
	return h.lookAt(ctx, ids...)
}

func (h *hostSession) lookAt(ctx context.Context, ids ...string) error {
	ctx, cancel := context.WithTimeout(ctx, rowWait)
	defer cancel()
	found := map[string]bool{}
	for _, id := range ids {
		if _, again := found[id]; again {
			continue
		}
		_, err := h.server.cfg.Store.Message(ctx, h.gateway.ID, id)
		if err != nil && iris.ErrorCode(err) != iris.CodeNotFound {
			return fmt.Errorf("read a message's row: %w", err)
		}
		found[id] = err == nil
	}
	return h.gateway.Call(ctx, func(*hub.Actor) { h.rows = found })
}

// ended tells the machine whether a message has a row.
func (h *hostSession) ended(id string) bool { return h.rows[id] }
