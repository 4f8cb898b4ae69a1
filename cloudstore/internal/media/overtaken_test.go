package media_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// held is a bucket in front of whose next list of media something happens.
type held struct {
	media.Bucket
	then func()
}

func (h held) List(ctx context.Context, prefix string) ([]media.Object, error) {
	if strings.HasPrefix(prefix, "media/") {
		h.then()
	}
	return h.Bucket.List(ctx, prefix)
}

// hold lets something happen in front of the next list of media.
func hold(s *memstore.Store, then func()) {
	bucket := s.Bucket
	s.Bucket = held{bucket, func() {
		s.Bucket = bucket
		then()
	}}
}

// holds fails unless a medium has these bytes.
func holds(t *testing.T, s *memstore.Store, id string, want []byte) {
	t.Helper()
	_, r, err := s.OpenMedia(t.Context(), gateway, id, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(r); hashOf(got) != hashOf(want) {
		t.Errorf("%s has %d other bytes, want %d", id, len(got), len(want))
	}
}

// inTwo leaves an upload of b in one part, so that all of it are two.
func inTwo(t *testing.T, s *memstore.Store, b []byte) {
	t.Helper()
	u := begin(t, s, len(b))
	if err := send(u, b[:len(b)/2]); err != nil {
		t.Fatal(err)
	}
	if err := u.Suspend(); err != nil {
		t.Fatal(err)
	}
}

// A phone comes back twice, and the second time it has sent all before the first has
// looked at what there is: what the second composed stays.
func TestResumedSlowly(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	b := bytesOf(600_000)
	inTwo(t, s, b)
	hold(s, func() { finish(t, s, begin(t, s, len(b)), b) })
	slow := begin(t, s, len(b))
	if slow.Offset() != int64(len(b)) {
		t.Errorf("goes on at %d, but the medium is complete", slow.Offset())
	}
	finish(t, s, slow, b)
}

// repeating are rows whose first answer is lost when an upload is complete: they ask
// again, and hear that somebody was quicker.
type repeating struct{ media.Rows }

func (r repeating) ReplaceMediaRow(ctx context.Context, g string, row media.Row) (any, error) {
	version, err := r.Rows.ReplaceMediaRow(ctx, g, row)
	if err == nil && row.Ready {
		return nil, rows.UploadTaken(row.ID)
	}
	return version, err
}

// An upload is told that somebody else has finished it, and that was itself.
func TestFinishedTwice(t *testing.T) {
	t.Parallel()
	for _, parts := range []int{1, 2} {
		s := newStore(t)
		b := bytesOf(600_000)
		if parts == 2 {
			inTwo(t, s, b)
		}
		u := begin(t, s, len(b))
		if err := send(u, b[u.Offset():]); err != nil {
			t.Fatal(err)
		}
		before := s.Rows
		s.Rows = repeating{before}
		_, err := u.Finish(t.Context(), hashOf(b))
		s.Rows = before
		if iris.ErrorCode(err) != iris.CodeConflict {
			t.Errorf("%d parts: %v", parts, err)
		}
		if err := u.Abort(); err != nil {
			t.Error(err)
		}
		m, err := begin(t, s, len(b)).Finish(t.Context(), hashOf(b))
		if err != nil {
			t.Fatal(err)
		}
		holds(t, s, m.ID, b)
		if left := s.Lasting(); len(left) != 1 {
			t.Errorf("%d parts: objects %v", parts, left)
		}
	}
}

// A file that has another size is another one: what came of the first is of no use.
func TestResumedWithAnotherSize(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	inTwo(t, s, bytesOf(1_000_000))
	b := bytesOf(400_001)[1:]
	u := begin(t, s, len(b))
	if u.Offset() != 0 {
		t.Errorf("goes on at %d", u.Offset())
	}
	finish(t, s, u, b)
}

// deleting is a bucket in front of whose next removal of a first part something happens.
type deleting struct {
	media.Bucket
	then func()
}

func (d deleting) Delete(ctx context.Context, name string) error {
	if strings.HasPrefix(name, "media/") {
		d.then()
	}
	return d.Bucket.Delete(ctx, name)
}

// An upload is removed while all its parts are composed, and who composes dies then:
// nothing lasts.
func TestComposedWhileRemoved(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	b := bytesOf(600_000)
	inTwo(t, s, b)
	u := begin(t, s, len(b))
	if err := send(u, b[u.Offset():]); err != nil {
		t.Fatal(err)
	}
	if err := u.Suspend(); err != nil {
		t.Fatal(err)
	}
	u = begin(t, s, len(b))
	bucket, rows := s.Bucket, s.Rows
	s.Bucket = deleting{bucket, func() {
		s.Bucket, s.Rows = bucket, faulty{Rows: rows}
		if _, err := u.Finish(t.Context(), hashOf(b)); err == nil {
			t.Error("finished, but it is being removed")
		}
		s.Rows = rows
	}}
	again, err := s.BeginUpload(t.Context(), gateway, "key", iris.Media{Size: 1}, false)
	if err != nil {
		t.Fatal(err)
	}
	if left := s.Lasting(); len(left) != 0 {
		t.Errorf("objects %v", left)
	}
	if err := again.Abort(); err != nil {
		t.Error(err)
	}
}

// ofHost begins an upload of a host, which names its media itself.
func ofHost(t *testing.T, s *memstore.Store, size int, resume bool) iris.Upload {
	t.Helper()
	u, err := s.BeginUpload(t.Context(), gateway, "key of md_1", iris.Media{ID: "md_1", Size: int64(size)}, resume)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Who removes a medium, or ends an upload, is slow, and somebody else removes it; then the
// host sends another under the same id: it stays.
func TestIDUsedAgain(t *testing.T) {
	t.Parallel()
	b := bytesOf(600_000)
	for name, c := range map[string]func(t *testing.T, s *memstore.Store, again func()){
		"removed slowly": func(t *testing.T, s *memstore.Store, again func()) {
			finish(t, s, ofHost(t, s, len(b), false), b)
			hold(s, again)
			if err := s.DeleteMedia(t.Context(), gateway, "md_1"); err != nil {
				t.Error(err)
			}
		},
		"cleaned slowly": func(t *testing.T, s *memstore.Store, again func()) {
			if err := ofHost(t, s, len(b), false).Suspend(); err != nil {
				t.Fatal(err)
			}
			u := ofHost(t, s, len(b), true)
			if err := send(u, b); err != nil {
				t.Fatal(err)
			}
			hold(s, func() {
				if err := s.DeleteMedia(t.Context(), gateway, "md_1"); err != nil {
					t.Error(err)
				}
				again()
			})
			if _, err := u.Finish(t.Context(), hashOf(b)); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			now := time.Now()
			s.Now = func() time.Time { return now }
			c(t, s, func() {
				now = now.Add(2 * time.Minute)
				other, err := s.BeginUpload(t.Context(), gateway, "another", iris.Media{}, false) // removes the rest
				if err != nil {
					t.Fatal(err)
				}
				if err := other.Abort(); err != nil {
					t.Fatal(err)
				}
				finish(t, s, ofHost(t, s, len(b), false), b)
			})
			holds(t, s, "md_1", b)
		})
	}
}

// What a connection writes whose upload was removed belongs to nobody: who sends a
// file under the same id later does not go on with it.
func TestLatePartOfARemovedUpload(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	late := ofHost(t, s, 1_000_000, true)
	if err := send(late, bytesOf(500_000)); err != nil {
		t.Fatal(err)
	}
	b := bytesOf(300_001)[1:]
	if err := ofHost(t, s, len(b), false).Suspend(); err != nil {
		t.Fatal(err)
	}
	if err := late.Suspend(); err != nil {
		t.Fatal(err)
	}
	u := ofHost(t, s, len(b), true)
	if u.Offset() != 0 {
		t.Errorf("goes on at %d", u.Offset())
	}
	if err := send(u, b); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Finish(t.Context(), hashOf(b)); err != nil {
		t.Fatal(err)
	}
	holds(t, s, "md_1", b)
}
