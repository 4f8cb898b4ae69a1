package hub

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Decide says what to append, given what the log says now. It may run several
// times, each time with a newer state; it must not keep the state. An error
// refuses the request.
type Decide func(s *State) (Draft, error)

// Result is what became of a proposal.
type Result struct {
	Cursor int64    // entry that contains it, 0 when it appended nothing
	Item   int      // number of the proposal's first inbound item in the entry
	Frames []string // as appended
	Err    error    // iris.ErrRefused: a row was in the way
}

// Proposal asks the log for an entry.
type Proposal struct {
	Decide Decide
	Done   func(a *Actor, r Result) // may be nil; runs once, in the order of the proposals

	Lane    iris.Lane      // whose live frames must not overtake this proposal
	Origin  *Device        // device that asked, nil if none did
	ID      wire.RequestID // the draft's answer goes to Origin with this id
	Instead string         // frame that Origin gets in the place of the draft's answer; "" for that one
}

// proposal is a Proposal on its way into the log.
type proposal struct {
	Proposal
	draft Draft
	item  int // number of its first inbound item in the entry
	err   error
	after []liveFrame // of its lane, to be sent behind it

	answered bool // Origin got its answer
}

// Bounds of what waits for the log, on this instance and for one gateway.
const maxQueue = 8192

// Propose queues a proposal. It is committed together with others.
func (a *Actor) Propose(p Proposal) {
	q := &proposal{Proposal: p}
	if len(a.queue) >= maxQueue {
		q.finish(a, Result{Err: iris.Errorf(iris.CodeUnavailable, "the store does not keep up, try again")})
		return
	}
	a.queue = append(a.queue, q)
}

func (p *proposal) finish(a *Actor, r Result) {
	if p.Done != nil {
		p.Done(a, r)
	}
	for _, f := range p.after {
		a.fanOutLive(f)
	}
}

// group is a set of proposals that are committed together. Some of them may
// have nothing to append, or be refused by their own decision.
type group struct {
	proposals []*proposal
	commit    iris.Commit
	empty     bool // nothing to append
}

// pump starts the next commit if none is under way.
func (a *Actor) pump() {
	for a.flight == nil && len(a.queue) > 0 && a.ctx.Err() == nil {
		g := a.build()
		a.queue = a.queue[len(g.proposals):]
		if g.empty {
			a.finish(g, Result{})
			continue
		}
		a.flight = g
		wait := a.conflictPause()
		a.Go(func(ctx context.Context) {
			outcome, entries := a.g.observed(ctx, wait, g)
			a.g.later(func(a *Actor) { a.settle(g, outcome, entries) })
		})
	}
}

// observed is commit, seen by metrics and traces.
func (g *Gateway) observed(ctx context.Context, wait time.Duration, group *group) (outcome, []iris.Entry) {
	ctx, span := g.hub.cfg.Tracer.Start(ctx, "log.commit")
	defer span.End()
	began, metrics := time.Now(), g.hub.cfg.Metrics
	metrics.GroupSize.Observe(float64(len(group.proposals)))
	o, entries := g.commit(ctx, wait, group.commit)
	metrics.CommitSeconds.Observe(time.Since(began).Seconds())
	if span.IsRecording() {
		span.SetAttributes(attribute.String("iris.gateway", g.ID), attribute.Int64("iris.cursor", group.commit.Entry.Cursor),
			attribute.Int("iris.proposals", len(group.proposals)), attribute.String("iris.outcome", o.String()))
	}
	return o, entries
}

// build takes proposals from the queue, in order, as many as one commit holds.
func (a *Actor) build() *group {
	next := a.state.fork()
	next.Host.Received = max(next.Host.Received, a.received)
	g := &group{empty: true, commit: iris.Commit{Entry: iris.Entry{
		Cursor: a.state.Cursor + 1, Writer: a.writer, Batch: a.batch + 1, LastInbound: a.state.LastInbound,
	}}}
	var total weight
	for _, p := range a.queue {
		if p.draft, p.err = (Draft{}), ErrRemoved; !next.Removed {
			p.draft, p.err = p.Decide(next)
		}
		w := p.draft.weight()
		if p.err == nil && !w.fits() {
			p.draft, p.err = Draft{}, iris.Errorf(iris.CodeUnsupported, "too large: %d bytes, at most %d fit into an entry", w.entry, maxEntryBytes)
			w = weight{}
		}
		if len(g.proposals) > 0 && (len(g.proposals) >= a.limit || !total.plus(w).fits()) {
			break
		}
		g.proposals = append(g.proposals, p)
		if p.err == nil {
			total = total.plus(w)
			p.item = len(g.commit.Entry.Inbound)
			g.add(&p.draft, next)
		}
	}
	if !g.empty {
		a.batch++
		g.commit.Entry.Host = next.Host
		setRing(&g.commit, a.state)
	}
	return g
}

// add puts a draft into the commit and lets the decisions behind it see it. One
// that appends nothing does not move the mark of the host either: what its event
// led to is only in memory, and the entry does not contain it.
func (g *group) add(d *Draft, next *State) {
	if d.empty() {
		return
	}
	g.empty = false
	if d.Host != nil {
		next.Host = *d.Host
	}
	e := &g.commit.Entry
	if len(d.Inbound) > 0 {
		e.LastInbound = e.Cursor
	}
	e.Frames = append(e.Frames, d.Frames...)
	e.Inbound = append(e.Inbound, d.Inbound...)
	e.Control = append(e.Control, d.Control...)
	e.Lanes = union(e.Lanes, d.Lanes)
	e.Messages = union(e.Messages, d.Messages)
	e.Notify = e.Notify || d.Notify
	g.commit.Changes = append(g.commit.Changes, d.Changes...)
	next.fold(d.Frames, d.Control, d.Changes)
}

func union[T comparable](to, from []T) []T {
next:
	for _, x := range from {
		for _, y := range to {
			if x == y {
				continue next
			}
		}
		to = append(to, x)
	}
	return to
}

// outcome is what is known of a commit in the end.
type outcome int

const (
	landed   outcome = iota // it is in the log
	conflict                // another entry is there
	refused                 // a row or the ring's guard was in the way
	gone                    // there is no log any more
	rejected                // the store will never take it
	stopped                 // the actor ended
)

// String names an outcome in traces.
func (o outcome) String() string {
	return [...]string{"landed", "conflict", "refused", "gone", "rejected", "stopped"}[o]
}

// commitTimeout is the deadline of one attempt.
const commitTimeout = 10 * time.Second

// commit tries until the outcome is known. With conflict come the entries that
// were not known.
func (g *Gateway) commit(ctx context.Context, wait time.Duration, c iris.Commit) (outcome, []iris.Entry) {
	pause(ctx, wait)
	for try := 0; ctx.Err() == nil; try++ {
		err := g.append(ctx, c)
		switch {
		case err == nil:
			return landed, nil
		case errors.Is(err, iris.ErrRefused):
			if o, entries, err := g.refusal(ctx, c); err == nil {
				return o, entries
			}
		case errors.Is(err, iris.ErrRejected):
			g.log.Error("commit rejected", "cursor", c.Entry.Cursor, "err", err)
			return rejected, nil
		default: // no answer: the same commit again, unchanged
			g.hub.cfg.Metrics.Unanswered.Inc()
			g.log.Warn("commit not answered", "cursor", c.Entry.Cursor, "try", try, "err", err)
		}
		pause(ctx, backoff(try))
	}
	return stopped, nil
}

func (g *Gateway) append(ctx context.Context, c iris.Commit) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	return g.hub.cfg.Store.Append(ctx, g.ID, c)
}

// refusal finds out what refused a commit. A commit that landed can come back
// as refused when its answer was lost and the client repeated it.
func (g *Gateway) refusal(ctx context.Context, c iris.Commit) (outcome, []iris.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	entries, err := g.hub.cfg.Store.Entries(ctx, g.ID, c.Entry.Cursor-1, pageSize)
	switch {
	case err != nil:
		return 0, nil, err
	case len(entries) == 0:
		if vanished, err := g.vanished(ctx); err != nil || vanished {
			return gone, nil, err
		}
		return refused, nil, nil
	case entries[0].Writer == c.Entry.Writer && entries[0].Batch == c.Entry.Batch:
		return landed, nil, nil
	default:
		return conflict, entries, nil
	}
}

// settle takes the outcome of the commit under way.
func (a *Actor) settle(g *group, o outcome, unknown []iris.Entry) {
	if a.flight != g {
		return
	}
	a.flight = nil
	switch o {
	case landed:
		a.streak = 0
		a.g.hub.cfg.Metrics.Entries.Inc()
		a.limit = min(2*a.limit, maxWrites)
		e := g.commit.Entry
		e.At = time.Now()
		if e.Cursor <= a.state.Cursor { // the state was reloaded meanwhile
			a.notify(e, true) // before who asked hears of it, who may wait for the pushes
			a.finish(g, Result{Cursor: e.Cursor})
			return
		}
		a.advance(e, g)
		return
	case conflict:
		a.streak++
		a.g.hub.cfg.Metrics.Conflicts.Inc()
		a.take(unknown)
	case refused, rejected:
		a.g.hub.cfg.Metrics.Refusals.Inc()
		if len(g.proposals) == 1 {
			a.refuse(g, o)
			return
		}
		a.limit = max(1, len(g.proposals)/2)
	case gone:
		a.leaveRemoved()
	case stopped:
	}
	a.queue = append(g.proposals, a.queue...)
}

// refuse ends the only proposal of a group.
func (a *Actor) refuse(g *group, o outcome) {
	err := iris.ErrRefused
	if o == rejected {
		err = iris.ErrRejected
	}
	g.proposals[0].err = err
	a.finish(g, Result{})
}

// finish tells the proposals of a group what became of them. The entry contains
// nothing of those that had nothing to append.
func (a *Actor) finish(g *group, r Result) {
	for _, p := range g.proposals {
		own := Result{Cursor: r.Cursor, Frames: p.draft.Frames, Item: p.item}
		switch {
		case p.err != nil:
			own = Result{Err: p.err}
		case p.draft.empty():
			own = Result{}
		}
		p.finish(a, own)
	}
}

// conflictPause is how long to wait before the next commit: nothing at first,
// and up to two commit times after the second conflict in a row.
func (a *Actor) conflictPause() time.Duration {
	const commitTime = 20 * time.Millisecond
	if a.streak < 2 {
		return 0
	}
	return rand.N(2 * commitTime)
}

// backoff grows from 50 ms to 5 s, with jitter.
func backoff(try int) time.Duration {
	d := min(50*time.Millisecond<<min(try, 7), 5*time.Second)
	return d/2 + rand.N(d/2+1)
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
