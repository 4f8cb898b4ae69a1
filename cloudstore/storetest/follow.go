package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"iris-gateway/iris"
)

// patience bounds each wait for a listener: generous, since a loaded machine
// must not fail a test, and never waited for when all is well.
const patience = 30 * time.Second

// follower collects what Follow delivers.
type follower struct {
	t    testing.TB
	got  chan iris.Entry
	done chan error
	stop context.CancelFunc
}

// follow starts Follow in its own goroutine, which is waited for at the end.
func (f *fixture) follow(after int64, writer string) *follower {
	ctx, cancel := context.WithCancel(f.ctx)
	w := &follower{t: f.T, got: make(chan iris.Entry, 1000), done: make(chan error, 1), stop: cancel}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.done <- f.Follow(ctx, f.g, after, writer, func(entries []iris.Entry) {
			for _, e := range entries {
				w.got <- e
			}
		})
	}()
	f.Cleanup(func() { cancel(); <-ended })
	return w
}

// want waits for exactly these cursors, in this order.
func (w *follower) want(cursors ...int64) {
	w.t.Helper()
	late := time.After(patience)
	for _, c := range cursors {
		select {
		case e := <-w.got:
			if e.Cursor != c {
				w.t.Fatalf("delivered %d, want %d", e.Cursor, c)
			}
		case <-late:
			w.t.Fatalf("entry %d was not delivered", c)
		}
	}
}

// end waits until Follow has returned, and fails unless it returned nil.
func (w *follower) end() {
	w.t.Helper()
	select {
	case err := <-w.done:
		noError(w.t, err)
	case <-time.After(patience):
		w.t.Fatal("Follow did not return")
	}
}

// "cursor > known, writer != mine, ordered by cursor".
func testFollow(f *fixture) {
	w := f.follow(0, "mine")
	f.append(1, 1, "other")
	w.want(1)
	f.append(2, 3, "mine")
	f.append(4, 4, "other")
	f.append(5, 5, "third")
	w.want(4, 5)
	full := fullEntry(6)
	noError(f.T, f.Append(f.ctx, f.g, iris.Commit{Entry: full}))
	select {
	case got := <-w.got:
		want, _, err := f.Entry(f.ctx, f.g, 6)
		noError(f.T, err)
		equal(f, "delivered entry", got, want)
	case <-time.After(patience):
		f.Fatal("entry 6 was not delivered")
	}
	noError(f.T, f.Append(f.ctx, f.g+"x", entry(1, "other"))) // another gateway's
	f.append(7, 7, "other")
	w.want(7)
}

func testFollowResumes(f *fixture) {
	f.append(1, 6, "other")
	w := f.follow(4, "mine")
	w.want(5, 6)
	f.append(7, 7, "other")
	w.want(7)
	// From ahead of the log, as after a commit of one's own.
	w = f.follow(8, "mine")
	f.append(8, 9, "other")
	w.want(9)
}

// "Only added changes count (a scrub is a change too)", and a guard is one.
func testFollowOnlyAdded(f *fixture) {
	f.append(1, 3, "other")
	w := f.follow(0, "mine")
	w.want(1, 2, 3)
	c := entry(4, "other")
	c.Guard = 2
	noError(f.T, f.Append(f.ctx, f.g, c))
	c = entry(5, "other")
	c.Drop = []int64{1}
	noError(f.T, f.Append(f.ctx, f.g, c))
	w.want(4, 5)
	// The guard of an entry of mine brings it to nobody.
	f.append(6, 6, "mine")
	c = entry(7, "other")
	c.Guard = 6
	noError(f.T, f.Append(f.ctx, f.g, c))
	w.want(7)
	// Nor does that of one which came after the listening had begun.
	c = entry(8, "other")
	c.Guard = 7
	noError(f.T, f.Append(f.ctx, f.g, c))
	f.append(9, 9, "other") // a change of 7 would have come in front of it
	w.want(8, 9)
}

// "After every 128 entries, listen anew": Follow returns, and its caller goes on
// from what it knows without a loss.
func testFollowRelisten(f *fixture) {
	w := f.follow(0, "mine")
	f.append(1, 128, "other")
	w.want(seq(1, 128)...)
	w.end()
	f.append(129, 130, "other")
	w = f.follow(128, "mine")
	w.want(129, 130)
}

func testFollowEnds(f *fixture) {
	w := f.follow(0, "mine")
	f.append(1, 1, "other")
	w.want(1)
	w.stop()
	w.end()
	f.append(2, 2, "other")
	w = f.follow(1, "mine")
	w.want(2)
	w.stop()
	w.end()
	w = f.follow(0, "mine")
	w.stop() // before it has begun
	w.end()
	ctx, cancel := context.WithTimeout(f.ctx, 10*time.Millisecond)
	defer cancel()
	noError(f.T, f.Follow(ctx, f.g, 2, "mine", func(e []iris.Entry) { f.Errorf("delivered %v", cursorsOf(e)) }))
}

// Two instances: each sees what the other wrote.
func testFollowTwo(f *fixture) {
	a, b := f.follow(0, "a"), f.follow(0, "b")
	for c := int64(1); c <= 10; c++ {
		writer := "a"
		if c%2 == 0 {
			writer = "b"
		}
		noError(f.T, f.Append(f.ctx, f.g, entry(c, writer)))
	}
	a.want(2, 4, 6, 8, 10)
	b.want(1, 3, 5, 7, 9)
	equal(f, "left over", fmt.Sprint(len(a.got), len(b.got)), "0 0")
}
