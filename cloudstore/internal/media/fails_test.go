package media_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// failure is that of one call of the rows or the bucket.
type failure struct {
	media.Rows
	media.Bucket
	mu   sync.Mutex
	left int  // calls until it
	came bool // it has come
	done bool // the medium was complete by then: what is left is tidied up by others
}

// fails counts a call, and says whether it is the one.
func (f *failure) fails() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return nil
	}
	if f.left--; f.left != 0 {
		return nil
	}
	f.came = true
	return errBroken
}

func call[T any](f *failure, do func() (T, error)) (T, error) {
	if err := f.fails(); err != nil {
		var none T
		return none, err
	}
	return do()
}

func (f *failure) UploadRows(ctx context.Context, g, key string) ([]media.Row, error) {
	return call(f, func() ([]media.Row, error) { return f.Rows.UploadRows(ctx, g, key) })
}

func (f *failure) UnfinishedRows(ctx context.Context, g string) ([]media.Row, error) {
	return call(f, func() ([]media.Row, error) { return f.Rows.UnfinishedRows(ctx, g) })
}

func (f *failure) ExpiredRows(ctx context.Context, g string, now time.Time) ([]media.Row, error) {
	return call(f, func() ([]media.Row, error) { return f.Rows.ExpiredRows(ctx, g, now) })
}

func (f *failure) CreateMediaRow(ctx context.Context, g string, r media.Row) (any, error) {
	return call(f, func() (any, error) { return f.Rows.CreateMediaRow(ctx, g, r) })
}

func (f *failure) ReplaceMediaRow(ctx context.Context, g string, r media.Row) (any, error) {
	version, err := call(f, func() (any, error) { return f.Rows.ReplaceMediaRow(ctx, g, r) })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = f.done || err == nil && r.Ready && r.Key != ""
	return version, err
}

func (f *failure) ReviewRows(ctx context.Context, g string, now time.Time) ([]media.Row, error) {
	return call(f, func() ([]media.Row, error) { return f.Rows.ReviewRows(ctx, g, now) })
}

func (f *failure) DeleteMediaRow(ctx context.Context, g string, r media.Row) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Rows.DeleteMediaRow(ctx, g, r)
}

func (f *failure) MediaBytes(ctx context.Context, g string) (int64, error) {
	return call(f, func() (int64, error) { return f.Rows.MediaBytes(ctx, g) })
}

func (f *failure) Read(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	return call(f, func() (io.ReadCloser, error) { return f.Bucket.Read(ctx, name, offset, length) })
}

func (f *failure) List(ctx context.Context, prefix string) ([]media.Object, error) {
	return call(f, func() ([]media.Object, error) { return f.Bucket.List(ctx, prefix) })
}

func (f *failure) Keep(ctx context.Context, name string, expires time.Time) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Bucket.Keep(ctx, name, expires)
}

func (f *failure) Compose(ctx context.Context, name string, parts []string, expires time.Time) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Bucket.Compose(ctx, name, parts, expires)
}

func (f *failure) Delete(ctx context.Context, name string) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Bucket.Delete(ctx, name)
}

// TestEachCallFails: whichever call of the store fails, whoever uploads is told, and
// who tries again gets what there is to get; nothing is left behind.
func TestEachCallFails(t *testing.T) {
	t.Parallel()
	b := bytesOf(media.PartSize + 400_000)
	cut := func(t *testing.T, s *memstore.Store) {
		u := begin(t, s, len(b))
		if err := send(u, b[:media.PartSize+300_000]); err != nil {
			t.Fatal(err)
		}
		if err := u.Suspend(); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		before func(t *testing.T, s *memstore.Store)
		resume bool
		want   int // calls at least
	}{
		"the first":             {func(*testing.T, *memstore.Store) {}, true, 6},
		"one that goes on":      {cut, true, 7},
		"one that begins again": {cut, false, 11},
		"one that takes the name of another": {func(t *testing.T, s *memstore.Store) {
			finish(t, s, begin(t, s, 10), b[:10])
		}, false, 7},
		"one behind others that have expired": {func(t *testing.T, s *memstore.Store) {
			s.Retention = time.Hour
			finish(t, s, begin(t, s, 10), b[:10])
			cut(t, s)
			now := time.Now().Add(iris.UploadLifetime + time.Minute)
			s.Now = func() time.Time { return now }
		}, false, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 1
			for ; fails(t, n, b, c.before, c.resume); n++ {
			}
			if n <= c.want {
				t.Errorf("%d calls, want %d or more", n-1, c.want)
			}
		})
	}
}

// fails uploads b while the n-th call of the store fails, and reports whether there
// were so many; then it tries again.
func fails(t *testing.T, n int, b []byte, before func(*testing.T, *memstore.Store), resume bool) bool {
	t.Helper()
	s := newStore(t)
	before(t, s)
	f := &failure{Rows: s.Rows, Bucket: s.Bucket, left: n}
	s.Rows, s.Bucket = f, f
	m := iris.Media{Size: int64(len(b))}
	u, err := s.BeginUpload(t.Context(), gateway, "key", m, resume)
	if err == nil {
		if err = send(u, b[u.Offset():]); err == nil {
			_, err = u.Finish(t.Context(), hashOf(b))
		}
		if err != nil {
			_ = u.Suspend()
		}
	}
	if !f.came {
		if err != nil {
			t.Errorf("call %d: %v", n, err)
		}
		return false
	}
	if !errors.Is(err, errBroken) {
		t.Errorf("call %d fails, told is %v", n, err)
	}
	s.Rows, s.Bucket = f.Rows, f.Bucket
	later := s.Now().Add(2 * time.Minute) // who was removing something has certainly given up
	s.Now = func() time.Time { return later }
	u, err = s.BeginUpload(t.Context(), gateway, "key", m, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Write(b[u.Offset():]); err != nil {
		t.Fatal(err)
	}
	got, err := u.Finish(t.Context(), hashOf(b))
	if err != nil {
		t.Fatal(err)
	}
	if named, err := s.UploadedMedia(t.Context(), gateway, "key"); err != nil || named.ID != got.ID {
		t.Errorf("call %d failed: the key names %+v, %v; want %s", n, named, err, got.ID)
	}
	if waiting, err := s.Rows.UnfinishedRows(t.Context(), gateway); err != nil || len(waiting) > 0 {
		t.Errorf("call %d failed: %v wait, %v", n, waiting, err)
	}
	return true
}
