package simtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// rates says how often, of a thousand calls, a fault happens.
type rates struct {
	LostAfter  int // the commit lands, its answer is lost
	LostBefore int // neither the commit nor an answer arrives
	Late       int // no answer, and the commit arrives some time later
	Echo       int // the commit lands, the client repeats it by itself: refused
	Slow       int // an answer takes long, perhaps longer than anyone waits
	Read       int // a read fails
	Listen     int // a snapshot is delayed, doubled or cut
}

// poison in a message makes the database reject every commit that holds it.
const poison = secret + "poison"

// errFault is what a failing read returns.
var errFault = errors.New("store is not reachable")

// flaky is one instance's view of the shared store, with the faults of a real
// database and of the network in front of it.
type flaky struct {
	*memstore.Store
	world *world
	gone  chan struct{} // closed when the instance has crashed

	mu     sync.Mutex
	dice   *rand.Rand
	rates  rates
	frozen time.Time // calls take no step before this time
}

func newFlaky(w *world, seed uint64, r rates) *flaky {
	return &flaky{Store: w.base, world: w, gone: make(chan struct{}), dice: rand.New(rand.NewPCG(seed, 1)), rates: r}
}

// chance throws the dice: whether something happens n times of a thousand.
func (s *flaky) chance(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dice.IntN(1000) < n
}

// between returns a random duration.
func (s *flaky) between(min, max time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min + time.Duration(s.dice.Int64N(int64(max-min)))
}

func (s *flaky) faults() rates {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rates
}

func (s *flaky) setRates(r rates) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rates = r
}

func (s *flaky) freeze(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = until
}

func (s *flaky) frozenUntil() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frozen
}

// travel is the way to the database or back. It fails when nobody waits any
// more, or the instance is gone.
func (s *flaky) travel(ctx context.Context) error {
	d := s.between(100*time.Microsecond, 20*time.Millisecond)
	if s.chance(s.faults().Slow) {
		d = s.between(50*time.Millisecond, 12*time.Second)
	}
	for d > 0 {
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-s.gone:
			t.Stop()
			return errFault
		}
		d = time.Until(s.frozenUntil())
	}
	return nil
}

// read is the way of a read that may fail.
func (s *flaky) read(ctx context.Context) error {
	if err := s.travel(ctx); err != nil {
		return err
	}
	if s.chance(s.faults().Read) {
		return errFault
	}
	return nil
}

// Append commits, or does not, or does and does not say so.
func (s *flaky) Append(ctx context.Context, g string, c iris.Commit) error {
	noAnswer := func(err error) error {
		if s.chance(500) {
			return err // a bare error
		}
		return fmt.Errorf("%w: %w", iris.ErrNoAnswer, err)
	}
	if err := s.travel(ctx); err != nil {
		s.late(g, c, err)
		return noAnswer(err)
	}
	r := s.faults()
	switch {
	case s.chance(r.LostBefore):
		return noAnswer(context.DeadlineExceeded)
	case s.chance(r.Late):
		s.late(g, c, nil)
		return noAnswer(context.DeadlineExceeded)
	}
	err := s.world.append(g, c)
	if err == nil && s.chance(r.Echo) {
		err = s.world.append(g, c) // what the generated client does after Unavailable
	}
	if back := s.travel(ctx); back != nil {
		return noAnswer(back)
	}
	if s.chance(r.LostAfter) {
		return noAnswer(context.DeadlineExceeded)
	}
	return err
}

// late lets a commit arrive after everybody has stopped waiting for it: always
// when it was only late, often when its sender was cut off.
func (s *flaky) late(g string, c iris.Commit, cut error) {
	if cut != nil && s.chance(500) {
		return
	}
	wait := s.between(time.Millisecond, 3*time.Second)
	s.world.spawn(func() {
		time.Sleep(wait)
		_ = s.world.append(g, c) // nobody is told
	})
}

// Follow listens: snapshots may come late or twice, and end in the middle.
func (s *flaky) Follow(ctx context.Context, g string, after int64, writer string, deliver func([]iris.Entry)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.untilGone(ctx, cancel)
	var cut error
	err := s.Store.Follow(ctx, g, after, writer, func(entries []iris.Entry) {
		if cut != nil || s.travel(ctx) != nil {
			return
		}
		switch n := s.faults().Listen; {
		case s.chance(n):
			_ = s.wait(ctx, s.between(time.Millisecond, 4*time.Second))
			deliver(entries)
		case s.chance(n):
			deliver(entries)
			deliver(entries)
		case s.chance(n):
			deliver(entries[:s.pick(len(entries))])
			cut = errFault
			cancel()
		default:
			deliver(entries)
		}
	})
	if cut != nil {
		return cut
	}
	return err
}

// FollowLive listens to the live documents, with the same faults.
func (s *flaky) FollowLive(ctx context.Context, g string, deliver func([]iris.Live)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.untilGone(ctx, cancel)
	return s.Store.FollowLive(ctx, g, func(lives []iris.Live) {
		if s.travel(ctx) != nil {
			return
		}
		if s.chance(s.faults().Listen) {
			_ = s.wait(ctx, s.between(time.Millisecond, 4*time.Second))
		}
		deliver(lives)
	})
}

// untilGone ends a listener with its instance.
func (s *flaky) untilGone(ctx context.Context, cancel func()) {
	s.world.spawn(func() {
		select {
		case <-s.gone:
			cancel()
		case <-ctx.Done():
		}
	})
}

func (s *flaky) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.gone:
		return errFault
	}
}

func (s *flaky) pick(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dice.IntN(n)
}

// poisoned reports whether the database rejects a commit.
func poisoned(c iris.Commit) bool {
	for _, ch := range c.Changes {
		if m, ok := ch.(iris.CreateMessage); ok && strings.Contains(m.Message.Text, poison) {
			return true
		}
	}
	return false
}
