package hub

import (
	"context"
	"encoding/json"
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// How often a turn's live document is written while its text streams: so that
// a partial answer survives a crash, and faster while a device is attached to
// another instance, which gets the text by it.
const (
	liveEvery      = 5 * time.Second
	liveEveryApart = time.Second
)

// LiveStore keeps the live documents (log.md, "Live documents").
type LiveStore interface {
	// CreateLive adds the document of a turn; one that exists is replaced. An
	// iris.Error with CodeNotFound says that the host is not attached to the
	// writer any more.
	CreateLive(ctx context.Context, gateway string, live iris.Live) error
	// UpdateLive replaces the document, which must exist: an iris.Error with
	// CodeNotFound says that the turn has ended.
	UpdateLive(ctx context.Context, gateway string, live iris.Live) error
	// DropLive removes the document of a turn.
	DropLive(ctx context.Context, gateway, turn string) error
	// Lives returns the documents of all turns.
	Lives(ctx context.Context, gateway string) ([]iris.Live, error)
	// FollowLive delivers all documents now and whenever one has changed,
	// until ctx ends.
	FollowLive(ctx context.Context, gateway string, deliver func([]iris.Live)) error
}

// liveDocs keeps the live documents of the turns that the host attached here
// runs. It belongs to the actor.
type liveDocs struct {
	kept    map[string]string // data by turn, as written last; "" for one that may be there
	timer   *time.Timer
	writing bool
	again   bool // something changed while a write was under way
}

// TurnsChanged says that text or tools of the host's turns have changed since
// the live documents were written.
func (a *Actor) TurnsChanged() {
	l := &a.live
	if l.writing {
		l.again = true
		return
	}
	if l.timer != nil {
		return
	}
	every := liveEvery
	if a.devicesElsewhere() {
		every = liveEveryApart
	}
	l.timer = time.AfterFunc(every, func() { a.g.later((*Actor).writeLive) })
}

// devicesElsewhere reports whether another instance has devices of the gateway.
func (a *Actor) devicesElsewhere() bool {
	now := time.Now()
	for _, l := range a.state.devices {
		if l.Instance != a.writer && l.Alive(now) {
			return true
		}
	}
	return false
}

// writeLive writes the documents of the turns that have changed.
func (a *Actor) writeLive() {
	l := &a.live
	l.timer = nil
	if a.host == nil {
		return
	}
	changed := a.changedLives(func(t link.Turn) bool {
		return len(t.Messages) > 0 || len(t.Tools) > 0 || l.kept[t.Turn] != "" // its last message may have been deleted
	})
	if len(changed) == 0 {
		return
	}
	l.writing = true
	known := make(map[string]bool, len(l.kept))
	for turn, data := range l.kept {
		known[turn] = data != ""
	}
	a.Go(func(ctx context.Context) {
		written := a.g.writeLives(ctx, changed, known)
		a.g.later(func(a *Actor) { a.wroteLive(written, known) })
	})
}

// changedLives returns the documents of those of the host's turns that match and
// say more than was written last.
func (a *Actor) changedLives(match func(link.Turn) bool) []iris.Live {
	var changed []iris.Live
	for _, t := range a.host.Open() {
		if !match(t) {
			continue
		}
		data, err := json.Marshal(t)
		if err != nil || len(data) > maxEntryBytes || a.live.kept[t.Turn] == string(data) {
			continue
		}
		changed = append(changed, iris.Live{Turn: t.Turn, Lane: t.Lane(), Writer: a.writer, Data: string(data), At: time.Now()})
	}
	return changed
}

// KeepLive returns the changes that keep the texts of h's turns, for a commit
// that contains events which have led to nothing durable yet: they will not come
// again.
func (a *Actor) KeepLive(h *Host) []iris.Change {
	if a.host != h {
		return nil
	}
	var changes []iris.Change
	texts := func(t link.Turn) bool { return len(t.Messages) > 0 }
	for _, live := range a.changedLives(texts) {
		a.live.kept[live.Turn] = live.Data // or the turn's end would not remove it
		changes = append(changes, iris.PutLive{Live: live})
	}
	a.live.again = a.live.again || a.live.writing // an older state may land after this one
	return changes
}

// writeLives writes documents and returns those that were written; one whose
// creation was not answered is returned without data. After its creation a
// document is only updated: a late write must not leave a ghost of a turn that
// has ended.
func (g *Gateway) writeLives(ctx context.Context, lives []iris.Live, known map[string]bool) []iris.Live {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	var written []iris.Live
	for _, live := range lives {
		write := g.hub.cfg.Store.CreateLive
		if known[live.Turn] {
			write = g.hub.cfg.Store.UpdateLive
		}
		err := write(ctx, g.ID, live)
		switch {
		case err == nil:
			written = append(written, live)
		case iris.ErrorCode(err) == iris.CodeNotFound: // the turn has ended, or its host is elsewhere
		default:
			g.log.Warn("write live document", "turn", live.Turn, "err", err)
			if !known[live.Turn] {
				live.Data = ""
				written = append(written, live)
			}
		}
	}
	return written
}

// wroteLive remembers what was written. A document that was made for a turn
// which ended in the meantime is removed: the commit of that end did not know
// of it. One that was known is gone by that commit.
func (a *Actor) wroteLive(written []iris.Live, known map[string]bool) {
	l := &a.live
	l.writing = false
	open := map[string]bool{}
	if a.host != nil {
		for _, t := range a.host.Open() {
			open[t.Turn] = true
		}
	}
	for _, live := range written {
		if open[live.Turn] || a.host == nil {
			l.kept[live.Turn] = live.Data
		} else if _, kept := l.kept[live.Turn]; !kept && !known[live.Turn] {
			a.DropLive(live.Turn)
		}
	}
	if l.again {
		l.again = false
		a.TurnsChanged()
	}
}

// DropLive removes a document whose turn has ended.
func (a *Actor) DropLive(turn string) {
	a.Go(func(ctx context.Context) {
		for try := 0; ctx.Err() == nil; try++ {
			err := a.g.dropLive(ctx, turn)
			if err == nil {
				return
			}
			a.g.log.Warn("drop live document", "turn", turn, "try", try, "err", err)
			pause(ctx, backoff(try))
		}
	})
}

func (g *Gateway) dropLive(ctx context.Context, turn string) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	return g.hub.cfg.Store.DropLive(ctx, g.ID, turn)
}

// EndLive returns the changes that remove the documents of turns that are no
// longer open, for the commit that ends them.
func (a *Actor) EndLive(open []link.Turn) []iris.Change {
	var changes []iris.Change
next:
	for turn := range a.live.kept {
		for _, t := range open {
			if t.Turn == turn {
				continue next
			}
		}
		delete(a.live.kept, turn)
		changes = append(changes, iris.DropLive{Turn: turn})
	}
	return changes
}

// Lives reads the live documents, without what the log says has ended since
// they were written.
func (g *Gateway) Lives(ctx context.Context) ([]iris.Live, error) {
	lives, err := g.hub.cfg.Store.Lives(ctx, g.ID)
	if err != nil || len(lives) == 0 {
		return lives, err
	}
	var head int64
	if err := g.Call(ctx, func(a *Actor) { head = a.state.Cursor }); err != nil {
		return nil, err
	}
	past := newOver()
	for cursor := max(0, head-pageSize); cursor < head; {
		entries, err := g.Page(ctx, cursor)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			past.see(e)
			cursor = e.Cursor
		}
		if len(entries) == 0 {
			break
		}
	}
	for i, l := range lives {
		if t, ok := TurnOf(l); ok {
			if data, err := json.Marshal(past.without(t)); err == nil {
				lives[i].Data = string(data)
			}
		}
	}
	return lives, nil
}

// KnowLive takes over the live documents and the busy lanes that a host finds
// when it attaches. It returns the turns that the log believes open, with what
// is known of them, and removes the ghosts of others.
func (a *Actor) KnowLive(lives []iris.Live, channels []iris.Channel) []link.Turn {
	a.live.kept = make(map[string]string, len(lives))
	byTurn := make(map[string]iris.Live, len(lives))
	for _, l := range lives {
		byTurn[l.Turn] = l
	}
	var open []link.Turn
	for _, c := range channels {
		if c.Busy == "" {
			continue
		}
		t := link.Turn{Turn: c.Busy, ChatID: c.Lane.ChatID, ThreadID: c.Lane.ThreadID}
		if l, ok := byTurn[c.Busy]; ok {
			delete(byTurn, c.Busy)
			a.live.kept[l.Turn] = l.Data
			if kept, ok := TurnOf(l); ok {
				t = kept
			}
		}
		open = append(open, t)
	}
	for turn := range byTurn {
		a.DropLive(turn)
	}
	return open
}
