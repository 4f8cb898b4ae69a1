package erase

import (
	"context"
	"errors"
	"slices"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// pageSize is how many rows go with one commit.
const pageSize = 200

// errOver says that another instance has brought the deletion to its end.
var errOver = errors.New("the deletion has ended")

// job is a deletion that is carried out here.
type job struct {
	iris.Deletion
	gateway *hub.Gateway
	store   Store
	media   Media

	// Guarded by Eraser.mu.
	running bool
	timer   *time.Timer // nil: nobody waits for another instance
	waiters []*Waiter
}

// run does all that is left to do, and tells the devices. It can be interrupted
// anywhere and done again.
func (j *job) run(ctx context.Context, origin func() hub.Proposal) error {
	steps := []func(context.Context) error{j.load, j.scrubMessages, j.scrubNames, j.editLives, j.dropMedia}
	if len(j.Messages) == 0 {
		steps = []func(context.Context) error{j.load, j.bury, j.dropThreads, j.closePickers, j.scrubLanes, j.dropLives}
	}
	for _, step := range append(steps, func(ctx context.Context) error { return j.end(ctx, origin()) }) {
		if err := step(ctx); err != nil && !errors.Is(err, errOver) {
			return err
		} else if err != nil {
			return nil
		}
	}
	return nil
}

// load reads all of the deletion: the log tells only what everybody must know.
func (j *job) load(ctx context.Context) error {
	all, err := j.store.Deletions(ctx, j.gateway.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(d iris.Deletion) bool { return d.ID == j.ID })
	if i < 0 {
		return errOver
	}
	j.Names, j.Media = all[i].Names, all[i].Media
	return nil
}

// dropMedia removes the media of the messages.
func (j *job) dropMedia(ctx context.Context) error { return j.dropMediaOf(ctx, j.Media, j.Messages) }

// dropMediaOf removes media of messages, but those that another message has,
// too: a device may send what it has uploaded twice.
func (j *job) dropMediaOf(ctx context.Context, media, messages []string) error {
	for _, id := range media {
		if j.media == nil {
			break
		}
		having, err := j.store.MediaMessages(ctx, j.gateway.ID, id, len(messages)+1)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(having, func(m string) bool { return !slices.Contains(messages, m) }) {
			continue
		}
		if err := j.media.DeleteMedia(ctx, j.gateway.ID, id); err != nil {
			return err
		}
	}
	return nil
}

// lanes are those that go with a whole lane.
func (j *job) lanes() []iris.Lane {
	all := []iris.Lane{j.Lane}
	for _, thread := range j.Threads {
		all = append(all, iris.Lane{ChatID: j.Lane.ChatID, ThreadID: thread})
	}
	return all
}

// scrubMessages takes the messages out of the log.
func (j *job) scrubMessages(ctx context.Context) error {
	return j.store.Scrub(ctx, j.gateway.ID, iris.Touching{Messages: j.Messages}, (&scrubber{Deletion: j.Deletion}).entry)
}

// scrubNames takes the name that a thread got from a message's first words out of
// the log: it is said again with each message of the thread. The whole directory
// is in entries of no lane.
func (j *job) scrubNames(ctx context.Context) error {
	if len(j.Names) == 0 {
		return nil
	}
	t := iris.Touching{Lanes: []iris.Lane{j.Lane, {}}}
	return j.store.Scrub(ctx, j.gateway.ID, t, (&scrubber{Deletion: j.Deletion}).entry)
}

// scrubLanes takes all that was said in the lanes, and their names, out of the log.
func (j *job) scrubLanes(ctx context.Context) error {
	t := iris.Touching{Lanes: append(j.lanes(), iris.Lane{})}
	return j.store.Scrub(ctx, j.gateway.ID, t, (&scrubber{Deletion: j.Deletion}).entry)
}

// editLives takes messages that were never ended out of the live documents.
func (j *job) editLives(ctx context.Context) error {
	lives, err := j.store.Lives(ctx, j.gateway.ID)
	if err != nil {
		return err
	}
	s := &scrubber{Deletion: j.Deletion}
	for _, l := range lives {
		if _, found := s.live(l); !found {
			continue
		}
		if err := j.store.EditLive(ctx, j.gateway.ID, l.Turn, s.live); err != nil {
			return err
		}
	}
	return nil
}

// dropLives removes the live documents of the turns in the lanes.
func (j *job) dropLives(ctx context.Context) error {
	lives, err := j.store.Lives(ctx, j.gateway.ID)
	if err != nil {
		return err
	}
	for _, l := range lives {
		if !j.Covers(l.Lane) {
			continue
		}
		if err := j.store.DropLive(ctx, j.gateway.ID, l.Turn); err != nil {
			return err
		}
	}
	return nil
}

// bury empties the rows of the lanes' messages, page by page.
func (j *job) bury(ctx context.Context) error {
	for _, lane := range j.lanes() {
		for {
			page, _, err := j.store.History(ctx, j.gateway.ID, lane, nil, pageSize)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			var changes []iris.Change
			var media, messages []string
			for _, m := range page {
				changes = append(changes, iris.PutMessage{Message: m.Tombstone()})
				media, messages = append(media, m.MediaIDs()...), append(messages, m.ID)
			}
			if err := j.dropMediaOf(ctx, media, messages); err != nil { // before the rows that know of them
				return err
			}
			if err := j.change(ctx, changes); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropThreads removes the rows of a channel's threads; its own went with the
// first entry.
func (j *job) dropThreads(ctx context.Context) error {
	rows, err := j.store.Channels(ctx, j.gateway.ID)
	if err != nil {
		return err
	}
	var changes []iris.Change
	for _, c := range rows {
		if j.Covers(c.Lane) {
			changes = append(changes, iris.DropChannel{Lane: c.Lane})
		}
	}
	return j.change(ctx, changes)
}

// closePickers removes the pickers that were open in the lanes.
func (j *job) closePickers(ctx context.Context) error {
	rows, err := j.store.Pickers(ctx, j.gateway.ID)
	if err != nil {
		return err
	}
	var changes []iris.Change
	for _, p := range rows {
		if j.Covers(p.Lane) {
			changes = append(changes, iris.AnswerPicker{ID: p.ID})
		}
	}
	return j.change(ctx, changes)
}

// change does changes of rows, a page with each commit.
func (j *job) change(ctx context.Context, changes []iris.Change) error {
	for page := range slices.Chunk(changes, pageSize) {
		err := j.commit(ctx, hub.Proposal{Decide: func(s *hub.State) (hub.Draft, error) {
			if _, ok := s.Deletion(j.ID); !ok {
				return hub.Draft{}, errOver
			}
			return hub.Draft{Changes: page}, nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// end tells the devices, and that nothing is left to do.
func (j *job) end(ctx context.Context, p hub.Proposal) error {
	p.Lane = j.Lane
	p.Decide = func(s *hub.State) (hub.Draft, error) {
		if _, ok := s.Deletion(j.ID); !ok {
			return hub.Draft{}, errOver
		}
		draft := hub.Draft{
			Control: []iris.Control{{Kind: iris.DeletionEnded, Deletion: &iris.Deletion{ID: j.ID}}},
			Changes: []iris.Change{iris.EndDeletion{ID: j.ID}},
		}
		draft.Add(j.Lane, j.frame())
		return draft, nil
	}
	return j.commit(ctx, p)
}

// frame is what the devices are told.
func (j *job) frame() wire.Payload {
	if len(j.Messages) > 0 {
		return wire.MessageDeleted{MessageIDs: j.Messages}
	}
	return Gone(j.Deletion)
}

// Gone says that a channel or thread is gone.
func Gone(d iris.Deletion) wire.ChannelDeleted {
	gone := wire.ChannelDeleted{ChatID: d.Lane.ChatID, ThreadID: d.Lane.ThreadID, ThreadIDs: d.Threads}
	if d.Lane.ThreadID != "" {
		gone.ParentChatID = d.Lane.ChatID
	}
	return gone
}

// commit proposes something to the log and waits until it is there.
func (j *job) commit(ctx context.Context, p hub.Proposal) error {
	result, done := make(chan error, 1), p.Done
	p.Done = func(a *hub.Actor, r hub.Result) {
		if done != nil {
			done(a, r)
		}
		result <- r.Err
	}
	if err := j.gateway.Do(func(a *hub.Actor) { a.Propose(p) }); err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
