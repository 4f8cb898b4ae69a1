package handlers

import (
	"context"
	"strings"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// handleReadReceipt notes up to where the people have read, and tells the other
// devices (protocol: read.receipt). The position only moves forward: a receipt
// for what was read already changes nothing.
func (d *deviceSession) handleReadReceipt(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.ReadReceiptRequest](req)
	if err != nil {
		return err
	}
	lane, err := d.lane(ctx, req.Lane)
	if err != nil {
		return err
	}
	m, err := d.server.cfg.Store.Message(ctx, d.gateway.ID, p.MessageID)
	if iris.ErrorCode(err) == iris.CodeNotFound || err == nil && (m.Lane != lane || m.Deleted) {
		return iris.Errorf(iris.CodeNotFound, "message_id %q is unknown here", printable(p.MessageID))
	}
	if err != nil {
		return err
	}
	ack := wire.Encode(iris.Lane{}, wire.Ack{OK: true})
	return d.submit(ctx, req, hub.Proposal{
		Decide:  func(s *hub.State) (hub.Draft, error) { return d.read(s, m) },
		Lane:    lane,
		Origin:  d.dev,
		ID:      req.ID,
		Instead: ack,
	}, func() { d.answerIfAsked(req, wire.Ack{OK: true}) })
}

// read decides about a read receipt.
func (d *deviceSession) read(s *hub.State, m iris.Message) (hub.Draft, error) {
	c, ok := s.Channel(m.Lane)
	if !ok {
		return hub.Draft{}, unknownLane(m.Lane)
	}
	at := time.UnixMilli(m.At.UnixMilli()) // as precise as the frame that tells the other instances
	if before := at.Compare(c.ReadAt); before < 0 || before == 0 && strings.Compare(m.ID, c.ReadMessageID) <= 0 {
		return hub.Draft{}, nil
	}
	draft := hub.Draft{
		Messages: []string{m.ID},
		Changes:  []iris.Change{iris.SetRead{Lane: m.Lane, MessageID: m.ID, At: at}},
	}
	draft.Add(m.Lane, wire.ReadReceipt{MessageID: m.ID, DeviceID: d.device.ID, TS: at.UnixMilli()})
	return draft, nil
}

// answerIfAsked answers a request that has an id. Without one nobody waits.
func (d *deviceSession) answerIfAsked(req wire.Request, p wire.Payload) {
	if req.ID != nil {
		d.answer(req, iris.Lane{}, p)
	}
}
