package handlers

import (
	"context"
	"slices"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// handleHistory answers with a page of messages, oldest first.
func (d *deviceSession) handleHistory(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.HistoryRequest](req)
	if err != nil {
		return err
	}
	lane, err := d.lane(ctx, req.Lane)
	if err != nil {
		return err
	}
	before, err := d.before(ctx, lane, p.BeforeMessageID)
	if err != nil {
		return err
	}
	messages, more, err := d.server.cfg.Store.History(ctx, d.gateway.ID, lane, before, p.Limit)
	if err != nil {
		return err
	}
	frame := wire.Encode(lane, historyPage(messages, more))
	var gone bool
	err = d.gateway.Call(ctx, func(a *hub.Actor) {
		if _, ok := a.State().Channel(lane); !ok {
			gone = true
			return
		}
		if !remainAll(a.State(), messages) {
			page := historyPage(messages, more) // the next one begins where this does, also if that message is gone
			page.Messages = slices.DeleteFunc(page.Messages, func(m wire.Message) bool {
				return !remains(a.State(), iris.Message{ID: m.MessageID, Lane: lane})
			})
			frame = wire.Encode(lane, page)
		}
		d.socket.Send(wire.WithID(frame, req.ID))
	})
	if gone {
		return unknownLane(lane)
	}
	return err
}

func historyPage(messages []iris.Message, more bool) wire.History {
	page := wire.History{Messages: make([]wire.Message, 0, len(messages)), HasMore: more}
	for _, m := range messages {
		page.Messages = append(page.Messages, messageFrame(m))
	}
	if len(messages) > 0 {
		page.OldestMessageID = messages[0].ID
	}
	return page
}

// lane returns the lane that a request means, which must exist.
func (d *deviceSession) lane(ctx context.Context, lane iris.Lane) (iris.Lane, error) {
	var known bool
	err := d.gateway.Call(ctx, func(a *hub.Actor) {
		if lane.ChatID == "" {
			lane.ChatID = a.State().Gateway.DefaultChat
		}
		_, known = a.State().Channel(lane)
	})
	if err == nil && !known {
		err = unknownLane(lane)
	}
	return lane, err
}

// before returns the message that a page ends before, nil for the newest page.
func (d *deviceSession) before(ctx context.Context, lane iris.Lane, id string) (*iris.Message, error) {
	if id == "" {
		return nil, nil
	}
	m, err := d.server.cfg.Store.Message(ctx, d.gateway.ID, id)
	if iris.ErrorCode(err) == iris.CodeNotFound || err == nil && m.Lane != lane {
		return nil, iris.Errorf(iris.CodeNotFound, "before_message_id %q is unknown here", printable(id))
	}
	return &m, err
}
