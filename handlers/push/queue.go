package push

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
)

// laneGap is how soon a lane may push to a device again: in a burst of messages
// the newest wins.
const laneGap = 2 * time.Second

// maxPaces is when lanes that may push again are forgotten.
const maxPaces = 1024

// maxItems bounds what waits for a device.
const maxItems = 128

// item is a thing on its way to one device.
type item struct {
	thing
	cursor  int64
	own     bool // written here; else another instance may have pushed it
	written time.Time
	due     time.Time
}

// name is different for each item of a gateway.
func (it *item) name() string {
	return fmt.Sprint(it.cursor, "\x00", it.data["type"], "\x00", it.picker, "\x00", it.collapse)
}

// deleted reports whether people have deleted what an item tells of: a message,
// or its whole lane.
func (it *item) deleted(s *hub.State) bool {
	_, known := s.Channel(iris.Lane{ChatID: it.data["chat_id"], ThreadID: it.data["thread_id"]})
	return !known || s.Erased(it.data["message_id"])
}

func (it *item) collapses() bool { return it.collapse != "" }

// replaces reports whether an item is newer than another one of its lane.
func (it *item) replaces(o *item) bool {
	return it.collapse != "" && o.collapse == it.collapse && o.cursor < it.cursor
}

// queue holds what waits for one device. Pushes go out one after the other, so
// that last_pushed_cursor never passes something that still waits.
type queue struct {
	p       *Pusher
	key     key
	gateway *hub.Gateway
	release func() // of the gateway; nil when it was closing already
	items   []*item
	wake    chan struct{} // has room for one
	sent    int64         // newest cursor that was pushed
	blocked time.Time     // nothing is sent before: the service asked for it
	tries   int           // failures in a row
	gone    string        // token that the service does not know any more
}

// queue returns the device's queue, made when there is none. Call with p.mu held.
func (p *Pusher) queue(k key, g *hub.Gateway) *queue {
	q := p.queues[k]
	if q == nil {
		q = &queue{p: p, key: k, wake: make(chan struct{}, 1)}
		p.queues[k] = q
		p.wait.Go(func() { q.run(p.ctx) })
	}
	if q.gateway != g {
		if q.release != nil {
			q.release()
		}
		q.gateway = g
		q.release, _ = g.Hold()
	}
	return q
}

// add queues an item, unless it waits already. Call with p.mu held.
func (q *queue) add(it item) {
	if !it.own && slices.ContainsFunc(q.items, func(o *item) bool { return o.cursor == it.cursor && o.name() == it.name() }) {
		return
	}
	at, now := q.ready(&it), time.Now()
	q.items = slices.DeleteFunc(q.items, func(o *item) bool { // what would not go out before it
		return it.replaces(o) && (!at.After(now) || !at.After(q.ready(o)))
	})
	for _, o := range q.items {
		if it.own && o.own && it.due.Before(o.due) { // the device has gone meanwhile
			o.due = it.due
		}
	}
	if q.items = append(q.items, &it); len(q.items) > maxItems { // messages before questions
		i := max(0, slices.IndexFunc(q.items, (*item).collapses))
		q.items = slices.Delete(q.items, i, i+1)
	}
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// expedite makes a leaving instance push what it wrote. Call with p.mu held.
func (q *queue) expedite(now time.Time) {
	if q.blocked.After(now.Add(drainGrace)) {
		q.items = nil
	}
	q.items = slices.DeleteFunc(q.items, func(it *item) bool { return !it.own })
	for _, it := range q.items {
		if soon := now.Add(drainGrace); it.due.After(soon) {
			it.due = soon
		}
	}
	q.signal()
}

// ready is when an item may be pushed.
func (q *queue) ready(it *item) time.Time {
	at := it.due
	if next := q.p.paces[pace{q.key, it.collapse}].Add(laneGap); next.After(at) && q.p.draining == nil {
		at = next
	}
	if q.blocked.After(at) {
		at = q.blocked
	}
	return at
}

// next takes the item that is to be pushed now, the newest of its lane, or says
// how long to wait. Without items the queue is over. Call with p.mu held.
func (q *queue) next(now time.Time) (it *item, wait time.Duration, over bool) {
	q.items = slices.DeleteFunc(q.items, func(it *item) bool {
		return now.Sub(it.written) > keepFor || !it.expires.IsZero() && !now.Before(it.expires)
	})
	if len(q.items) == 0 {
		return nil, 0, true
	}
	first := slices.MinFunc(q.items, func(a, b *item) int { return q.ready(a).Compare(q.ready(b)) })
	if wait := q.ready(first).Sub(now); wait > 0 {
		return nil, wait, false
	}
	if first.collapse == "" {
		return first, 0, false
	}
	for _, it := range q.items {
		if it.collapse == first.collapse && it.cursor > first.cursor && !q.ready(it).After(now) {
			first = it
		}
	}
	return first, 0, false
}

// paced notes that a lane has pushed now. Call with p.mu held.
func (q *queue) paced(it *item) {
	if it.collapse == "" {
		return
	}
	now := time.Now()
	if len(q.p.paces) > maxPaces {
		maps.DeleteFunc(q.p.paces, func(_ pace, last time.Time) bool { return now.Sub(last) > laneGap })
	}
	q.p.paces[pace{q.key, it.collapse}] = now
}

// done takes an item out, and the older ones of its lane whose place it takes.
// Call with p.mu held.
func (q *queue) done(it *item) {
	q.items = slices.DeleteFunc(q.items, func(o *item) bool {
		return o == it || it.replaces(o)
	})
}

// pushed returns how far the device has been reached by push: not past what
// still waits. Call with p.mu held.
func (q *queue) pushed() int64 {
	up := q.sent
	for _, it := range q.items {
		up = min(up, it.cursor-1)
	}
	return up
}

// run pushes what waits until nothing does.
func (q *queue) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		q.p.mu.Lock()
		it, wait, over := q.next(time.Now())
		if over || ctx.Err() != nil {
			q.end()
			q.p.mu.Unlock()
			return
		}
		q.p.mu.Unlock()
		if it != nil {
			q.push(ctx, it)
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-q.wake:
		case <-ctx.Done():
		}
	}
}

// end takes the queue away. Call with p.mu held.
func (q *queue) end() {
	q.items = nil
	delete(q.p.queues, q.key)
	close(q.p.ended)
	q.p.ended = make(chan struct{})
	if q.release != nil {
		q.release()
	}
}
