package memstore

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/internal/rows"
)

// mediaRows are the rows of media in memory. A row's version is a number that no
// other write of any row has.
type mediaRows struct{ *Store }

// MediaRow implements media.Rows.
func (s mediaRows) MediaRow(ctx context.Context, g, id string) (media.Row, bool, error) {
	if err := alive(ctx); err != nil {
		return media.Row{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row, found := s.at(g).media[id]
	return row, found, nil
}

// UploadRows implements media.Rows.
func (s mediaRows) UploadRows(ctx context.Context, g, key string) ([]media.Row, error) {
	return s.mediaRows(ctx, g, func(r media.Row) bool { return r.Key == key })
}

// UnfinishedRows implements media.Rows.
func (s mediaRows) UnfinishedRows(ctx context.Context, g string) ([]media.Row, error) {
	return s.mediaRows(ctx, g, func(r media.Row) bool { return !r.Ready })
}

// ExpiredRows implements media.Rows.
func (s mediaRows) ExpiredRows(ctx context.Context, g string, now time.Time) ([]media.Row, error) {
	return s.mediaRows(ctx, g, func(r media.Row) bool { return rows.Expired(r.Expires, now) })
}

// ReviewRows implements media.Rows.
func (s mediaRows) ReviewRows(ctx context.Context, g string, now time.Time) ([]media.Row, error) {
	return s.mediaRows(ctx, g, func(r media.Row) bool { return rows.Expired(r.Review, now) })
}

func (s mediaRows) mediaRows(ctx context.Context, g string, wanted func(media.Row) bool) (out []media.Row, err error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.at(g).media {
		if wanted(r) {
			out = append(out, r)
		}
	}
	return out, nil
}

// CreateMediaRow implements media.Rows.
func (s mediaRows) CreateMediaRow(ctx context.Context, g string, r media.Row) (any, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.at(g).media[r.ID]; taken {
		return nil, rows.MediaExists(r.ID)
	}
	if err := s.within(g); err != nil {
		return nil, err
	}
	return s.put(g, r), nil
}

// ReplaceMediaRow implements media.Rows.
func (s mediaRows) ReplaceMediaRow(ctx context.Context, g string, r media.Row) (any, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, found := s.at(g).media[r.ID]
	if !found || old.Version != r.Version {
		return nil, rows.UploadTaken(r.ID)
	}
	return s.put(g, r), nil
}

// put keeps a row. Call with s.mu held.
func (s mediaRows) put(g string, r media.Row) (version any) {
	s.writes++
	r.Media, r.Version = rows.Media(r.Media), s.writes
	s.at(g).media[r.ID] = r
	return r.Version
}

// DeleteMediaRow implements media.Rows.
func (s mediaRows) DeleteMediaRow(ctx context.Context, g string, r media.Row) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at(g).media[r.ID].Version == r.Version {
		delete(s.at(g).media, r.ID)
	}
	return nil
}

// MediaBytes implements media.Rows.
func (s mediaRows) MediaBytes(ctx context.Context, g string) (sum int64, err error) {
	all, err := s.mediaRows(ctx, g, func(media.Row) bool { return true })
	for _, r := range all {
		sum += r.Size
	}
	return sum, err
}

// Objects returns the names of the objects that hold the bytes of media, for
// tests.
func (s *Store) Objects() []string {
	var names []string
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.objects {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Lasting returns the names of the objects that no lifecycle rule of a bucket in the
// cloud would ever remove, for tests.
func (s *Store) Lasting() []string {
	return slices.DeleteFunc(s.Objects(), func(name string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.objects[name].expires.IsZero()
	})
}

// bucket is a bucket in memory. What has expired stays.
type bucket struct{ *Store }

// object is an object of the bucket. Its bytes never change.
type object struct {
	data    []byte
	state   string
	expires time.Time
}

// Create implements media.Bucket.
func (b bucket) Create(ctx context.Context, name, state string, expires time.Time) io.WriteCloser {
	return &objectWriter{ctx: ctx, bucket: b, name: name, object: object{state: state, expires: expires}}
}

// objectWriter is an object that is not complete yet.
type objectWriter struct {
	bytes.Buffer
	object
	ctx    context.Context
	bucket bucket
	name   string
}

// Write implements io.Writer.
func (w *objectWriter) Write(p []byte) (int, error) {
	if err := alive(w.ctx); err != nil {
		return 0, err
	}
	return w.Buffer.Write(p)
}

// Close implements io.Closer.
func (w *objectWriter) Close() error {
	if err := alive(w.ctx); err != nil {
		return err
	}
	w.data = w.Bytes()
	w.bucket.put(w.name, w.object)
	return nil
}

func (b bucket) put(name string, o object) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[name] = o
}

func (b bucket) get(ctx context.Context, name string) (object, error) {
	if err := alive(ctx); err != nil {
		return object{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o, found := b.objects[name]
	if !found {
		return o, rows.NoObject(name)
	}
	return o, nil
}

// Keep implements media.Bucket.
func (b bucket) Keep(ctx context.Context, name string, expires time.Time) error {
	if err := alive(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o, found := b.objects[name]
	if !found {
		return rows.NoObject(name)
	}
	o.expires = expires
	b.objects[name] = o
	return nil
}

// Read implements media.Bucket.
func (b bucket) Read(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	o, err := b.get(ctx, name)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(o.data[offset : offset+length])), nil
}

// List implements media.Bucket.
func (b bucket) List(ctx context.Context, prefix string) ([]media.Object, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []media.Object
	for name, o := range b.objects {
		if strings.HasPrefix(name, prefix) {
			out = append(out, media.Object{Name: name, Size: int64(len(o.data)), State: o.state})
		}
	}
	slices.SortFunc(out, func(a, b media.Object) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Compose implements media.Bucket.
func (b bucket) Compose(ctx context.Context, name string, parts []string, expires time.Time) error {
	var whole [][]byte
	for _, p := range parts {
		o, err := b.get(ctx, p)
		if err != nil {
			return err
		}
		whole = append(whole, o.data)
	}
	b.put(name, object{data: slices.Concat(whole...), expires: expires})
	return nil
}

// Delete implements media.Bucket.
func (b bucket) Delete(ctx context.Context, name string) error {
	if err := alive(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, name)
	return nil
}
