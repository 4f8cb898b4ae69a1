package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"iris-gateway/handlers/erase"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// handleMessageDelete deletes messages for good (protocol: message.delete). What
// has no row is deleted too: a message that is still being written gets none, and
// caches drop what the gateway no longer knows. The answer is message.deleted,
// once nothing is left of them.
func (d *deviceSession) handleMessageDelete(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.MessageDelete](req)
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
	slices.Sort(p.MessageIDs)
	req.Payload = nil // read; the request lives on
	return d.deleteMessages(ctx, req, lane, slices.Compact(p.MessageIDs), 0)
}

// maxRaces is how often a deletion is decided again because one of its messages
// ended in that moment.
const maxRaces = 5

// deleteMessages begins the deletion of what is not deleted yet.
func (d *deviceSession) deleteMessages(ctx context.Context, req wire.Request, lane iris.Lane, ids []string, race int) error {
	doomed, err := d.doomed(ctx, lane, ids)
	if err != nil {
		return err
	}
	answer := wire.Encode(lane, wire.MessageDeleted{MessageIDs: ids})
	return d.gateway.Do(func(a *hub.Actor) {
		a.Propose(hub.Proposal{
			Lane:   lane,
			Decide: doomed.decide,
			Done: func(a *hub.Actor, r hub.Result) {
				switch {
				case errors.Is(r.Err, iris.ErrRefused) && race < maxRaces: // a row has appeared
					a.Go(func(ctx context.Context) {
						if err := d.deleteMessages(ctx, req, lane, ids, race+1); err != nil {
							d.reply(req.ID, err)
						}
					})
				case r.Err != nil:
					d.reply(req.ID, r.Err)
				default:
					w := &erase.Waiter{Device: d.dev, ID: req.ID, Answer: answer}
					d.server.eraser.Wait(a, w, underWay(a.State(), func(o iris.Deletion) bool { return touches(o, lane, ids) })...)
				}
			},
		})
	})
}

// underWay returns the deletions that have not ended and match.
func underWay(s *hub.State, match func(iris.Deletion) bool) []string {
	var ids []string
	for _, d := range s.Deletions() {
		if match(d) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func touches(d iris.Deletion, lane iris.Lane, ids []string) bool {
	return d.Covers(lane) || slices.ContainsFunc(d.Messages, func(id string) bool { return slices.Contains(ids, id) })
}

// doomed is what is to be deleted of a lane, as its rows say.
type doomed struct {
	iris.Deletion
	rows   []condemned // alive
	absent []string    // without a row
}

// condemned is a message that is to be deleted, without what it says: of the text
// only that is kept which must be told.
type condemned struct {
	iris.Message
	hash string // the host knows the text by it
	name string // what a thread would be called after it
}

func condemn(m iris.Message) condemned {
	c := condemned{Message: m, hash: erase.HashName(m.Text), name: threadName(m.Text)}
	c.Text, c.Reasoning = "", ""
	return c
}

// doomed reads the rows of the messages. Those of another lane are not found
// here.
func (d *deviceSession) doomed(ctx context.Context, lane iris.Lane, ids []string) (*doomed, error) {
	var found []condemned
	err := d.server.cfg.Store.Messages(ctx, d.gateway.ID, ids, func(m iris.Message) { found = append(found, condemn(m)) })
	if err != nil {
		return nil, err
	}
	out := &doomed{Deletion: iris.Deletion{ID: iris.NewID("del_"), Lane: lane, At: time.Now()}, absent: slices.Clone(ids)}
	for _, m := range found {
		if m.Lane != lane {
			return nil, iris.Errorf(iris.CodeNotFound, "message_id %q is unknown here", printable(m.ID))
		}
		out.absent = slices.DeleteFunc(out.absent, func(id string) bool { return id == m.ID })
		if !m.Deleted {
			out.rows = append(out.rows, m)
			out.Messages = append(out.Messages, m.ID)
			out.Media = append(out.Media, m.MediaIDs()...)
		}
	}
	out.Messages = append(out.Messages, out.absent...)
	name, err := d.nameGiver(ctx, lane, out.rows)
	if name != "" {
		out.Names = []string{erase.HashName(name)}
	}
	return out, err
}

// nameGiver returns the name that a thread was given for one of the messages:
// for its first one (protocol: message.send, "auto_thread").
func (d *deviceSession) nameGiver(ctx context.Context, lane iris.Lane, rows []condemned) (string, error) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(m condemned) bool { return m.Role != iris.RoleUser })
	if lane.ThreadID == "" || len(rows) == 0 {
		return "", nil
	}
	first := slices.MinFunc(rows, func(a, b condemned) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	before, _, err := d.server.cfg.Store.History(ctx, d.gateway.ID, lane, &first.Message, 1)
	if err != nil || len(before) > 0 {
		return "", err
	}
	return first.name, nil
}

// decide begins the deletion: from this entry on the messages are gone, and the
// host is told by their hashes, since their text would stay in the log.
func (d *doomed) decide(s *hub.State) (hub.Draft, error) {
	c, ok := s.Channel(d.Lane)
	switch {
	case !ok:
		return hub.Draft{}, unknownLane(d.Lane)
	case len(d.Messages) == 0:
		return hub.Draft{}, nil
	case s.Full():
		return hub.Draft{}, errFull
	}
	draft := hub.Draft{
		Messages: d.Messages, Lanes: []iris.Lane{d.Lane},
		Control: []iris.Control{{Kind: iris.DeletionBegun, Deletion: &iris.Deletion{
			ID: d.ID, Lane: d.Lane, Messages: d.Messages, At: d.At,
		}}},
		Changes: []iris.Change{iris.BeginDeletion{Deletion: d.Deletion}},
	}
	var told link.MessageDelete
	for _, m := range d.rows {
		draft.Changes = append(draft.Changes, iris.PutMessage{Message: m.Tombstone()})
		told.Messages = append(told.Messages, link.DeletedMessage{
			MessageID: m.ID, Role: m.Role, TS: millis(m.At), SHA256: m.hash,
		})
	}
	for _, id := range d.absent {
		// Refused if its row is there by now: then its text is in the log.
		tombstone := iris.Message{ID: id, Lane: d.Lane, Role: iris.RoleAssistant, At: d.At}.Tombstone()
		draft.Changes = append(draft.Changes, iris.CreateMessage{Message: tombstone})
		told.Messages = append(told.Messages, link.DeletedMessage{MessageID: id})
	}
	draft.Inbound = []string{link.EncodeItem(link.Item{
		Kind: link.InboundDelete, ChatID: d.Lane.ChatID, ThreadID: d.Lane.ThreadID, Body: told,
	})}
	if slices.Contains(d.Names, erase.HashName(c.Name)) {
		return draft, renameChannel(s, &draft, d.Lane, unnamed)
	}
	return draft, nil
}
