package simtest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
)

const (
	gatewayID = "g"
	hostToken = secret + "host"
)

// world is one history: the shared store, the instances, and everybody who
// talks to them. Its mutex guards what the checks know: the log and what each
// device and host has seen. Nobody waits for anything while holding it.
type world struct {
	t     *testing.T
	plan  plan
	base  *memstore.Store
	begin time.Time
	tasks sync.WaitGroup

	mu        sync.Mutex
	log       logbook
	instances []*instance
	all       []*instance // those that were replaced too
	devices   []*device
	host      *host
	broken    error // the first promise that was not kept
	trace     []string
	made      int // instances so far
	texts     int // messages so far
	dice      *rand.Rand
	calmed    bool // no more faults
	plain     bool // there are none from the beginning
	steady    bool // and one instance
	over      bool
	hostAway  time.Time // it does not dial before
}

// spawn runs f beside the history, which waits for it in the end.
func (w *world) spawn(f func()) { w.tasks.Go(f) }

// failf notes a broken promise. Call with w.mu held.
func (w *world) failf(format string, args ...any) {
	err := fmt.Errorf("%v: "+format, append([]any{time.Since(w.begin)}, args...)...)
	w.notef("BROKEN %v", err)
	if w.broken == nil {
		w.broken = err
	}
}

// notef adds a line to the trace. Call with w.mu held.
func (w *world) notef(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%12v ", time.Since(w.begin))+fmt.Sprintf(format, args...))
}

func (w *world) lockedNote(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notef(format, args...)
}

// instance is a gateway process.
type instance struct {
	world  *world
	name   string
	store  *flaky
	server *handlers.Server

	mu    sync.Mutex
	dead  bool
	wires map[*wire]bool
	calls sync.WaitGroup // of the handlers
}

// start makes an instance in place of the one at index i.
func (w *world) start(i int) *instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	in := &instance{world: w, name: fmt.Sprintf("i%d.%d", i, w.made), wires: map[*wire]bool{}}
	in.store = newFlaky(w, w.plan.Seed+uint64(w.made), w.plan.Rates)
	log := newLog(w, in.name)
	h := hub.New(hub.Config{Store: in.store, LogEntries: w.plan.Ring, Log: log})
	in.server = handlers.New(handlers.Config{Store: in.store, Hub: h, AdminToken: secret + "operator", MaxSockets: 100, Log: log})
	w.instances[i] = in
	w.all = append(w.all, in)
	return in
}

func (w *world) at(i int) *instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.instances[i%len(w.instances)]
}

func (in *instance) frozen() time.Time { return in.store.frozenUntil() }

// enter counts a connection; it is refused by an instance that has crashed.
func (in *instance) enter(w *wire) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.dead {
		return false
	}
	in.wires[w] = true
	in.calls.Add(1)
	return true
}

func (in *instance) leave(w *wire) {
	in.mu.Lock()
	delete(in.wires, w)
	in.mu.Unlock()
	in.calls.Done()
}

// crash stops the instance dead: nothing that it does has any effect from now
// on, but for commits that are under way already.
func (in *instance) crash() {
	in.mu.Lock()
	in.dead = true
	wires := slices.Collect(maps.Keys(in.wires))
	in.mu.Unlock()
	close(in.store.gone)
	for _, w := range wires {
		w.breakUp()
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	in.world.spawn(func() { // its remains, so that no goroutine is left
		_ = in.server.Drain(ended)
		in.calls.Wait()
	})
}

// drain ends the instance as SIGTERM does, and starts another in its place.
func (w *world) drain(i int) {
	old := w.at(i)
	w.start(i)
	w.spawn(func() { old.drain() })
}

func (in *instance) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	if err := in.server.Drain(ctx); err != nil {
		in.world.lockedNote("%s: drain: %v", in.name, err)
	}
	in.mu.Lock()
	in.dead = true // nobody enters while the last ones are waited for
	in.mu.Unlock()
	in.calls.Wait()
}

// found makes the gateway, its host's token and the tokens of its devices.
func (w *world) found() {
	ctx := context.Background()
	err := w.base.CreateGateway(ctx, iris.Gateway{ID: gatewayID, Name: "home", DefaultChat: iris.DefaultChat, HostToken: iris.HashToken(hostToken)},
		iris.Token{Hash: iris.HashToken(hostToken), Kind: iris.TokenHost, Gateway: gatewayID})
	for _, d := range w.devices {
		if err == nil {
			err = w.base.CreateToken(ctx, iris.Token{
				Hash: iris.HashToken(d.token()), Kind: iris.TokenDevice, Gateway: gatewayID, Expires: time.Now().Add(time.Hour),
			})
		}
	}
	if err == nil {
		w.log.entries, err = w.base.Entries(ctx, gatewayID, 0, 1)
	}
	if err != nil {
		w.failf("found the gateway: %v", err)
	}
}
