package chaos

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/wire"
)

// TestStaleAppender: a commit is held back in the network until the log has
// moved on by more than the ring keeps. It lands at the head or not at all
// (log.md, "Ring"), and the letter in it once.
func TestStaleAppender(t *testing.T) {
	w := build(t, scenario{instances: 2, phones: 2, logEntries: 16})
	ctx, cancel := context.WithTimeout(t.Context(), 2*settleTime)
	defer cancel()
	calm := make(chan struct{})
	close(calm)
	var clients sync.WaitGroup
	defer func() { cancel(); clients.Wait() }()
	stale, busy := w.phones[0], w.phones[1]
	stale.instances, busy.instances, w.host.instances = w.instances[:1], w.instances[1:], w.instances[1:]
	clients.Go(func() { w.observer.run(ctx) })
	clients.Go(func() { w.host.run(ctx, calm) })
	clients.Go(func() { w.host.work(ctx, calm) })
	s, v := stale.enter(ctx)
	if s == nil || !stale.post(ctx, s, v, 1) { // now its instance knows the log
		t.Fatal("the first letter was not answered")
	}
	w.instances[0].rear.fail(up, hold)
	wait(ctx.Done(), 10*look) // the observer may be behind
	held := w.observer.head()
	stale.mu.Lock()
	l := stale.newLetter(1)
	stale.mu.Unlock()
	stale.write(s, v, l)
	bs, bv := busy.enter(ctx)
	for bs != nil && w.observer.head() < held+24 && busy.post(ctx, bs, bv, 1) {
	}
	w.instances[0].rear.heal()
	t.Logf("held at %d, released at %d", held, w.observer.head())
	// Its instance may also say that it lost track: then the phone comes back.
	if !stale.await(ctx, v, settleTime, func() bool { return l.answered }) && websocket.CloseStatus(v.ended) != wire.CloseGoingAway {
		t.Errorf("the letter that was held back was not answered, and the connection not closed with 1001 (%v)", v.ended)
	}
	_ = s.CloseNow()
	_ = bs.CloseNow()
	stale.run(ctx, calm)
	busy.run(ctx, calm)
	w.settle(ctx)
	for _, p := range w.phones {
		if err := p.finish(ctx, w.observer.head()); err != nil {
			t.Error(err)
		}
	}
	cancel()
	clients.Wait()
	w.stop()
	w.judge(0)
}

// post sends letters, each when the one before was answered.
func (p *phone) post(ctx context.Context, s *socket, v *visit, n int) bool {
	ok := p.await(ctx, v, 10*time.Second, func() bool { return v.acked })
	for range n {
		p.mu.Lock()
		l := p.newLetter(len(p.letters))
		p.mu.Unlock()
		ok = ok && p.write(s, v, l) && p.await(ctx, v, 20*time.Second, func() bool { return l.answered })
	}
	return ok
}
