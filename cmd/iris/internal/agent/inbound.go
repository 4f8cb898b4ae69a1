package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// inbound takes an item, once, and does what it says. The lanes' goroutines
// live as long as ctx, not as the connection.
func (a *Agent) inbound(ctx context.Context, data []byte) error {
	var in link.Inbound
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("inbound: %w", err)
	}
	if !a.spool.take(position{in.Cursor, in.Item}, in.Items) {
		return nil
	}
	switch in.Kind {
	case link.InboundMessage:
		return decoded(in, func(m link.Message) { a.message(ctx, in, m) })
	case link.InboundStop:
		return decoded(in, func(b link.Stop) { a.stop(in, b) })
	case link.InboundLaneDelete:
		gone := iris.Deletion{Lane: in.Lane()}
		a.lanes.drop(gone.Covers)
	case link.InboundSteer:
		return decoded(in, func(b link.Steer) { a.steer(ctx, in, b) })
	case link.InboundAnswer:
		return decoded(in, func(b link.PromptAnswer) { a.answered(in, b) })
	}
	return nil
}

// decoded passes the body of an item on.
func decoded[T any](in link.Inbound, do func(T)) error {
	body, err := link.Decode[T](in.Body)
	if err == nil {
		do(body)
	}
	return err
}

// stop ends the turn that runs.
func (a *Agent) stop(in link.Inbound, b link.Stop) {
	if expired(b.ExpiresAt) {
		a.done(in, "that came too late")
		return
	}
	a.lanes.halt(in.Lane())
	a.done(in, "")
}

// answered passes an answer to the question that it is for.
func (a *Agent) answered(in link.Inbound, b link.PromptAnswer) {
	if !a.settle(b.PromptID, reply{b.Value, b.Text}) {
		a.done(in, "this question does not wait any more")
		return
	}
	a.done(in, "")
}

// message gives a message to its lane, or to the question that waits there.
func (a *Agent) message(ctx context.Context, in link.Inbound, m link.Message) {
	if plain(m.Text) {
		if id := a.prompts.takes(in.Lane()); id != "" && a.settle(id, reply{text: m.Text}) {
			return
		}
	}
	a.lanes.put(ctx, in.Lane(), m)
}

// steer tells the turn that runs something; if none does, it is a message.
func (a *Agent) steer(ctx context.Context, in link.Inbound, b link.Steer) {
	if expired(b.ExpiresAt) {
		a.done(in, "that came too late")
		return
	}
	if !a.lanes.steer(in.Lane(), b.Text) {
		a.lanes.put(ctx, in.Lane(), link.Message{MessageID: b.MessageID, Text: b.Text})
	}
	a.done(in, "")
}

// done tells what became of an item that asked for something; why it failed, or
// "".
func (a *Agent) done(in link.Inbound, failed string) {
	a.spool.add(&turn{lane: in.Lane()}, link.KindDone, "", link.Done{
		Cursor: in.Cursor, Item: in.Item, OK: failed == "", Error: failed,
	}, nil)
}

func expired(ms int64) bool { return ms > 0 && time.Now().UnixMilli() > ms }
