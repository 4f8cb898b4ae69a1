package cloudstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	htransport "google.golang.org/api/transport/http"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/internal/rows"
)

// bucket is a bucket of Cloud Storage. Its objects have names that are used
// once, so every call but a write can be repeated.
type bucket struct {
	name   string
	client *storage.Client
	http   *http.Client
	handle *storage.BucketHandle
}

// stateKey is where an object's metadata has its state.
const stateKey = "iris-state"

// openBucket connects to Cloud Storage, or to what STORAGE_EMULATOR_HOST names.
func openBucket(ctx context.Context, name string) (*bucket, error) {
	client, err := storageHTTP(ctx)
	if err != nil {
		return nil, fmt.Errorf("cloudstore: connecting to Cloud Storage: %w", err)
	}
	// JSON reads: emulators know no others.
	c, err := storage.NewClient(ctx, option.WithHTTPClient(client), storage.WithJSONReads())
	if err != nil {
		return nil, fmt.Errorf("cloudstore: connecting to Cloud Storage, bucket %s: %w", name, err)
	}
	return &bucket{
		name: name, client: c, http: client,
		handle: c.Bucket(name).Retryer(storage.WithPolicy(storage.RetryAlways)),
	}, nil
}

// storageHTTP returns what the client talks by. It keeps to HTTP/1.1: in HTTP/2
// a stream takes up to 4 MiB in before its reader has asked for them, which a
// slow device would make the rule.
func storageHTTP(ctx context.Context) (*http.Client, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.Protocols = new(http.Protocols)
	base.Protocols.SetHTTP1(true)
	base.MaxIdleConnsPerHost = 100
	base.ResponseHeaderTimeout = time.Minute
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return &http.Client{Transport: base}, nil
	}
	t, err := htransport.NewTransport(ctx, base, option.WithScopes(storage.ScopeReadWrite))
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: onceTransport{t, base.CloseIdleConnections}}, nil
}

// ready reports whether the bucket answers.
func (b *bucket) ready(ctx context.Context) error {
	_, err := b.handle.Objects(ctx, &storage.Query{Prefix: "ready"}).Next()
	if errors.Is(err, iterator.Done) {
		return nil
	}
	return wrap(ctx, err, "asking bucket %s whether it is there", b.name)
}

func (b *bucket) close() error {
	err := b.client.Close()
	b.http.CloseIdleConnections()
	return err
}

// Create implements media.Bucket. The bytes are streamed: the client could
// repeat the write only if it kept them. The custom time is for the bucket's lifecycle
// rule.
func (b *bucket) Create(ctx context.Context, name, state string, expires time.Time) io.WriteCloser {
	w := b.client.Bucket(b.name).Object(name).NewWriter(ctx)
	w.ChunkSize = 0
	w.ContentType = "application/octet-stream"
	w.CustomTime = expires
	w.Metadata = map[string]string{stateKey: state}
	return &objectWriter{w, ctx, name}
}

// objectWriter says which object could not be written.
type objectWriter struct {
	*storage.Writer
	ctx  context.Context
	name string
}

// Write implements io.Writer.
func (w *objectWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, wrap(w.ctx, err, "writing object %s", w.name)
}

// Close implements io.Closer.
func (w *objectWriter) Close() error {
	return wrap(w.ctx, w.Writer.Close(), "writing object %s", w.name)
}

// Read implements media.Bucket.
func (b *bucket) Read(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	r, err := b.handle.Object(name).NewRangeReader(ctx, offset, length)
	if errors.Is(err, storage.ErrObjectNotExist) {
		return nil, rows.NoObject(name)
	}
	if err != nil {
		return nil, wrap(ctx, err, "reading object %s", name)
	}
	return r, nil
}

// List implements media.Bucket.
func (b *bucket) List(ctx context.Context, prefix string) ([]media.Object, error) {
	q := &storage.Query{Prefix: prefix}
	if err := q.SetAttrSelection([]string{"Name", "Size", "Metadata"}); err != nil {
		return nil, err
	}
	var all []media.Object
	it := b.handle.Objects(ctx, q)
	for {
		attrs, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			return nil, wrap(ctx, err, "listing objects %s", prefix)
		}
		all = append(all, media.Object{Name: attrs.Name, Size: attrs.Size, State: attrs.Metadata[stateKey]})
	}
	slices.SortFunc(all, func(a, b media.Object) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// never is a custom time behind which no rule goes: one that was said once can only be
// replaced by a later one.
var never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Keep implements media.Bucket.
func (b *bucket) Keep(ctx context.Context, name string, expires time.Time) error {
	if expires.IsZero() {
		expires = never
	}
	_, err := b.handle.Object(name).Update(ctx, storage.ObjectAttrsToUpdate{CustomTime: expires})
	return wrap(ctx, err, "keeping object %s", name)
}

// Compose implements media.Bucket.
func (b *bucket) Compose(ctx context.Context, name string, parts []string, expires time.Time) error {
	var sources []*storage.ObjectHandle
	for _, p := range parts {
		sources = append(sources, b.handle.Object(p))
	}
	c := b.handle.Object(name).ComposerFrom(sources...)
	c.ContentType = "application/octet-stream"
	c.CustomTime = expires
	_, err := c.Run(ctx)
	return wrap(ctx, err, "composing object %s", name)
}

// Delete implements media.Bucket.
func (b *bucket) Delete(ctx context.Context, name string) error {
	err := b.handle.Object(name).Delete(ctx)
	var e *googleapi.Error
	if errors.Is(err, storage.ErrObjectNotExist) || errors.As(err, &e) && e.Code == http.StatusNotFound {
		return nil
	}
	return wrap(ctx, err, "removing object %s", name)
}
