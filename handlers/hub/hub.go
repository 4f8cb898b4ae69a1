// Package hub holds what this instance has of each gateway: the tail of its
// log, the commits under way, and the sockets of its devices and host.
//
// Each open gateway is one actor, a goroutine that owns all of its state.
// Everything else talks to it by functions that it runs (Gateway.Do).
package hub

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"iris-gateway/iris"
)

// Log is the outbox log of the gateways (log.md).
type Log interface {
	Head(ctx context.Context, gateway string) (iris.Entry, error)
	Entry(ctx context.Context, gateway string, cursor int64) (iris.Entry, bool, error)
	// Entries returns the first entries after a cursor, limit at most. A page of
	// large ones is shorter: only an empty one is the end.
	Entries(ctx context.Context, gateway string, after int64, limit int) ([]iris.Entry, error)
	Append(ctx context.Context, gateway string, c iris.Commit) error
	Follow(ctx context.Context, gateway string, after int64, writer string, deliver func([]iris.Entry)) error
}

// Rows are the views that the hub begins from.
type Rows interface {
	Gateway(ctx context.Context, gateway string) (iris.Gateway, error)
	Message(ctx context.Context, gateway, id string) (iris.Message, error)
	Channels(ctx context.Context, gateway string) ([]iris.Channel, error)
	Devices(ctx context.Context, gateway string) ([]iris.Device, error)
	Pickers(ctx context.Context, gateway string) ([]iris.Picker, error)
	Deletions(ctx context.Context, gateway string) ([]iris.Deletion, error)
	SetDeviceCursor(ctx context.Context, gateway, device string, cursor int64) error
}

// Store is what the hub needs of a store.
type Store interface {
	Log
	Rows
	LiveStore
}

// Config says what a hub works with.
type Config struct {
	Store      Store
	LogEntries int // entries that each log keeps; at least 16
	Log        *slog.Logger
	Metrics    *Metrics     // nil: nobody reads them
	Notifier   Notifier     // nil: devices are not woken
	Tracer     trace.Tracer // nil: nobody traces
}

// Hub holds the gateways that are open on this instance.
type Hub struct {
	cfg Config
	ctx context.Context // ends when the hub is closed and its time is up
	end context.CancelFunc

	erase func(a *Actor, loaded bool) // see OnDeletions

	mu       sync.Mutex
	gateways map[string]*slot
	closed   bool
	running  sync.WaitGroup // the actors
}

// slot is a gateway that is open or being opened.
type slot struct {
	users int // guarded by Hub.mu
	ready chan struct{}
	g     *Gateway // set before ready is closed
	err   error
}

// New returns a hub without gateways.
func New(cfg Config) *Hub {
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(nil)
	}
	if cfg.Tracer == nil {
		cfg.Tracer = noop.Tracer{}
	}
	ctx, end := context.WithCancel(context.Background())
	return &Hub{cfg: cfg, ctx: ctx, end: end, gateways: map[string]*slot{}}
}

// OnDeletions names who carries deletions out: f is called on a gateway's actor
// whenever a deletion has begun or ended, and, with loaded, when its state was
// read from the rows. It must not block. It is set before the first Open.
func (h *Hub) OnDeletions(f func(a *Actor, loaded bool)) { h.erase = f }

// NewSocket starts the sending half of conn. written, which may be nil, is
// called with each mark once everything before it was written.
func (h *Hub) NewSocket(ctx context.Context, conn Conn, written func(mark int64)) *Socket {
	return newSocket(ctx, conn, h.cfg.Metrics, written)
}

// Open returns the gateway, which stays open until release is called. It
// returns an [iris.Error] with CodeNotFound if there is no such gateway, and
// with CodeUnavailable once the hub is closed.
func (h *Hub) Open(ctx context.Context, id string) (g *Gateway, release func(), err error) {
	s, first, err := h.claim(id)
	if err != nil {
		return nil, nil, err
	}
	if first {
		h.start(ctx, id, s)
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		h.release(id, s)
		return nil, nil, ctx.Err()
	}
	if s.err != nil {
		h.release(id, s)
		return nil, nil, s.err
	}
	return s.g, sync.OnceFunc(func() { h.release(id, s) }), nil
}

func (h *Hub) claim(id string) (s *slot, first bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, false, iris.Errorf(iris.CodeUnavailable, "this instance is going away, connect again")
	}
	s, ok := h.gateways[id]
	if !ok {
		s = &slot{ready: make(chan struct{})}
		h.gateways[id] = s
	}
	s.users++
	return s, !ok, nil
}

// openTimeout bounds the reads that open a gateway. They are not tied to the
// request that came first, because others may wait for them too.
const openTimeout = 20 * time.Second

func (h *Hub) start(ctx context.Context, id string, s *slot) {
	defer close(s.ready)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	defer cancel()
	var devices []iris.Device
	s.g, devices, s.err = openGateway(ctx, h, id)
	if s.err != nil {
		h.forget(id, s)
		return
	}
	s.g.slot = s
	if h.cfg.Notifier != nil {
		h.cfg.Notifier.Opened(s.g, devices, s.g.actor.state.Cursor)
	}
	h.running.Add(1)
	go func() {
		defer h.running.Done()
		h.cfg.Metrics.Gateways.Inc()
		defer h.cfg.Metrics.Gateways.Dec()
		s.g.run()
	}()
}

// forget makes the next Open begin anew.
func (h *Hub) forget(id string, s *slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gateways[id] == s {
		delete(h.gateways, id)
	}
}

func (h *Hub) release(id string, s *slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.users--
	if s.users > 0 || h.gateways[id] != s {
		return
	}
	delete(h.gateways, id)
	if s.g != nil {
		close(s.g.quit)
	}
}

// Close refuses new gateways and waits until the open ones have been released
// and their commits have ended. When ctx ends it stops waiting for answers.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	done := make(chan struct{})
	go func() { h.running.Wait(); close(done) }()
	defer h.end()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		h.end()
		<-done
		return ctx.Err()
	}
}
