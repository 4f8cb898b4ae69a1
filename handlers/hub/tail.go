package hub

import (
	"context"
	"maps"
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// pageSize is how many entries one read brings. It brings fewer when they are large.
const pageSize = 200

// take brings entries that this instance did not write, or did not know to
// have written, into the tail. They may come twice and out of order.
func (a *Actor) take(entries []iris.Entry) {
	for _, e := range entries {
		if e.Cursor > a.state.Cursor && !a.flying(e) {
			a.ahead[e.Cursor] = e
		}
	}
	a.drainAhead()
	if len(a.ahead) > 0 && a.flight == nil {
		a.backfill()
	}
}

// Read brings entries that were read for another purpose into the tail, which
// may be behind them.
func (a *Actor) Read(entries []iris.Entry) { a.take(entries) }

// flying reports whether e is the commit under way: it has landed, and becomes
// part of the state together with its answers, once that is known.
func (a *Actor) flying(e iris.Entry) bool {
	return a.flight != nil && e.Writer == a.writer && e.Batch == a.flight.commit.Entry.Batch
}

// drainAhead lets entries leave the tail strictly in order.
func (a *Actor) drainAhead() {
	for {
		e, ok := a.ahead[a.state.Cursor+1]
		if !ok {
			return
		}
		delete(a.ahead, e.Cursor)
		a.advance(e, nil)
	}
}

// advance makes e, the next entry, part of the state and tells everybody. own
// is the group that wrote it, nil if another instance did.
func (a *Actor) advance(e iris.Entry, own *group) {
	var changes []iris.Change
	if own != nil {
		changes = own.commit.Changes
	}
	a.state = a.state.fork()
	a.state.apply(e, changes)
	a.supersede(e.Control, own != nil)
	if removed(e) {
		a.leaveRemoved()
	}
	a.fanOut(e, own)
	if own == nil { // else fanOut has seen it, proposal by proposal
		a.over.see(e)
	}
	a.settleAsked(e)
	if a.host != nil {
		a.host.deliver(e)
	}
	a.notify(e, own != nil) // before who asked hears of it, and may leave the gateway to close
	if own != nil {
		a.finish(own, Result{Cursor: e.Cursor})
	}
	a.tellDeletions(e)
	a.tellStatus()
	a.watchLives()
	a.drainAhead()
}

// backfill reads what lies between the state and the entries ahead of it.
func (a *Actor) backfill() {
	if a.reading {
		return
	}
	a.reading = true
	after := a.state.Cursor
	a.Go(func(ctx context.Context) {
		limited, cancel := context.WithTimeout(ctx, commitTimeout)
		entries, err := a.g.hub.cfg.Store.Entries(limited, a.g.ID, after, pageSize)
		cancel()
		if err != nil {
			pause(ctx, time.Second)
		}
		a.g.later(func(a *Actor) { a.filled(entries, err) })
	})
}

func (a *Actor) filled(entries []iris.Entry, err error) {
	a.reading = false
	switch {
	case err != nil:
		a.g.log.Warn("read entries", "after", a.state.Cursor, "err", err)
	case len(entries) > 0 && entries[0].Cursor > a.state.Cursor+1:
		a.restart()
		return
	}
	a.take(entries)
}

// restart begins anew from the rows, because the log has moved on past what
// this instance knows. The sockets reconnect and sync.
func (a *Actor) restart() {
	a.reading = true // nothing else may read meanwhile
	for _, d := range a.devices {
		d.Socket.Close(wire.CloseGoingAway, "this instance lost track, connect again")
	}
	if a.host != nil {
		a.host.Socket.Close(wire.CloseGoingAway, "this instance lost track, connect again")
	}
	a.Go(func(ctx context.Context) {
		limited, cancel := context.WithTimeout(ctx, openTimeout)
		state, _, err := a.g.load(limited)
		cancel()
		if err != nil {
			pause(ctx, time.Second)
		}
		a.g.later(func(a *Actor) {
			a.reading = false
			if iris.ErrorCode(err) == iris.CodeNotFound {
				a.leaveRemoved()
				return
			}
			if err != nil {
				a.g.log.Warn("reload the gateway", "err", err)
				a.restart()
				return
			}
			if state.Cursor > a.state.Cursor {
				state.Loads = a.state.Loads + 1
				state.erase(a.state.order)
				a.state, a.loaded = state, time.Now()
				a.pendingDeletions(true)
			}
			maps.DeleteFunc(a.ahead, func(c int64, _ iris.Entry) bool { return c <= a.state.Cursor })
			a.drainAhead()
		})
	})
}

// follow feeds the tail with what other instances write, until ctx ends. The
// listener is made anew when it ends, from what is known then.
func (g *Gateway) follow(ctx context.Context, after int64) {
	for try := 0; ctx.Err() == nil; try++ {
		began := time.Now()
		err := g.hub.cfg.Store.Follow(ctx, g.ID, after, g.actor.writer, func(entries []iris.Entry) {
			g.later(func(a *Actor) { a.take(entries) })
		})
		if err != nil && ctx.Err() == nil {
			g.log.Warn("follow the log", "err", err)
			pause(ctx, backoff(try))
		}
		if err == nil || time.Since(began) > time.Minute {
			try = 0
		}
		known := make(chan int64, 1)
		if g.Do(func(a *Actor) { known <- a.state.Cursor }) != nil {
			return
		}
		select {
		case after = <-known:
		case <-ctx.Done():
		}
	}
}
