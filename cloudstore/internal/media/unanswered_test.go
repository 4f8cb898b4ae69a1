package media_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// silent is a bucket that has a part and does not say so, until its context ends
// or it is let.
type silent struct {
	media.Bucket
	let chan struct{}
}

func (s silent) Create(ctx context.Context, name, state string, expires time.Time) io.WriteCloser {
	return silentWriter{s.Bucket.Create(context.WithoutCancel(ctx), name, state, expires), ctx, s.let}
}

type silentWriter struct {
	io.WriteCloser
	ctx context.Context
	let chan struct{}
}

func (w silentWriter) Close() error {
	select {
	case <-w.ctx.Done():
	case <-w.let:
	}
	_ = w.WriteCloser.Close()
	return w.ctx.Err()
}

// unanswered begins an upload of b whose parts are all sent, and of which three
// have no answer.
func unanswered(t *testing.T, s *memstore.Store, ctx context.Context, b []byte) (iris.Upload, silent) {
	t.Helper()
	bucket := silent{s.Bucket, make(chan struct{})}
	s.Bucket = bucket
	u, err := s.BeginUpload(ctx, gateway, "key", iris.Media{Size: int64(len(b))}, true)
	if err == nil {
		err = send(u, b[:3*media.PartSize+1000])
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Bucket = bucket.Bucket
	return u, bucket
}

// While three parts wait for the bucket's answer the upload ends, in any way: no
// goroutine stays, nothing that was given up is left, and what was not is gone on with.
func TestPartsUnanswered(t *testing.T) {
	t.Parallel()
	b := bytesOf(3*media.PartSize + 2000)
	for name, end := range map[string]func(t *testing.T, s *memstore.Store, u iris.Upload, cancel func()){
		"abort": func(t *testing.T, s *memstore.Store, u iris.Upload, _ func()) {
			if err := u.Abort(); err != nil {
				t.Error(err)
			}
			if left := s.Objects(); len(left) != 0 {
				t.Errorf("objects %v", left)
			}
		},
		"suspend": func(t *testing.T, _ *memstore.Store, u iris.Upload, cancel func()) {
			cancel()
			began := time.Now()
			if err := u.Suspend(); err == nil {
				t.Error("parts without an answer are taken to be complete")
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("waited for %v", took)
			}
		},
		"finish": func(t *testing.T, _ *memstore.Store, u iris.Upload, cancel func()) {
			_ = send(u, b[3*media.PartSize+1000:])
			cancel()
			if _, err := u.Finish(t.Context(), hashOf(b)); err == nil {
				t.Error("a medium of parts without an answer")
			}
			_ = u.Suspend()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				ctx, cancel := context.WithCancel(t.Context())
				u, _ := unanswered(t, s, ctx, b)
				end(t, s, u, cancel)
				synctest.Wait()
				finish(t, s, begin(t, s, len(b)), b)
			})
		})
	}
}

// A fourth part has to wait: who sends faster than the bucket answers is held up.
func TestPartsHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		b := bytesOf(5 * media.PartSize)
		u, bucket := unanswered(t, s, t.Context(), b)
		wrote := make(chan error, 1)
		go func() {
			wrote <- send(u, b[3*media.PartSize+1000:4*media.PartSize])
		}()
		synctest.Wait()
		if len(wrote) > 0 {
			t.Error("four parts wait for an answer")
		}
		close(bucket.let)
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		finish(t, s, u, b)
	})
}

// A gateway is killed while parts wait for their answers, and the bucket completes
// them when the next gateway has finished the upload: they change nothing, and lie
// where the lifecycle rule takes them.
func TestPartsLateAfterDeath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		b := bytesOf(4 * media.PartSize)
		dead, bucket := unanswered(t, s, t.Context(), b)
		u := begin(t, s, len(b))
		finish(t, s, u, b)
		close(bucket.let)
		synctest.Wait()
		m, err := s.UploadedMedia(t.Context(), gateway, "key")
		if err != nil {
			t.Fatal(err)
		}
		if _, r, err := s.OpenMedia(t.Context(), gateway, m.ID, 0, -1); err != nil {
			t.Error(err)
		} else if got, _ := io.ReadAll(r); hashOf(got) != hashOf(b) {
			t.Errorf("%d other bytes", len(got))
		}
		if left := s.Lasting(); len(left) != 1 {
			t.Errorf("objects %v", left)
		}
		if err := s.DeleteMedia(t.Context(), gateway, m.ID); err != nil {
			t.Fatal(err)
		}
		if left := s.Objects(); len(left) != 0 {
			t.Errorf("objects %v", left)
		}
		_ = dead.Suspend() // for the test's own sake
	})
}
