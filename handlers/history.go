package handlers

import (
	"context"

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
	var gone bool
	err = d.gateway.Call(ctx, func(a *hub.Actor) {
		if _, ok := a.State().Channel(lane); !ok {
			gone = true
			return
		}
		d.answer(req, lane, historyPage(a.State(), messages, more))
	})
	if gone {
		return unknownLane(lane)
	}
	return err
}

// historyPage makes a page of what was read, without what was deleted since.
func historyPage(s *hub.State, messages []iris.Message, more bool) wire.History {
	page := wire.History{Messages: make([]wire.Message, 0, len(messages)), HasMore: more}
	for _, m := range messages {
		if remains(s, m) {
			page.Messages = append(page.Messages, messageFrame(m))
		}
	}
	if len(messages) > 0 {
		page.OldestMessageID = messages[0].ID // the next page begins there, also if that one is gone
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
