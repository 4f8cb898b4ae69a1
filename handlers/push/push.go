package push

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
)

// When a push is due (log.md, "Push").
const (
	// liveWait is how long a device that seems connected may take to confirm.
	liveWait = 8 * time.Second
	// sendTimeout bounds one call of a service.
	sendTimeout = 10 * time.Second
	// foreignWait is when an entry of another instance, or of one that is no
	// more, has surely been pushed if its writer lives.
	foreignWait = liveWait + sendTimeout + 2*time.Second
	// keepFor is how long an entry deserves a push.
	keepFor = time.Hour
)

// maxLook bounds the entries that an opener looks at.
const maxLook = 64

// Sender hands a push to a service, at the address that a device registered.
// Its error is an [iris.PushError].
type Sender interface {
	Send(ctx context.Context, to string, p iris.Push) error
}

// Rows are the devices' rows.
type Rows interface {
	Device(ctx context.Context, gateway, device string) (iris.Device, error)
	NotePush(ctx context.Context, gateway, device string, pushed int64, state iris.PushState) error
	ClaimPush(ctx context.Context, gateway, device string, decide func(iris.Device) (iris.PushState, bool)) (iris.Device, bool, error)
}

// Store is what pushing needs of a store.
type Store interface {
	Rows
	// NotifyEntries returns the newest entries after a cursor that deserve a push,
	// newest first: limit at most, and fewer when they are large.
	NotifyEntries(ctx context.Context, gateway string, after int64, limit int) ([]iris.Entry, error)
}

// Config says what a Pusher works with.
type Config struct {
	Store     Store
	FCM, Ntfy Sender // nil: off
	Preview   bool   // pushes may tell what they are about
	Parallel  int    // calls at once; 0 = 32
	Log       *slog.Logger
	Tracer    trace.Tracer // nil: nobody traces
	// Count is told of each call's outcome; it may be nil.
	Count func(service string, outcome iris.PushOutcome)
}

// Pusher wakes devices. It is the hub's [hub.Notifier].
type Pusher struct {
	cfg    Config
	id     string // names this process in claims
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{} // bounds calls at once
	remove func(ctx context.Context, gateway, device, token string) error
	wait   sync.WaitGroup // queues and looks

	mu       sync.Mutex
	queues   map[key]*queue
	ended    chan struct{}      // closed and replaced when a queue ends
	paces    map[pace]time.Time // when a lane last pushed to a device
	topics   map[string]bool    // what ntfy topics were sent: devices may share one
	draining *time.Timer        // ends everything; nil before Drain
	closed   bool
}

type key struct{ gateway, device string }

// pace names what must not push again too soon.
type pace struct {
	key
	collapse string
}

// New returns a Pusher. [Pusher.Start] comes before its first use.
func New(cfg Config) *Pusher {
	if cfg.Parallel == 0 {
		cfg.Parallel = 32
	}
	if cfg.Tracer == nil {
		cfg.Tracer = noop.Tracer{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Pusher{
		cfg: cfg, id: iris.NewID("p_"), ctx: ctx, cancel: cancel, slots: make(chan struct{}, cfg.Parallel),
		queues: map[key]*queue{}, ended: make(chan struct{}), paces: map[pace]time.Time{}, topics: map[string]bool{},
	}
}

// Start tells how a registration is removed: if the device still has that FCM
// token.
func (p *Pusher) Start(remove func(ctx context.Context, gateway, device, token string) error) {
	p.remove = remove
}

// Kind says how a device is woken that prefers what its hello says: "fcm",
// "ntfy" or "none".
func (p *Pusher) Kind(prefers string) string {
	switch {
	case p == nil || p.cfg.FCM == nil && p.cfg.Ntfy == nil:
		return "none"
	case p.cfg.FCM == nil, prefers == "ntfy" && p.cfg.Ntfy != nil:
		return "ntfy"
	default:
		return "fcm"
	}
}

// address returns how a device is woken: FCM before ntfy. Without a
// registration that works here the sender is nil.
func (p *Pusher) address(d iris.Device) (service string, s Sender, to string) {
	switch {
	case d.FCMToken != "" && p.cfg.FCM != nil:
		return "fcm", p.cfg.FCM, d.FCMToken
	case d.NtfyTopic != "" && p.cfg.Ntfy != nil:
		return "ntfy", p.cfg.Ntfy, d.NtfyTopic
	default:
		return "none", nil, ""
	}
}

// usable leaves the targets that can be woken here.
func (p *Pusher) usable(all []hub.Target) []hub.Target {
	var out []hub.Target
	for _, t := range all {
		if t.FCM && p.cfg.FCM != nil || t.Ntfy && p.cfg.Ntfy != nil {
			out = append(out, t)
		}
	}
	return out
}

// Notify implements [hub.Notifier]: at once to a device without a living link,
// otherwise after 8 s; an entry of another instance only if that has not pushed
// it by then.
func (p *Pusher) Notify(a *hub.Actor, e iris.Entry, own bool) {
	if targets := p.usable(a.State().Targets()); len(targets) > 0 {
		p.add(a, e, own, targets)
	}
}

// add queues what an entry pushes to the targets.
func (p *Pusher) add(a *hub.Actor, e iris.Entry, own bool, targets []hub.Target) {
	name := func(l iris.Lane) string { c, _ := a.State().Channel(l); return c.Name }
	all := things(e, name, p.cfg.Preview)
	if len(all) == 0 {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.draining != nil && !own {
		return
	}
	for _, t := range targets {
		it := item{cursor: e.Cursor, own: own, written: now, due: now}
		switch {
		case !own:
			it.written, it.due = e.At, e.At.Add(foreignWait)
		case t.Link.Alive(now) && p.draining == nil:
			it.due = now.Add(liveWait)
		}
		q := p.queue(key{a.Gateway().ID, t.Device}, a.Gateway())
		for _, th := range all {
			it.thing = th
			q.add(it)
		}
	}
}

// Opened implements [hub.Notifier]: a crash between commit and push loses no
// push, because the next opener looks for what nobody received or pushed.
func (p *Pusher) Opened(g *hub.Gateway, devices []iris.Device, head int64) {
	floors := map[string]int64{} // what each device has
	lowest := head
	for _, d := range devices {
		floor := max(d.Cursor, d.LastPushed, d.Push.Tried)
		if _, s, _ := p.address(d); s == nil || floor >= head {
			continue
		}
		floors[d.ID] = floor
		lowest = min(lowest, floor)
	}
	if len(floors) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.draining != nil {
		return
	}
	release, ok := g.Hold()
	p.wait.Go(func() {
		if ok {
			defer release()
		}
		p.look(g, floors, lowest, head)
	})
}

// look queues the entries of the last hour, up to head, that deserve a push.
func (p *Pusher) look(g *hub.Gateway, floors map[string]int64, lowest, head int64) {
	ctx, cancel := context.WithTimeout(p.ctx, sendTimeout)
	defer cancel()
	entries, err := p.cfg.Store.NotifyEntries(ctx, g.ID, lowest, maxLook)
	if err != nil {
		p.cfg.Log.Warn("look for what was not pushed", "gateway", g.ID, "err", err)
		return
	}
	_ = g.Call(ctx, func(a *hub.Actor) {
		for i := len(entries) - 1; i >= 0; i-- { // they come newest first
			e := entries[i]
			if e.Cursor > head || time.Since(e.At) > keepFor {
				continue
			}
			var targets []hub.Target
			for _, t := range p.usable(a.State().Targets()) {
				if floor, ok := floors[t.Device]; ok && floor < e.Cursor {
					targets = append(targets, t)
				}
			}
			p.add(a, e, false, targets)
		}
	})
}

// Pending reports whether something waits to be pushed for a gateway: such an
// instance must not end.
func (p *Pusher) Pending(gateway string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.queues {
		if k.gateway == gateway {
			return true
		}
	}
	return false
}

// Settle waits until nothing waits to be pushed for a gateway, or ctx ends. On
// Cloud Run an instance may get no CPU while it has neither request nor socket:
// what a request made due is to be pushed before its answer.
func (p *Pusher) Settle(ctx context.Context, gateway string) {
	for {
		p.mu.Lock()
		ended := p.ended
		p.mu.Unlock()
		if !p.Pending(gateway) {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

// drainGrace is the moment that devices get to reach another instance before a
// leaving one pushes.
const drainGrace = time.Second

// Drain makes what waits due soon, and ends everything after a time. What could
// not be pushed then is for the next opener.
func (p *Pusher) Drain(within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining != nil {
		return
	}
	p.draining = time.AfterFunc(within, p.cancel)
	for _, q := range p.queues {
		q.expedite(time.Now())
	}
}

// Close waits for the end of all pushes; without a Drain before it ends them.
func (p *Pusher) Close() {
	p.mu.Lock()
	p.closed = true
	if p.draining == nil {
		p.cancel()
	}
	p.mu.Unlock()
	p.wait.Wait()
	p.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining != nil {
		p.draining.Stop()
	}
}
