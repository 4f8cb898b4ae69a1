package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/testenv"
)

// scenario is a run of the chaos.
type scenario struct {
	instances, phones int
	logEntries        int
	restarts          bool     // the host's process and disk die too
	env               []string // settings of the instances beside the usual ones
}

// TestTwoInstances keeps one host process: its events must come out exactly.
func TestTwoInstances(t *testing.T) {
	unleash(t, scenario{instances: 2, phones: 5, logEntries: 32})
}

// TestThreeInstances has a smaller ring, and a host that dies too.
func TestThreeInstances(t *testing.T) {
	unleash(t, scenario{instances: 3, phones: 7, logEntries: 16, restarts: true})
}

// world is everything of a run.
type world struct {
	scenario
	t         testing.TB
	seed      uint64
	streams   uint64
	gateway   string
	emulator  testenv.Emulator
	store     *cloudstore.Store
	observer  *observer
	instances []*instance
	phones    []*phone
	host      *host
	count     counts
	numbers   numbers
}

// settleTime is how long everybody may take to come to rest once all is healed.
const settleTime = 60 * time.Second

func unleash(t *testing.T, sc scenario) {
	w := build(t, sc)
	torment := *chaosTime / 2
	ctx, cancel := context.WithTimeout(t.Context(), torment+startLimit+2*settleTime)
	defer cancel()
	calm := make(chan struct{})
	var tormentors, clients, watching sync.WaitGroup
	defer func() { cancel(); tormentors.Wait(); clients.Wait(); watching.Wait() }()
	watching.Go(func() { w.observer.run(ctx) })
	for _, in := range w.instances {
		watching.Go(func() { w.numbers.watch(ctx, in) })
	}
	clients.Go(func() { w.host.run(ctx, calm) })
	clients.Go(func() { w.host.work(ctx, calm) })
	for _, p := range w.phones {
		tormentors.Go(func() { p.run(ctx, calm) })
	}
	for _, in := range w.instances {
		x := &tormentor{in: in, rng: w.rng(), calm: calm, count: &w.count}
		tormentors.Go(x.run)
	}
	wait(ctx.Done(), torment)
	close(calm)
	tormentors.Wait()
	w.settle(ctx)
	for _, p := range w.phones {
		if err := p.finish(ctx, w.observer.head()); err != nil {
			t.Error(err)
		}
	}
	cancel()
	clients.Wait()
	watching.Wait()
	w.stop()
	w.judge(torment)
}

// rng returns the next stream of random numbers of the seed.
func (w *world) rng() *rand.Rand {
	w.streams++
	return rand.New(rand.NewPCG(w.seed, w.streams))
}

func build(t *testing.T, sc scenario) *world {
	emu := testenv.Firestore(t)
	w := &world{scenario: sc, t: t, seed: *chaosSeed, count: counts{n: map[string]int{}}, numbers: numbers{last: map[string]map[string]float64{}}}
	if w.seed == 0 {
		w.seed = rand.Uint64()
	}
	t.Logf("seed %d (replay, approximately: go test ./chaos -run %s -chaos.seed=%d -chaos.time=%v)", w.seed, t.Name(), w.seed, *chaosTime)
	store, err := cloudstore.Open(context.WithoutCancel(t.Context()), cloudstore.Config{Project: emu.Project, MaxSockets: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w.store = store
	w.emulator = emu
	for range sc.instances {
		w.launch()
	}
	var made struct {
		ID    string `json:"gateway_id"`
		Token string `json:"host_token"`
	}
	w.instances[0].admin(http.MethodPost, "/admin/gateways", `{"name":"home"}`, &made)
	w.gateway = made.ID
	w.observer = &observer{t: t, store: store, gateway: made.ID}
	w.host = newHost(t, made.Token, w.instances, w.rng(), w.rng(), sc.restarts)
	for i := range sc.phones {
		var pair struct{ Token string }
		w.instances[0].admin(http.MethodPost, "/admin/gateways/"+made.ID+"/devices", `{"name":"phone"}`, &pair)
		w.phones = append(w.phones, newPhone(t, fmt.Sprint("phone-", i), pair.Token, w.instances, w.rng()))
	}
	return w
}

// launch starts one more instance.
func (w *world) launch() *instance {
	w.t.Helper()
	in := newInstance(w.t, fmt.Sprint("instance-", len(w.instances)), w.emulator, w.logEntries)
	in.env = append(in.env, w.env...) // of two the last one counts
	if err := in.start(); err != nil {
		w.t.Fatal(err)
	}
	w.instances = append(w.instances, in)
	return in
}

// settle waits until the host has done everything and each letter has its
// receipt.
func (w *world) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	letters := 0
	for _, p := range w.phones {
		letters += len(p.letters)
	}
	for wait(ctx.Done(), 100*time.Millisecond) {
		if w.host.idle() && w.receipts() >= letters {
			return
		}
	}
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	w.t.Errorf("not settled after %v: the host has %d messages, %d events to send, turn %v, online %v, received %d, told %d; %d receipts of %d letters",
		settleTime, len(w.host.queue), len(w.host.items), w.host.turn, w.host.online, w.host.received, w.host.told, w.receipts(), letters)
}

func (w *world) receipts() int {
	n := 0
	for _, e := range w.observer.log() {
		for _, f := range e.Frames {
			if f, err := parseFrame([]byte(f)); err == nil && f.Type == "read.receipt" {
				n++
			}
		}
	}
	return n
}

// stop ends all instances at once, as a deployment does.
func (w *world) stop() {
	var ending sync.WaitGroup
	for _, in := range w.instances {
		if in.alive() {
			ending.Go(func() { in.terminate(true) })
		}
	}
	ending.Wait()
}

// judge compares what everybody has seen with the log.
func (w *world) judge(torment time.Duration) {
	ctx := context.WithoutCancel(w.t.Context())
	if err := w.observer.read(ctx); err != nil {
		w.t.Fatal(err)
	}
	r := newRecord(w.t, w.observer.log())
	if r.head() == 0 {
		w.t.Fatal("the log is empty")
	}
	r.checkChain(int64(w.logEntries))
	r.checkStored(ctx, w.store, w.gateway)
	r.checkEvents(w.host)
	r.checkInbound(w.host)
	r.checkLetters(w.phones)
	for _, p := range w.phones {
		d, err := w.store.Device(ctx, w.gateway, p.id)
		if err != nil {
			w.t.Error(err)
			continue
		}
		r.checkPhone(p, d.Cursor)
	}
	w.report(r, torment)
}

// report says what has happened.
func (w *world) report(r *record, torment time.Duration) {
	letters, again, refused, visits, frames := 0, 0, 0, 0, 0
	for _, p := range w.phones {
		letters, again, refused, visits = letters+len(p.letters), again+p.again, refused+p.refused, visits+len(p.visits)
		for _, v := range p.visits {
			frames += len(v.frames)
		}
	}
	w.t.Logf("%v: %d entries, first %d; %d host events, %d links, %d deaths; %d letters, %d sent again, %d refused; %d visits, %d frames",
		torment, r.head(), r.entries[r.head()-1].First, len(w.host.plans), w.host.links, w.host.deaths, letters, again, refused, visits, frames)
	w.t.Logf("the instances counted %s", &w.numbers)
	w.t.Logf("done to them: %s", &w.count)
	if w.t.Failed() {
		var b []byte
		for _, e := range r.entries {
			b = fmt.Appendf(b, "%+v\n", e)
		}
		keep(w.t, "log.txt", b)
		keep(w.t, "host.txt", w.host.diary)
	}
}
