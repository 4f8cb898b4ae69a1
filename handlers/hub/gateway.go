package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// errClosed says that a gateway is no longer open on this instance.
var errClosed = errors.New("hub: gateway is closed")

// Gateway is a gateway that is open on this instance.
type Gateway struct {
	ID string

	hub   *Hub
	log   *slog.Logger
	inbox chan func(*Actor)
	quit  chan struct{} // closed by the hub when nobody uses the gateway any more
	done  chan struct{} // closed when the actor has ended
	actor *Actor
	slot  *slot // of the hub; set before anybody else has the gateway
}

// Actor is the state of a gateway. Only functions given to [Gateway.Do] and
// callbacks of the actor may use it: they all run on the gateway's goroutine.
type Actor struct {
	g      *Gateway
	ctx    context.Context // of commits and reads; ends when the actor ends
	wait   sync.WaitGroup  // goroutines begun by Go
	writer string          // names this opening of the gateway in the log
	state  *State
	ahead  map[int64]iris.Entry // entries of the listener that are not next

	queue    []*proposal // waiting, in order
	flight   *group      // being committed
	limit    int         // proposals a group may have: halved after a refusal
	batch    int64       // of the newest group
	streak   int         // conflicts in a row
	reading  bool        // a backfill is under way
	received int64       // what the host has received, as it said here; the log may know of more

	devices  map[string]*Device           // by device id: those attached here
	host     *Host                        // nil when the host is not attached here
	turns    []link.Turn                  // that ran when its last connection here ended
	made     int64                        // newest event that turns are made of
	presence presence                     // of the host, as the devices were told
	counted  struct{ devices, hosts int } // in the metrics
	live     liveDocs                     // of the turns that run on the host attached here
	over     over                         // what has ended since the tail began
	loaded   time.Time                    // when it began
	watch    watch                        // of the turns that run on another instance's host
	asked    []*Asked                     // requests of devices here that the host answers later
}

// openGateway reads what the log says. The head is read before the rows: rows
// that are newer only make the fold say the same again.
func openGateway(ctx context.Context, h *Hub, id string) (*Gateway, []iris.Device, error) {
	g := &Gateway{
		ID: id, hub: h, log: h.cfg.Log.With("gateway", id),
		inbox: make(chan func(*Actor), 64), quit: make(chan struct{}), done: make(chan struct{}),
	}
	state, devices, err := g.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	g.actor = &Actor{
		g: g, loaded: time.Now(), over: newOver(), writer: iris.NewID("w_"), state: state, ahead: map[int64]iris.Entry{},
		limit: maxWrites, devices: map[string]*Device{},
		presence: presence{online: state.HostLink.Alive(time.Now())}, live: liveDocs{kept: map[string]string{}},
	}
	return g, devices, nil
}

func (g *Gateway) load(ctx context.Context) (*State, []iris.Device, error) {
	store := g.hub.cfg.Store
	head, err := store.Head(ctx, g.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("read the head of the log: %w", err)
	}
	gw, err := store.Gateway(ctx, g.ID)
	if err != nil {
		return nil, nil, err
	}
	if head.Cursor == 0 { // it is written with the gateway's row
		return nil, nil, fmt.Errorf("gateway %s has a row, but no log", g.ID)
	}
	if removed(head) {
		return nil, nil, iris.Errorf(iris.CodeNotFound, "gateway %q is being deleted", g.ID)
	}
	channels, err := store.Channels(ctx, g.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("read channels: %w", err)
	}
	devices, err := store.Devices(ctx, g.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("read devices: %w", err)
	}
	pickers, err := store.Pickers(ctx, g.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("read pickers: %w", err)
	}
	deletions, err := store.Deletions(ctx, g.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("read deletions: %w", err)
	}
	return newState(rowsRead{gw, channels, devices, pickers, deletions}, head, g.hub.cfg.LogEntries), devices, nil
}

// Do runs f on the gateway's goroutine, after everything given to Do before.
// It does not wait for f, but for room in the inbox.
func (g *Gateway) Do(f func(a *Actor)) error {
	select {
	case g.inbox <- f:
		return nil
	case <-g.done:
		return errClosed
	}
}

// Call is Do, and waits until f has run. After an error f has not run and never
// will, so that what it captures can be used: the gateway is closed, or ctx
// ended, before it was f's turn.
func (g *Gateway) Call(ctx context.Context, f func(a *Actor)) error {
	var taken atomic.Bool // by f, or by the caller who gives up
	done := make(chan struct{})
	err := g.Do(func(a *Actor) {
		defer close(done)
		if taken.CompareAndSwap(false, true) {
			f(a)
		}
	})
	if err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-g.done:
		err = errClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	if taken.CompareAndSwap(false, true) {
		return err
	}
	<-done
	return nil
}

// run is the actor: it ends when nobody uses the gateway and nothing waits to
// be committed, or when the hub's time is up.
func (g *Gateway) run() {
	a := g.actor
	ctx, cancel := context.WithCancel(g.hub.ctx)
	a.ctx = ctx
	cursor := a.state.Cursor
	a.Go(func(ctx context.Context) { g.follow(ctx, cursor) })
	defer func() { close(g.done); cancel(); a.wait.Wait() }()
	quit := g.quit
	a.tellStatus()
	if len(a.state.pending) > 0 {
		a.pendingDeletions(true)
	}
	for quit != nil || len(g.inbox) > 0 || len(a.queue) > 0 || a.flight != nil {
		select {
		case f := <-g.inbox:
			f(a)
		case <-quit:
			quit = nil
		case <-ctx.Done():
			a.abandon()
			return
		}
		a.pump()
		a.gauge()
	}
}

// gauge keeps the numbers of attached sockets.
func (a *Actor) gauge() {
	hosts := 0
	if a.host != nil {
		hosts = 1
	}
	m := a.g.hub.cfg.Metrics
	m.Devices.Add(float64(len(a.devices) - a.counted.devices))
	m.Hosts.Add(float64(hosts - a.counted.hosts))
	a.counted.devices, a.counted.hosts = len(a.devices), hosts
}

// abandon ends the proposals that can no longer be committed.
func (a *Actor) abandon() {
	waiting := a.queue
	if a.flight != nil {
		waiting = append(a.flight.proposals, waiting...)
	}
	a.queue, a.flight = nil, nil
	for _, p := range waiting {
		p.finish(a, Result{Err: iris.Errorf(iris.CodeUnavailable, "this instance is going away, try again")})
	}
}

// Go runs f in a goroutine of the gateway: ctx ends with the actor, which waits
// for f to return.
func (a *Actor) Go(f func(ctx context.Context)) {
	ctx := a.ctx
	a.wait.Go(func() { f(ctx) })
}

// later runs f on the actor from another goroutine of the gateway, unless the
// actor has ended.
func (g *Gateway) later(f func(a *Actor)) { _ = g.Do(f) }

// State returns the newest state. It must not be kept or changed.
func (a *Actor) State() *State { return a.state }

// Gateway returns the gateway of the actor.
func (a *Actor) Gateway() *Gateway { return a.g }

// Page reads entries from the store, never from memory.
func (g *Gateway) Page(ctx context.Context, after int64) ([]iris.Entry, error) {
	return g.hub.cfg.Store.Entries(ctx, g.ID, after, pageSize)
}

// Entry reads one entry from the store, and reports whether the log has it.
func (g *Gateway) Entry(ctx context.Context, cursor int64) (iris.Entry, bool, error) {
	return g.hub.cfg.Store.Entry(ctx, g.ID, cursor)
}

// SaveCursor keeps that a device has received everything up to cursor.
func (g *Gateway) SaveCursor(ctx context.Context, device string, cursor int64) error {
	return g.hub.cfg.Store.SetDeviceCursor(ctx, g.ID, device, cursor)
}
