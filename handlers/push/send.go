package push

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
)

// storeTimeout bounds a call of the store.
const storeTimeout = 5 * time.Second

// push sends one item, if the device still needs it. What may have changed since
// the item was queued is looked at right before the call.
func (q *queue) push(ctx context.Context, it *item) {
	select {
	case q.p.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-q.p.slots }()
	if q.settled(ctx, it) {
		q.finish(it)
		return
	}
	row, wait, err := q.row(ctx, it)
	switch {
	case iris.ErrorCode(err) == iris.CodeNotFound: // revoked
		q.stop()
		return
	case err != nil:
		if ctx.Err() == nil {
			q.p.cfg.Log.Warn("read a device to push to", "gateway", q.key.gateway, "device", q.key.device, "err", err)
			q.block(backoff(q.tries))
		}
		return
	case wait > 0:
		q.later(it, wait)
		return
	}
	if q.gone != "" && row.FCMToken == q.gone {
		row.FCMToken = ""
	}
	service, sender, to := q.p.address(row)
	if row.Cursor >= it.cursor || !it.own && pushedTo(row) >= it.cursor || sender == nil {
		q.finish(it)
		return
	}
	took, err := q.p.send(ctx, q.key, service, sender, to, it)
	if ctx.Err() == nil || took { // else nobody knows: the next opener pushes it again
		q.settle(ctx, it, row, service, err)
	}
}

// pushedTo is how far a device was reached, or is not to be tried again.
func pushedTo(row iris.Device) int64 { return max(row.LastPushed, row.Push.Tried) }

// settled asks the gateway's actor, if it is still there, whether the device has
// confirmed the entry to a connection here, the question has been answered, or
// what it tells of was deleted.
func (q *queue) settled(ctx context.Context, it *item) bool {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	over := make(chan bool, 1)
	q.p.mu.Lock()
	g := q.gateway
	q.p.mu.Unlock()
	err := g.Call(ctx, func(a *hub.Actor) {
		_, open := a.State().Picker(it.picker)
		d := a.Attached(q.key.device)
		over <- it.picker != "" && !open || it.deleted(a.State()) || d != nil && d.Received != nil && d.Received() >= it.cursor
	})
	return err == nil && <-over
}

// row reads the device's row. What another instance wrote is claimed first: the
// writer, or another opener, may be about to push it; then there is a time to
// wait.
func (q *queue) row(ctx context.Context, it *item) (row iris.Device, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if it.own {
		row, err = q.p.cfg.Store.Device(ctx, q.key.gateway, q.key.device)
		return row, 0, err
	}
	row, _, err = q.p.cfg.Store.ClaimPush(ctx, q.key.gateway, q.key.device, func(d iris.Device) (iris.PushState, bool) {
		now := time.Now()
		wait = 0
		if max(d.Cursor, pushedTo(d)) >= it.cursor {
			return iris.PushState{}, false
		}
		if d.Push.By != "" && d.Push.By != q.p.id && d.Push.Until.After(now) {
			wait = d.Push.Until.Sub(now) + time.Second
			return iris.PushState{}, false
		}
		claim := d.Push
		claim.By, claim.Until = q.p.id, now.Add(sendTimeout+storeTimeout)
		return claim, true
	})
	return row, wait, err
}

// send does one call. took says that the service has the push.
func (p *Pusher) send(ctx context.Context, k key, service string, s Sender, to string, it *item) (took bool, err error) {
	name := k.gateway + "\x00" + to + "\x00" + it.name()
	if service == "ntfy" && !p.firstOf(name, it.cursor) { // another device with this topic was quicker
		return true, nil
	}
	ctx, span := p.cfg.Tracer.Start(ctx, "push.send", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err = s.Send(ctx, to, it.push(time.Now()))
	if span.IsRecording() {
		span.SetAttributes(attribute.String("iris.gateway", k.gateway), attribute.Int64("iris.cursor", it.cursor),
			attribute.String("iris.push.service", service), attribute.String("iris.outcome", string(p.state(service, err).Outcome)))
	}
	if service == "ntfy" && err != nil {
		p.forget(name)
	}
	return err == nil, err
}

// maxTopics bounds what is remembered of topics.
const maxTopics = 4096

// firstOf reports whether nobody has sent an item to a topic yet: two devices
// may have the same topic, which would hear of everything twice. A test, of
// cursor 0, is always the first.
func (p *Pusher) firstOf(name string, cursor int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cursor != 0 && p.topics[name] {
		return false
	}
	if len(p.topics) >= maxTopics {
		clear(p.topics)
	}
	p.topics[name] = true
	return true
}

func (p *Pusher) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.topics, name)
}

// settle notes what became of a call, in the queue and in the device's row.
func (q *queue) settle(ctx context.Context, it *item, row iris.Device, service string, err error) {
	state := q.p.state(service, err)
	var again time.Duration
	q.p.mu.Lock()
	switch state.Outcome {
	case iris.PushSent:
		q.tries, q.sent = 0, max(q.sent, it.cursor)
		q.paced(it)
		q.done(it)
	case iris.PushRetrying:
		again = delay(err, q.tries)
		q.tries++
		q.blocked = time.Now().Add(again)
		state.By, state.Until = q.p.id, q.blocked.Add(sendTimeout)
		if q.p.draining != nil {
			state.Until = q.blocked
			q.items = nil // the next opener goes on
		}
	case iris.PushFailed:
		state.Tried = it.cursor
		q.done(it)
	}
	pushed := q.pushed()
	q.p.mu.Unlock()
	q.p.report(q.key, service, state, it.cursor, again)
	if state.Outcome == iris.PushUnregistered {
		q.gone = row.FCMToken // only this goroutine uses it
		q.p.removed(ctx, q.key, row.FCMToken)
	}
	timeout := storeTimeout
	if ctx.Err() != nil { // the instance is going away, but this is known
		timeout = time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if err := q.p.cfg.Store.NotePush(ctx, q.key.gateway, q.key.device, pushed, state); err != nil {
		q.p.cfg.Log.Warn("note a push", "gateway", q.key.gateway, "device", q.key.device, "err", err)
	}
}

// state is what the device's row will say of a call.
func (p *Pusher) state(service string, err error) iris.PushState {
	state := iris.PushState{Outcome: iris.PushSent, Detail: service, At: time.Now()}
	if err == nil {
		return state
	}
	state.Outcome, state.Detail = iris.PushFailed, service+": failed"
	var e *iris.PushError
	if !errors.As(err, &e) {
		return state
	}
	state.Detail = service + ": " + e.Detail
	switch {
	case e.Failure == iris.PushGone && service == "fcm":
		state.Outcome = iris.PushUnregistered
	case e.Failure == iris.PushQuota, e.Failure == iris.PushAway:
		state.Outcome = iris.PushRetrying
	}
	return state
}

// report counts and logs a call: no address, no text.
func (p *Pusher) report(k key, service string, state iris.PushState, cursor int64, again time.Duration) {
	if p.cfg.Count != nil {
		p.cfg.Count(service, state.Outcome)
	}
	log := p.cfg.Log.With("gateway", k.gateway, "device", k.device, "cursor", cursor, "service", service)
	switch state.Outcome {
	case iris.PushSent:
		log.Debug("pushed")
	case iris.PushRetrying:
		log.Warn("push is tried again", "why", state.Detail, "after", again.Round(time.Millisecond))
	default:
		log.Warn("not pushed", "outcome", string(state.Outcome), "why", state.Detail)
	}
}

// removed takes a registration away that the service does not know any more.
func (p *Pusher) removed(ctx context.Context, k key, token string) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := p.remove(ctx, k.gateway, k.device, token); err != nil {
		p.cfg.Log.Warn("remove a push registration", "gateway", k.gateway, "device", k.device, "err", err)
	}
}

// delay is how long to wait before the next try: what the service asks for, at
// least a backoff from 1 s to a minute; after "too many" without a time a
// minute, as FCM's documentation wants it.
func delay(err error, tries int) time.Duration {
	d := backoff(tries)
	var e *iris.PushError
	if errors.As(err, &e) {
		if e.Failure == iris.PushQuota && e.RetryAfter <= 0 {
			d = time.Minute + rand.N(10*time.Second)
		}
		d = max(d, e.RetryAfter)
	}
	return min(d, keepFor)
}

func backoff(tries int) time.Duration {
	d := min(time.Second<<min(tries, 6), time.Minute)
	return d + rand.N(d/4+1)
}

// finish takes out an item that needs no push.
func (q *queue) finish(it *item) {
	q.p.mu.Lock()
	defer q.p.mu.Unlock()
	q.items = removeItem(q.items, it)
}

// later puts an item off.
func (q *queue) later(it *item, wait time.Duration) {
	q.p.mu.Lock()
	defer q.p.mu.Unlock()
	it.due = time.Now().Add(wait)
}

// block sends nothing for some time.
func (q *queue) block(wait time.Duration) {
	q.p.mu.Lock()
	defer q.p.mu.Unlock()
	q.tries++
	q.blocked = time.Now().Add(wait)
}

// stop gives up on all that waits now.
func (q *queue) stop() {
	q.p.mu.Lock()
	defer q.p.mu.Unlock()
	q.items = nil
}

func removeItem(items []*item, it *item) []*item {
	for i, o := range items {
		if o == it {
			return append(items[:i:i], items[i+1:]...)
		}
	}
	return items
}

// Test sends one push to a device, at once and once, and says what became of
// it: "none" if it has no registration that works here.
func (p *Pusher) Test(ctx context.Context, gateway string, row iris.Device) (outcome, detail string) {
	if p == nil {
		return "none", "push is off on this gateway"
	}
	service, sender, to := p.address(row)
	if sender == nil {
		return "none", "the device has no push registration that this gateway can use"
	}
	d := data(kindTest, "", "This is a test push.", true)
	d["type"] = "notification"
	k := key{gateway, row.ID}
	_, err := p.send(ctx, k, service, sender, to, &item{thing: thing{data: d}})
	state := p.state(service, err)
	if state.Outcome == iris.PushRetrying { // a test is not repeated
		state.Outcome = iris.PushFailed
	}
	p.report(k, service, state, 0, 0)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout) // the caller may have gone
	defer cancel()
	if state.Outcome == iris.PushUnregistered {
		p.removed(ctx, k, row.FCMToken)
	}
	if err := p.cfg.Store.NotePush(ctx, gateway, row.ID, 0, state); err != nil {
		p.cfg.Log.Warn("note a push", "gateway", gateway, "device", row.ID, "err", err)
	}
	return string(state.Outcome), state.Detail
}
