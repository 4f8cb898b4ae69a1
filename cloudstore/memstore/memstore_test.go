package memstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/cloudstore/storetest"
	"iris-gateway/iris"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Store { return memstore.New() })
}

func TestMediaContract(t *testing.T) {
	storetest.RunMedia(t, func(*testing.T) (storetest.MediaStore, *media.Library, storetest.Objects) {
		s := memstore.New()
		s.Limits = storetest.Limits
		return s, s.Library, storetest.Objects{All: s.Objects, Lasting: s.Lasting}
	})
}

func TestRetention(t *testing.T) {
	storetest.RunRetention(t, func(_ *testing.T, keep time.Duration) (storetest.MediaStore, storetest.Objects) {
		s := memstore.New()
		s.Limits, s.Retention = storetest.Limits, keep
		return s, storetest.Objects{All: s.Objects, Lasting: s.Lasting}
	})
}

// The simulations run in bubbles: a follower must count as blocked, time must
// be the bubble's, and nothing may stay behind.
func TestInBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		start := time.Now()
		time.Sleep(time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		var got []iris.Entry
		done := make(chan error)
		go func() {
			done <- s.Follow(ctx, "g", 0, "mine", func(e []iris.Entry) { got = append(got, e...) })
		}()
		synctest.Wait()
		for c := int64(1); c <= 2; c++ {
			if err := s.Append(ctx, "g", iris.Commit{Entry: iris.Entry{Cursor: c, Writer: "other"}}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if len(got) != 2 || !got[0].At.Equal(start.Add(time.Hour)) {
			t.Fatalf("got %v, want two entries of %v", got, start.Add(time.Hour))
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestClock(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	if err := s.Append(t.Context(), "g", iris.Commit{Entry: iris.Entry{Cursor: 1}}); err != nil {
		t.Fatal(err)
	}
	e, _, _ := s.Entry(t.Context(), "g", 1)
	if !e.At.Equal(now) {
		t.Fatalf("entry of %v, want %v", e.At, now)
	}
}

func BenchmarkAppend(b *testing.B) {
	s := memstore.New()
	for n := int64(1); b.Loop(); n++ {
		c := iris.Commit{Entry: iris.Entry{Cursor: n, Writer: "w", Frames: []string{"{}"}}}
		if n > 2048 {
			c.Drop = []int64{n - 2048}
		}
		if err := s.Append(b.Context(), "g", c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	storetest.BenchmarkSearch(b, memstore.New(), 100_000, func() int64 { return 0 })
}
