package simtest

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/testenv"
)

var (
	histories = flag.Int("sim.histories", 300, "histories that the simulation runs")
	planFile  = flag.String("sim.plan", "", "file with a plan to replay, as a failed test prints it")
	repeat    = flag.Int("sim.repeat", 20, "how often to replay the plan")
	traceFile = flag.String("sim.trace", "", "file for the trace of the last history that failed")
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := testenv.Looked(testenv.Simulated, looked()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}

// TestSimulation runs histories that rapid draws.
func TestSimulation(t *testing.T) {
	if *planFile != "" {
		replay(t)
		return
	}
	set(t, "rapid.checks", strconv.Itoa(*histories))
	set(t, "rapid.nofailfile", "true") // the plan is printed
	began := time.Now()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		p := draw(rt)
		n++
		if err := run(t, p); err != nil {
			rt.Fatalf("%v\nplan: %v", err, p)
		}
	})
	t.Logf("%d histories, %.0f a second", n, float64(n)/time.Since(began).Seconds())
}

func set(t *testing.T, name, value string) {
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}

// replay runs the plan of -sim.plan.
func replay(t *testing.T) {
	data, err := os.ReadFile(*planFile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := readPlan(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range *repeat {
		if err := run(t, p); err != nil {
			t.Errorf("run %d: %v", i, err)
			break
		}
	}
}

// run plays a history in a bubble of its own and returns the first promise
// that was broken.
func run(t *testing.T, p plan) error {
	var broken error
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, p)
		w.play()
		broken = w.broken
		if broken != nil && *traceFile != "" {
			if err := os.WriteFile(*traceFile, []byte(strings.Join(w.trace, "\n")), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	return broken
}

func newWorld(t *testing.T, p plan) *world {
	w := &world{t: t, plan: p, base: memstore.New(), begin: time.Now(), instances: make([]*instance, p.Instances)}
	w.plain = p.calm()
	w.steady = w.plain && p.Instances == 1
	w.dice = rand.New(rand.NewPCG(p.Seed, 0))
	w.host = newHost(w)
	for i := range p.Devices {
		w.devices = append(w.devices, newDevice(w, i))
	}
	w.found()
	for i := range w.instances {
		w.start(i)
	}
	return w
}

// play runs the steps, lets everything come to rest, and checks.
func (w *world) play() {
	w.spawn(w.keepConnected)
	for _, s := range w.plan.Steps {
		time.Sleep(time.Duration(s.Wait) * time.Millisecond)
		w.do(s)
	}
	w.calm()
	w.settle()
	w.mu.Lock()
	w.checkAll()
	w.over = true
	w.mu.Unlock()
	for i := range w.instances {
		w.at(i).drain()
	}
	w.tasks.Wait()
}

// do takes a step.
func (w *world) do(s step) {
	w.lockedNote("step %+v", s)
	d := w.devices[s.Who%len(w.devices)]
	switch s.Do {
	case "send":
		w.say(d, 1)
	case "burst":
		w.say(d, 5)
	case "poison":
		d.send(poison)
	case "step":
		w.host.step()
	case "steps":
		for range 1 + s.N {
			w.host.step()
		}
	case "notice":
		w.host.notice()
	case "notices":
		for range 4 {
			w.host.notice()
		}
	case "quiet":
		w.host.quiet()
	case "flood":
		w.say(d, 25)
	case "away": // the host, for some time
		w.mu.Lock()
		w.hostAway = time.Now().Add(time.Duration(5+5*s.N) * time.Second)
		for _, c := range w.host.conns {
			c.cut()
		}
		w.mu.Unlock()
	case "restart", "wipe":
		w.host.restart(s.Do == "wipe")
	case "crash":
		w.crash(s.Where % len(w.instances))
	case "drain":
		w.drain(s.Where % len(w.instances))
	case "freeze":
		w.at(s.Where).store.freeze(time.Now().Add(time.Duration(1+4*s.N) * time.Second))
	default:
		w.connections(s, d)
	}
}

// connections takes a step that is about connections.
func (w *world) connections(s step, d *device) {
	switch s.Do {
	case "device":
		d.connect(w.at(s.Where), s.N, w.latency())
	case "twice": // at the same moment, on one instance or on two
		d.connect(w.at(s.Where), s.N, w.latency())
		d.connect(w.at(s.Where+s.N), syncFromDone, w.latency())
	case "cut", "mute", "stall":
		w.mu.Lock()
		defer w.mu.Unlock()
		if c := d.current(); c != nil {
			switch s.Do {
			case "cut":
				c.wire.breakUp()
			case "mute":
				c.muted = true
				c.wire.mute()
			case "stall":
				c.stalled = time.Now().Add(time.Duration(1+5*s.N) * time.Second)
				c.wire.stall(c.stalled)
			}
		}
	case "host":
		w.host.connect(w.at(s.Where), w.latency())
	case "hostcut", "hostmute":
		w.mu.Lock()
		defer w.mu.Unlock()
		if c := w.host.current(); c != nil && c.wire != nil {
			if s.Do == "hostcut" {
				c.wire.breakUp()
			} else {
				c.muted, c.silent = true, true
				c.wire.mute()
			}
		}
	default:
		w.t.Fatalf("unknown step %q", s.Do)
	}
}

// say lets a person write n messages, each with a text of its own.
func (w *world) say(d *device, n int) {
	for range n {
		w.mu.Lock()
		w.texts++
		text := fmt.Sprintf("%stext %d.", secret, w.texts)
		w.mu.Unlock()
		d.send(text)
	}
}

func (w *world) crash(i int) {
	old := w.at(i)
	w.start(i)
	old.crash()
}

func (w *world) latency() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.dice.IntN(100)) * time.Millisecond
}

// pick returns a random number below n.
func (w *world) pick(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.IntN(n)
}

// keepConnected dials for everybody who has no connection, until the end.
func (w *world) keepConnected() {
	for {
		time.Sleep(700 * time.Millisecond)
		w.mu.Lock()
		over, calm := w.over, w.calmed
		var idle []*device
		for _, d := range w.devices {
			if !d.dialing() {
				idle = append(idle, d)
			}
		}
		hostIdle := !w.host.dialing() && time.Now().After(w.hostAway)
		w.mu.Unlock()
		if over {
			return
		}
		for _, d := range idle {
			mode := w.pick(syncModes)
			if calm {
				mode = syncFromDone
			}
			d.connect(w.at(w.pick(8)), mode, w.latency())
		}
		if hostIdle {
			w.host.connect(w.at(w.pick(8)), w.latency())
		}
	}
}

// dialing reports whether a device has a connection, or is about to. Call with
// the world's mutex held.
func (d *device) dialing() bool {
	for _, c := range d.conns {
		if !c.ended && !c.muted {
			return true
		}
	}
	return false
}

func (h *host) dialing() bool {
	for _, c := range h.conns {
		if !c.ended && !c.muted && c.epoch == h.epoch && c.process == h.process {
			return true
		}
	}
	return false
}

// calm ends all faults, lets the host come to its end, and has every device
// connect in a way that brings it everything.
func (w *world) calm() {
	w.mu.Lock()
	w.calmed, w.plan.Rates = true, rates{}
	instances := slices.Clone(w.all)
	w.mu.Unlock()
	for _, in := range instances {
		in.store.setRates(rates{})
	}
	w.host.finish()
	for _, d := range w.devices {
		d.connect(w.at(w.pick(8)), syncFromDone, w.latency())
	}
}

// syncAll lets the devices sync that had not meant to: their connection may be
// the one that is left. Call with w.mu held.
func (w *world) syncAll() {
	for _, d := range w.devices {
		if c := d.current(); c != nil && !c.check.live && len(c.check.asked) == 0 {
			c.sync(d.done)
		}
	}
}

// settle waits until nothing is missing any more, and some time beyond.
func (w *world) settle() {
	var missing error
	for range 150 {
		time.Sleep(time.Second)
		w.mu.Lock()
		w.syncAll()
		missing = w.missing()
		broken := w.broken
		w.mu.Unlock()
		if broken != nil {
			return
		}
		if missing == nil {
			time.Sleep(13 * time.Second) // what was slow has arrived by then
			w.mu.Lock()
			if c := w.host.current(); c != nil { // a host that attaches removes what crashes have left
				c.cut()
			}
			w.mu.Unlock()
			time.Sleep(12 * time.Second) // receipts are saved every 5 s
			w.mu.Lock()
			missing = w.missing()
			w.mu.Unlock()
			if missing == nil {
				return
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failf("%w", errors.Join(errors.New("it does not come to rest"), missing))
}
