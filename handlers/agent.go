package handlers

import (
	"context"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// How long the agent may take. After the first the host does nothing any more
// (host-link.md, "Inbound"); what it did before must be heard of within the second.
const (
	askExpires = 30 * time.Second
	askWait    = 60 * time.Second
)

var (
	errOffline  = iris.Errorf(iris.CodeInternal, "agent host is offline")
	errNotHeard = iris.Errorf(iris.CodeInternal, "the agent host did not answer in time")
)

// handleAgentStop ends the turn of a lane. The answer is agent.idle once it has
// ended, at once if none runs (protocol: One answer per request).
func (d *deviceSession) handleAgentStop(ctx context.Context, req wire.Request) error {
	if _, err := wire.DecodePayload[wire.AgentStop](req); err != nil {
		return err
	}
	lane, err := d.lane(ctx, req.Lane)
	if err != nil {
		return err
	}
	idle := wire.Encode(lane, wire.AgentIdle{})
	expires := time.Now().Add(askExpires)
	return d.submit(ctx, req, hub.Proposal{
		Lane:   lane,
		Decide: func(s *hub.State) (hub.Draft, error) { return stop(s, lane, expires) },
		Done: func(a *hub.Actor, r hub.Result) {
			if c, _ := a.State().Channel(lane); c.Busy == "" { // it ended in the same commit
				d.send(req, idle)
				return
			}
			d.ask(a, req, r, hub.Asked{Lane: lane, Idle: true}, idle)
		},
	}, func() { d.send(req, idle) })
}

// stop decides about agent.stop.
func stop(s *hub.State, lane iris.Lane, expires time.Time) (hub.Draft, error) {
	c, ok := s.Channel(lane)
	switch {
	case !ok:
		return hub.Draft{}, unknownLane(lane)
	case c.Busy == "":
		return hub.Draft{}, nil
	case !s.HostOnline():
		return hub.Draft{}, errOffline
	}
	return hub.Draft{
		Lanes: []iris.Lane{lane},
		Inbound: []string{link.EncodeItem(link.Item{
			Kind: link.InboundStop, ChatID: lane.ChatID, ThreadID: lane.ThreadID, Body: link.Stop{ExpiresAt: expires.UnixMilli()},
		})},
	}, nil
}

// ask waits for the host's word on a request that is in the log as r. frame is
// the answer when all went well.
func (d *deviceSession) ask(a *hub.Actor, req wire.Request, r hub.Result, q hub.Asked, frame string) {
	q.Cursor, q.Item = r.Cursor, r.Item
	q.Answer = func(_ string, err error) {
		if err != nil {
			d.reply(req.ID, err)
			return
		}
		d.send(req, frame)
	}
	a.Ask(&q, askWait, errNotHeard)
}

// send sends an encoded frame as the answer to a request, if it has an id.
func (d *deviceSession) send(req wire.Request, frame string) {
	if req.ID != nil {
		d.socket.Send(wire.WithID(frame, req.ID))
	}
}

// handleAgentSteer tells the running turn something. It is stored and shown like
// a message; the ack follows the host's word (host-link.md, "Inbound").
func (d *deviceSession) handleAgentSteer(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.AgentSteer](req)
	if err != nil {
		return err
	}
	if err := d.limits.message(); err != nil {
		return err
	}
	lane, err := d.lane(ctx, req.Lane)
	if err != nil {
		return err
	}
	m := iris.Message{ID: iris.NewID("m_"), Lane: lane, Role: iris.RoleUser, Text: p.Text, At: messageTime()}
	return d.submit(ctx, req, hub.Proposal{
		Lane:   lane,
		Decide: func(s *hub.State) (hub.Draft, error) { return steer(s, m) },
		Done: func(a *hub.Actor, r hub.Result) {
			d.ask(a, req, r, hub.Asked{Lane: lane}, wire.Encode(iris.Lane{}, wire.Ack{OK: true}))
		},
	}, nil)
}

// steer decides about agent.steer.
func steer(s *hub.State, m iris.Message) (hub.Draft, error) {
	switch _, ok := s.Channel(m.Lane); {
	case !ok:
		return hub.Draft{}, unknownLane(m.Lane)
	case !s.HostOnline():
		return hub.Draft{}, errOffline
	case s.Full():
		return hub.Draft{}, errFull
	}
	draft := hub.Draft{
		Messages: []string{m.ID},
		Changes:  []iris.Change{iris.CreateMessage{Message: m}},
		Inbound: []string{link.EncodeItem(link.Item{
			Kind: link.InboundSteer, ChatID: m.Lane.ChatID, ThreadID: m.Lane.ThreadID,
			Body: link.Steer{MessageID: m.ID, Text: m.Text, ExpiresAt: m.At.Add(askExpires).UnixMilli()},
		})},
	}
	draft.Add(m.Lane, messageFrame(m))
	return draft, nil
}
