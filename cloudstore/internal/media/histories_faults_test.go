package media_test

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/internal/rows"
)

// death ends an operation in the middle of a call: its gateway was killed.
type death struct{}

// call does a call of the store, unless it fails, has its effect later or without an
// answer, or kills who made it. Others may do something in front of it and behind it.
func (h *history) call(do func() error) error {
	h.meanwhile()
	err := h.fated(do)
	h.meanwhile()
	return err
}

func (h *history) fated(do func() error) error {
	if h.calm || !h.faults || h.random.IntN(12) > 0 {
		return do()
	}
	h.acting.troubled = true
	switch h.random.IntN(6) {
	case 0:
		panic(death{})
	case 1:
		_ = do()
		panic(death{})
	case 2:
		_ = do()
		return errLost
	case 3:
		h.late(func() { _ = do() })
		return errLost
	default:
		return errBroken
	}
}

// late keeps an effect for later.
func (h *history) late(do func()) {
	acting := h.acting
	h.pending = append(h.pending, func() {
		before := h.acting
		h.acting = acting
		do()
		h.acting = before
	})
}

// landed is a change that was made, and then made again because the answer was
// lost: Google's client says that somebody else was quicker.
func (h *history) landed(err, conflict error) error {
	if err != nil || h.calm || !h.faults || h.random.IntN(40) > 0 {
		return err
	}
	h.acting.troubled = true
	return conflict
}

// tornRows are rows of a history.
type tornRows struct {
	media.Rows
	*history
}

func inOrder(all []media.Row, err error) ([]media.Row, error) {
	slices.SortFunc(all, func(a, b media.Row) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}

func (r tornRows) MediaRow(ctx context.Context, g, id string) (row media.Row, found bool, err error) {
	err = r.call(func() (err error) { row, found, err = r.Rows.MediaRow(ctx, g, id); return err })
	return row, found, err
}

func (r tornRows) UploadRows(ctx context.Context, g, key string) (all []media.Row, err error) {
	err = r.call(func() (err error) { all, err = inOrder(r.Rows.UploadRows(ctx, g, key)); return err })
	return all, err
}

// look fails if the look of this name is to fail. The looks go at once: only one fails,
// the others do not end because of it, and nobody does anything meanwhile.
func (r tornRows) look(name string) error {
	if r.acting.blind == name && !r.calm {
		return errBroken
	}
	return nil
}

func (r tornRows) UnfinishedRows(ctx context.Context, g string) ([]media.Row, error) {
	if err := r.look("unfinished"); err != nil {
		return nil, err
	}
	return inOrder(r.Rows.UnfinishedRows(context.WithoutCancel(ctx), g))
}

func (r tornRows) ReviewRows(ctx context.Context, g string, now time.Time) ([]media.Row, error) {
	if err := r.look("review"); err != nil {
		return nil, err
	}
	return inOrder(r.Rows.ReviewRows(context.WithoutCancel(ctx), g, now))
}

func (r tornRows) ExpiredRows(ctx context.Context, g string, now time.Time) ([]media.Row, error) {
	if err := r.look("expired"); err != nil {
		return nil, err
	}
	return inOrder(r.Rows.ExpiredRows(context.WithoutCancel(ctx), g, now))
}

func (r tornRows) MediaBytes(ctx context.Context, g string) (int64, error) {
	if err := r.look("bytes"); err != nil {
		return 0, err
	}
	return r.Rows.MediaBytes(context.WithoutCancel(ctx), g)
}

func (r tornRows) MediaMessages(_ context.Context, _, id string, _ int) ([]string, error) {
	if r.sent[id] {
		return []string{"m"}, nil
	}
	return nil, nil
}

func (r tornRows) CreateMediaRow(ctx context.Context, g string, row media.Row) (version any, err error) {
	err = r.call(func() (err error) {
		version, err = r.Rows.CreateMediaRow(context.WithoutCancel(ctx), g, row)
		if err == nil {
			r.owner[row.ID] = r.acting
		}
		return r.landed(err, rows.MediaExists(row.ID))
	})
	return version, err
}

func (r tornRows) ReplaceMediaRow(ctx context.Context, g string, row media.Row) (version any, err error) {
	if row.Ready && row.Review.IsZero() { // a look's, or as rare as nothing
		return r.Rows.ReplaceMediaRow(ctx, g, row)
	}
	may := r.mayGo(row.ID)
	err = r.call(func() (err error) {
		old, _, _ := r.Rows.MediaRow(context.WithoutCancel(ctx), g, row.ID)
		version, err = r.Rows.ReplaceMediaRow(context.WithoutCancel(ctx), g, row)
		if err == nil {
			r.replaced(old, row, may)
		}
		return r.landed(err, rows.UploadTaken(row.ID))
	})
	return version, err
}

func (r tornRows) DeleteMediaRow(ctx context.Context, g string, row media.Row) error {
	return r.call(func() error { return r.Rows.DeleteMediaRow(context.WithoutCancel(ctx), g, row) })
}

// tornBucket is the bucket of a history.
type tornBucket struct {
	media.Bucket
	*history
}

func (b tornBucket) Keep(ctx context.Context, name string, expires time.Time) error {
	return b.call(func() error {
		err := b.Bucket.Keep(context.WithoutCancel(ctx), name, expires)
		if err == nil {
			b.lasts(name, expires)
		}
		return err
	})
}

func (b tornBucket) Compose(ctx context.Context, name string, parts []string, expires time.Time) error {
	return b.call(func() error {
		err := b.Bucket.Compose(context.WithoutCancel(ctx), name, parts, expires)
		if err == nil {
			b.lasts(name, expires)
		}
		return err
	})
}

func (b tornBucket) Read(ctx context.Context, name string, offset, length int64) (r io.ReadCloser, err error) {
	err = b.call(func() (err error) { r, err = b.Bucket.Read(ctx, name, offset, length); return err })
	return r, err
}

func (b tornBucket) List(ctx context.Context, prefix string) (all []media.Object, err error) {
	err = b.call(func() (err error) { all, err = b.Bucket.List(ctx, prefix); return err })
	return all, err
}

func (b tornBucket) Delete(ctx context.Context, name string) error {
	if b.acting.cleaning { // several at once
		return b.Bucket.Delete(ctx, name)
	}
	return b.call(func() error { return b.Bucket.Delete(context.WithoutCancel(ctx), name) })
}

// Create draws at once what will become of the object: it may be closed while others work.
func (b tornBucket) Create(ctx context.Context, name, state string, expires time.Time) io.WriteCloser {
	b.meanwhile()
	w := &tornWriter{
		WriteCloser: b.Bucket.Create(context.WithoutCancel(ctx), name, state, expires),
		ctx:         ctx, fate: fates[b.random.IntN(len(fates))], kept: b.random.IntN(3) == 0,
	}
	if b.calm || !b.faults {
		w.fate = complete
	}
	acting := b.acting
	acting.troubled = acting.troubled || w.fate != complete
	b.expires[name] = expires
	b.pending = append(b.pending, func() { // with what was written until then
		if acting.dead || w.ctx.Err() != nil || w.closed {
			w.land()
		}
	})
	return w
}

// fate is what becomes of an object.
type fate int

const (
	complete fate = iota
	failed        // it may be there later
	unheard       // it is there, and nobody hears of it
)

var fates = append(slices.Repeat([]fate{complete}, 20), failed, unheard)

// tornWriter is an object that is being written.
type tornWriter struct {
	io.WriteCloser
	ctx    context.Context
	fate   fate
	kept   bool // although it was given up
	closed bool
	once   sync.Once
}

func (w *tornWriter) land() { w.once.Do(func() { _ = w.WriteCloser.Close() }) }

func (w *tornWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.WriteCloser.Write(p)
}

func (w *tornWriter) Close() error {
	err := w.ctx.Err()
	if err == nil && w.fate != complete {
		err = errBroken
	}
	w.closed = true
	if w.ctx.Err() != nil && w.kept || w.ctx.Err() == nil && w.fate != failed {
		w.land()
	}
	return err
}

// owned reports whether the row that an object belongs to is that of who acts, and not
// ready.
func (h *history) owned(name string) bool {
	for _, row := range h.all() {
		if strings.HasPrefix(objectOf(row), uploadOf(name)) {
			return !row.Ready && h.owner[row.ID] == h.acting
		}
	}
	return false
}
