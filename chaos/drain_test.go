package chaos

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/wire"
)

// TestDrain ends an instance in the middle of traffic, as Cloud Run does: its
// devices hear "restarting" and 1001, the host 1001, what was committed stays,
// what was not answered lands once on the next instance.
func TestDrain(t *testing.T) {
	w := build(t, scenario{instances: 2, phones: 4, logEntries: 256})
	ctx, cancel := context.WithTimeout(t.Context(), 2*settleTime)
	defer cancel()
	leaving, next := w.instances[0], w.instances[1]
	calm := make(chan struct{})
	close(calm) // nobody leaves by himself
	var clients, visits, watching sync.WaitGroup
	defer func() { cancel(); clients.Wait(); visits.Wait(); watching.Wait() }()
	watching.Go(func() { w.observer.run(ctx) })
	w.host.instances = []*instance{leaving}
	clients.Go(func() { w.host.work(ctx, calm) })
	hostEnds := make(chan struct{})
	clients.Go(func() {
		w.host.connect(ctx, calm)
		close(hostEnds)
		w.host.instances = []*instance{next}
		w.host.run(ctx, calm)
	})
	for _, p := range w.phones {
		p.instances = []*instance{leaving}
		visits.Go(func() { p.chatter(ctx) })
	}
	wait(ctx.Done(), between(w.rng(), 1500*time.Millisecond, 2500*time.Millisecond))
	before := w.observer.head()
	leaving.terminate(true)
	visits.Wait()
	<-hostEnds
	t.Logf("%d entries before, %d after the drain", before, w.observer.head())
	for _, p := range w.phones {
		p.checkDrained()
		p.instances = []*instance{next}
		visits.Go(func() { p.run(ctx, calm) })
	}
	visits.Wait()
	w.settle(ctx)
	for _, p := range w.phones {
		if err := p.finish(ctx, w.observer.head()); err != nil {
			t.Error(err)
		}
	}
	cancel()
	clients.Wait()
	watching.Wait()
	next.terminate(true)
	w.judge(0)
}

// chatter sends letters without waiting for answers, until the connection ends.
func (p *phone) chatter(ctx context.Context) {
	s, v := p.enter(ctx)
	if s == nil {
		p.t.Errorf("%s cannot connect", p.id)
		return
	}
	p.await(ctx, v, 10*time.Second, func() bool { return v.acked })
	p.sync(s, v, false)
	for i := range 400 {
		p.mu.Lock()
		l := p.newLetter(i)
		p.mu.Unlock()
		if !p.write(s, v, l) {
			break
		}
		wait(ctx.Done(), between(p.rng, 0, 150*time.Millisecond))
	}
	p.await(ctx, v, 10*time.Second, func() bool { return false })
	p.readers.Wait()
}

// checkDrained looks at how the visit ended.
func (p *phone) checkDrained() {
	v := p.visits[0]
	if code := websocket.CloseStatus(v.ended); code != wire.CloseGoingAway {
		p.t.Errorf("%s was closed with %d (%v), want 1001", p.id, code, v.ended)
	}
	var last wire.State
	answers := 0
	for _, f := range v.frames {
		if f.Type == "status" {
			s, _ := decode[wire.Status](f)
			last = s.State
		}
		if f.Type == "message" && f.ID != "" {
			answers++
		}
	}
	if last != wire.StateRestarting {
		p.t.Errorf("%s heard status %q last, want restarting", p.id, last)
	}
	p.t.Logf("%s: %d of %d letters were answered before the end", p.id, answers, len(p.letters))
}

// TestRefusesWhileDraining: a leaving instance takes nobody in.
func TestRefusesWhileDraining(t *testing.T) {
	w := build(t, scenario{instances: 1, phones: 1, logEntries: 64})
	in := w.instances[0]
	s, err := dial(t.Context(), in, "/ws", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.CloseNow()
	in.front.fail(up, hold) // a client that does not answer the close frame keeps the drain busy
	go func() { time.Sleep(2 * time.Second); in.front.heal() }()
	done := make(chan struct{})
	direct := "http://" + in.front.target
	go func() { defer close(done); in.terminate(true) }()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	refused := 0
	for !closed(done) {
		res, err := client.Get(direct + "/ready")
		if err == nil {
			res.Body.Close()
		}
		if err == nil && res.StatusCode == http.StatusServiceUnavailable {
			refused++
			if s, err := dial(t.Context(), in, "/ws", ""); err == nil {
				s.CloseNow()
				t.Error("a leaving instance accepted a socket")
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	<-done
	if refused == 0 {
		t.Error("nobody saw the instance leave")
	}
}
