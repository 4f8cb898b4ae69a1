package media_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/cloudstore/storetest"
	"iris-gateway/iris"
)

const gateway = "g"

// newStore returns a store with the gateway in it.
func newStore(t *testing.T) *memstore.Store {
	t.Helper()
	s := memstore.New()
	if err := s.CreateGateway(t.Context(), iris.Gateway{ID: gateway}, iris.Token{Hash: "h"}); err != nil {
		t.Fatal(err)
	}
	s.Now = storetest.Hasty(s.Now)
	return s
}

// send writes in pieces as they come from a socket.
func send(u io.Writer, b []byte) error {
	for piece := range slices.Chunk(b, 64<<10) {
		if _, err := u.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

func bytesOf(n int) []byte { return bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n] }

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func begin(t *testing.T, s *memstore.Store, size int) iris.Upload {
	t.Helper()
	u, err := s.BeginUpload(t.Context(), gateway, "key", iris.Media{Size: int64(size)}, true)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// finish sends the rest of b and fails unless b is what is stored then, in one
// object.
func finish(t *testing.T, s *memstore.Store, u iris.Upload, b []byte) {
	t.Helper()
	if err := send(u, b[u.Offset():]); err != nil {
		t.Fatal(err)
	}
	m, err := u.Finish(t.Context(), hashOf(b))
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := s.OpenMedia(t.Context(), gateway, m.ID, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(r); !bytes.Equal(got, b) {
		t.Errorf("%d bytes, want %d", len(got), len(b))
	}
	if left := s.Objects(); len(left) != 1 || !strings.HasPrefix(left[0], "media/") {
		t.Errorf("objects: %v", left)
	}
}

// faulty are rows whose answer to the last change of an upload is lost.
type faulty struct {
	media.Rows
	landed bool // although it was made
}

var errLost = errors.New("no answer")

func (f faulty) ReplaceMediaRow(ctx context.Context, g string, r media.Row) (any, error) {
	if r.Ready && f.landed {
		_, _ = f.Rows.ReplaceMediaRow(ctx, g, r)
	}
	if r.Ready {
		return nil, errLost
	}
	return f.Rows.ReplaceMediaRow(ctx, g, r)
}

// A gateway dies between composing the object and saying so in the row, or right
// behind it: the upload is completed by whoever goes on with it, and there is one
// object in the end.
func TestDeathAfterCompose(t *testing.T) {
	t.Parallel()
	for _, landed := range []bool{false, true} {
		s := newStore(t)
		rows := s.Rows
		b := bytesOf(media.PartSize + 100)
		s.Rows = faulty{rows, landed}
		u := begin(t, s, len(b))
		if err := send(u, b); err != nil {
			t.Fatal(err)
		}
		if _, err := u.Finish(t.Context(), hashOf(b)); !errors.Is(err, errLost) {
			t.Fatal(err)
		}
		s.Rows = rows
		u = begin(t, s, len(b))
		if u.Offset() != int64(len(b)) {
			t.Errorf("landed %v: goes on at %d, want %d", landed, u.Offset(), len(b))
		}
		m, err := u.Finish(t.Context(), hashOf(b))
		if err != nil {
			t.Fatal(err)
		}
		if left := s.Lasting(); len(left) != 1 {
			t.Errorf("landed %v: objects %v", landed, left)
		}
		if err := s.DeleteMedia(t.Context(), gateway, m.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// failing is a bucket that fails to complete the part which begins at an offset,
// once the one that begins at another is complete.
type failing struct {
	media.Bucket
	part, behind string
	complete     chan struct{}
}

var errBroken = errors.New("broken")

func (f failing) Create(ctx context.Context, name, state string, expires time.Time) io.WriteCloser {
	return failingWriter{f.Bucket.Create(ctx, name, state, expires), path.Base(name), f}
}

type failingWriter struct {
	io.WriteCloser
	name string
	failing
}

func (w failingWriter) Close() error {
	if strings.HasPrefix(w.name, w.part) {
		<-w.complete
		return errBroken
	}
	err := w.WriteCloser.Close()
	if strings.HasPrefix(w.name, w.behind) {
		close(w.complete)
	}
	return err
}

// The bucket may complete a part before the one in front of it, which then fails:
// the upload goes on at the one that failed.
func TestPartFailsBehindTheNext(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	bucket := s.Bucket
	s.Bucket = failing{
		Bucket: bucket, complete: make(chan struct{}),
		part: fmt.Sprintf("%012d-", media.PartSize), behind: fmt.Sprintf("%012d-", 2*media.PartSize),
	}
	b := bytesOf(3*media.PartSize + 100)
	u := begin(t, s, len(b))
	err := send(u, b)
	if err == nil {
		_, err = u.Finish(t.Context(), hashOf(b))
	}
	if !errors.Is(err, errBroken) {
		t.Fatalf("the part that failed is not told of: %v", err)
	}
	if err := u.Suspend(); err != nil {
		t.Fatal(err)
	}
	s.Bucket = bucket
	u = begin(t, s, len(b))
	if u.Offset() != media.PartSize {
		t.Errorf("goes on at %d, want %d", u.Offset(), media.PartSize)
	}
	finish(t, s, u, b)
}

// What nobody goes on with is gone after a day: its row, its parts, and what was
// composed of them.
func TestOldUploads(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	now := time.Now()
	s.Now = storetest.Hasty(func() time.Time { return now })
	rows := s.Rows
	b := bytesOf(media.PartSize + 1)
	s.Rows = faulty{Rows: rows}
	u := begin(t, s, len(b))
	_ = send(u, b)
	_, _ = u.Finish(t.Context(), hashOf(b))
	s.Rows = rows
	if len(s.Objects()) != 3 {
		t.Fatalf("objects %v, want two parts and what was composed", s.Objects())
	}
	now = now.Add(iris.UploadLifetime + time.Minute)
	if u := begin(t, s, len(b)); u.Offset() != 0 {
		t.Errorf("goes on at %d after a day", u.Offset())
	}
	now = now.Add(iris.UploadLifetime + time.Minute)
	other, err := s.BeginUpload(t.Context(), gateway, "other", iris.Media{Size: 1}, false)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := rows.UnfinishedRows(t.Context(), gateway); err != nil || len(left) != 1 {
		t.Errorf("rows %v, want that of the new upload", left)
	}
	if err := other.Abort(); err != nil {
		t.Fatal(err)
	}
	if left := s.Objects(); len(left) != 0 {
		t.Errorf("objects %v", left)
	}
}

// A device that begins uploads without end, or uses one name again and again,
// leaves no more to look at than there may be.
func TestManyUploads(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 200 {
		if _, err := s.BeginUpload(t.Context(), gateway, fmt.Sprint("cut", i), iris.Media{}, true); err != nil {
			t.Fatal(err)
		}
		u, err := s.BeginUpload(t.Context(), gateway, "key", iris.Media{}, false)
		if err != nil {
			t.Fatal(err)
		}
		m, err := u.Finish(t.Context(), hashOf(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.UploadedMedia(t.Context(), gateway, "key"); err != nil || got.ID != m.ID {
			t.Errorf("the key names %v, %v", got, err)
		}
	}
	unfinished, err := s.Rows.UnfinishedRows(t.Context(), gateway)
	if err != nil || len(unfinished) > 64 {
		t.Errorf("%d uploads wait, %v", len(unfinished), err)
	}
	if named, err := s.Rows.UploadRows(t.Context(), gateway, "key"); err != nil || len(named) != 1 {
		t.Errorf("the key has %d rows, %v", len(named), err)
	}
}

// Many cuts make many small parts: never more than can be composed.
func TestManyCuts(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	b := bytesOf(3 * media.PartSize)
	for range 60 {
		u := begin(t, s, len(b))
		if _, err := u.Write(b[u.Offset():min(int(u.Offset())+400_000, len(b))]); err != nil {
			t.Fatal(err)
		}
		if err := u.Suspend(); err != nil {
			t.Fatal(err)
		}
		if n := len(s.Objects()); n > media.MaxParts {
			t.Fatalf("%d parts, at most %d can be composed", n, media.MaxParts)
		}
	}
	finish(t, s, begin(t, s, len(b)), b)
}

// When its context ends an upload may still be put away, for a moment.
func TestGrace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		late time.Duration
		want int64
	}{{time.Second, 1_000_000}, {time.Minute, 0}} {
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t)
			b := bytesOf(2_000_000)
			ctx, cancel := context.WithCancel(t.Context())
			u, err := s.BeginUpload(ctx, gateway, "key", iris.Media{Size: int64(len(b))}, true)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := u.Write(b[:1_000_000]); err != nil {
				t.Fatal(err)
			}
			cancel()
			time.Sleep(c.late)
			if err := u.Suspend(); (err == nil) != (c.want > 0) {
				t.Errorf("suspended %v late: %v", c.late, err)
			}
			u = begin(t, s, len(b))
			if u.Offset() != c.want {
				t.Errorf("goes on at %d, want %d", u.Offset(), c.want)
			}
			finish(t, s, u, b)
		})
	}
}
