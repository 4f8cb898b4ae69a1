package cloudstore_test

import (
	"log"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/storetest"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// Importing the Google packages starts one goroutine that nobody can stop.
func TestMain(m *testing.M) {
	if bucket := os.Getenv(envBare); bucket != "" {
		log.Fatal(serveBare(bucket))
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Store { return open(t) })
}

func TestMediaContract(t *testing.T) {
	storetest.RunMedia(t, func(t *testing.T) (storetest.MediaStore, *media.Library, storetest.Objects) {
		s, bucket := openMedia(t, 0)
		return s, s.Library, objectsOf(t, bucket)
	})
}

func TestRetention(t *testing.T) {
	storetest.RunRetention(t, func(t *testing.T, keep time.Duration) (storetest.MediaStore, storetest.Objects) {
		s, bucket := openMedia(t, keep)
		return s, objectsOf(t, bucket)
	})
}

func objectsOf(t *testing.T, bucket string) storetest.Objects {
	return storetest.Objects{
		All:     func() []string { return testenv.Objects(t, bucket) },
		Lasting: func() []string { return testenv.Lasting(t, bucket) },
	}
}

// openMedia returns a store with a bucket.
func openMedia(t *testing.T, keep time.Duration) (s *cloudstore.Store, bucket string) {
	t.Helper()
	bucket = testenv.Bucket(t)
	s, err := cloudstore.Open(t.Context(), cloudstore.Config{
		Project: testenv.Firestore(t).Project, MaxSockets: 1, Bucket: bucket, Media: storetest.Limits, Retention: keep,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, bucket
}

// open returns a store in a project of its own; its user closes it.
func open(t testing.TB) *cloudstore.Store {
	t.Helper()
	return openCounting(t, nil)
}

func openCounting(t testing.TB, count func(op cloudstore.Operation, purpose string, n int)) *cloudstore.Store {
	t.Helper()
	s, err := cloudstore.Open(t.Context(), cloudstore.Config{
		Project: testenv.Firestore(t).Project, MaxSockets: 1, Count: count,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The emulator needs minutes for a history of the length that memstore is
// measured with: IRIS_BENCH_MESSAGES says how long it is.
func BenchmarkSearch(b *testing.B) {
	messages := 2_000
	if n, err := strconv.Atoi(os.Getenv("IRIS_BENCH_MESSAGES")); err == nil {
		messages = n
	}
	var reads atomic.Int64 // TestSearchReads proves that it counts right
	s := openCounting(b, func(op cloudstore.Operation, _ string, n int) {
		if op == cloudstore.Read {
			reads.Add(int64(n))
		}
	})
	defer s.Close()
	storetest.BenchmarkSearch(b, s, messages, reads.Load)
}

// An append as in a running gateway: entry, message, busy, and the ring's drop.
func BenchmarkAppend(b *testing.B) {
	s := open(b)
	defer s.Close()
	lane := iris.Lane{ChatID: iris.DefaultChat}
	if err := s.CreateGateway(b.Context(), iris.Gateway{ID: "g"}, iris.Token{Hash: "h"}); err != nil {
		b.Fatal(err)
	}
	for n := int64(2); b.Loop(); n++ {
		c := iris.Commit{
			Entry: iris.Entry{Cursor: n, Writer: "w", Frames: []string{`{"type":"message"}`}},
			Changes: []iris.Change{
				iris.CreateMessage{Message: iris.Message{ID: iris.NewID("m_"), Lane: lane, Text: "hello"}},
				iris.SetBusy{Lane: lane, Turn: "t"},
			},
		}
		if n > 20 {
			c.Drop = []int64{n - 20}
		}
		if err := s.Append(b.Context(), "g", c); err != nil {
			b.Fatal(err)
		}
	}
}
