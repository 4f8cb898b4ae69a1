package handlers

import (
	"context"
	"slices"
	"time"

	"iris-gateway/handlers/erase"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// handleChannelDelete deletes the channel in the envelope with its threads, or
// the thread (protocol: channel.delete). What runs there is stopped by the host;
// nothing that it still says is shown. The answer is channel.deleted, once
// nothing is left.
func (d *deviceSession) handleChannelDelete(ctx context.Context, req wire.Request) error {
	if _, err := wire.DecodePayload[wire.ChannelDelete](req); err != nil {
		return err
	}
	if req.Lane.ChatID == "" {
		return errNoChat
	}
	if err := d.limits.message(); err != nil {
		return err
	}
	req.Payload = nil // read; the request lives on
	gone := iris.Deletion{ID: iris.NewID("del_"), Lane: req.Lane, At: time.Now()}
	return d.gateway.Do(func(a *hub.Actor) {
		a.Propose(hub.Proposal{
			Lane:   gone.Lane,
			Decide: func(s *hub.State) (hub.Draft, error) { return beginChannelDelete(s, &gone) },
			Done: func(a *hub.Actor, r hub.Result) {
				ids := underWay(a.State(), func(o iris.Deletion) bool { return o.Covers(gone.Lane) })
				switch {
				case r.Err != nil:
					d.reply(req.ID, r.Err)
				case len(ids) == 0: // over already: the state was read anew in between
					d.answer(req, gone.Lane, erase.Gone(gone))
				default:
					o, _ := a.State().Deletion(ids[0])
					o.Lane = gone.Lane
					w := &erase.Waiter{Device: d.dev, ID: req.ID, Answer: wire.Encode(gone.Lane, erase.Gone(o))}
					d.server.eraser.Wait(a, w, ids...)
				}
			},
		})
	})
}

// beginChannelDelete decides about a deletion: from this entry on the lanes are
// gone. One that is being deleted already needs no second one.
func beginChannelDelete(s *hub.State, gone *iris.Deletion) (hub.Draft, error) {
	lane := gone.Lane
	_, ok := s.Channel(lane)
	switch {
	case !ok && slices.ContainsFunc(s.Deletions(), func(o iris.Deletion) bool { return o.Covers(lane) }):
		return hub.Draft{}, nil
	case !ok:
		return hub.Draft{}, unknownLane(lane)
	case lane == iris.Lane{ChatID: s.Gateway.DefaultChat}:
		return hub.Draft{}, iris.Errorf(iris.CodeUnsupported, "chat_id %q is the default channel, which cannot be deleted: make another one the default first", printable(lane.ChatID))
	case s.Full():
		return hub.Draft{}, errFull
	}
	gone.Threads = nil
	for _, c := range s.Channels() {
		if lane.ThreadID == "" && c.Lane.ChatID == lane.ChatID && c.Lane.ThreadID != "" {
			gone.Threads = append(gone.Threads, c.Lane.ThreadID)
		}
	}
	begun := *gone
	return hub.Draft{
		Lanes:   []iris.Lane{lane},
		Control: []iris.Control{{Kind: iris.DeletionBegun, Deletion: &begun}},
		Changes: []iris.Change{iris.BeginDeletion{Deletion: begun}, iris.DropChannel{Lane: lane}},
		Inbound: []string{link.EncodeItem(link.Item{
			Kind: link.InboundLaneDelete, ChatID: lane.ChatID, ThreadID: lane.ThreadID, Body: struct{}{},
		})},
	}, nil
}
