package storetest

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/iris"
)

var errFault = errors.New("fault of the test")

// brokenBucket fails to complete first parts, to remove anything, or to list it.
type brokenBucket struct {
	media.Bucket
	first, remove, list bool
}

func (b brokenBucket) Create(ctx context.Context, name, state string, expires time.Time) io.WriteCloser {
	if b.first && strings.HasPrefix(name, "media/") {
		return brokenWriter{io.Discard}
	}
	return b.Bucket.Create(ctx, name, state, expires)
}

func (b brokenBucket) Delete(ctx context.Context, name string) error {
	if b.remove {
		return errFault
	}
	return b.Bucket.Delete(ctx, name)
}

func (b brokenBucket) List(ctx context.Context, prefix string) ([]media.Object, error) {
	if b.list {
		return nil, errFault
	}
	return b.Bucket.List(ctx, prefix)
}

type brokenWriter struct{ io.Writer }

func (brokenWriter) Close() error { return errFault }

// An attempt left parts with a gap in front of them. What the next one sends, which
// may be another file under the same name, never gets mixed up with them.
func testMediaChanges(f *mediaFixture) {
	f.broken = true
	f.slow()
	before, after := noise(3*partSize, 1), noise(3*partSize, 2)
	bucket := f.library.Bucket
	f.library.Bucket = brokenBucket{Bucket: bucket, first: true}
	u := f.begin("key", len(before), true)
	noError(f.T, send(u, before))
	if err := u.Suspend(); !errors.Is(err, errFault) {
		f.Fatalf("the part that failed is not told of: %v", err)
	}
	f.library.Bucket = bucket
	equal(f, "parts behind the gap", len(f.objects.All()), 2)

	u = f.begin("key", len(after), true)
	equal(f, "goes on at", u.Offset(), int64(0))
	noError(f.T, send(u, after[:partSize]))
	noError(f.T, u.Suspend())
	u = f.begin("key", len(after), true)
	equal(f, "goes on at", u.Offset(), int64(partSize))
	f.finish(u, after)
	f.left(1)
}

// mute are rows that say nothing when an upload is complete, and do nothing.
type mute struct{ media.Rows }

func (m mute) ReplaceMediaRow(ctx context.Context, g string, r media.Row) (any, error) {
	if r.Ready {
		return nil, errFault
	}
	return m.Rows.ReplaceMediaRow(ctx, g, r)
}

// unsaid sends b to a gateway that dies when it has all but said so in the row.
func (f *mediaFixture) unsaid(key string, b []byte) {
	f.Helper()
	rows := f.library.Rows
	f.library.Rows = mute{rows}
	u := f.begin(key, len(b), true)
	noError(f.T, send(u, b))
	if _, err := u.Finish(f.ctx, hashOf(b)); !errors.Is(err, errFault) {
		f.Fatal(err)
	}
	f.library.Rows = rows
}

// goes fails unless the only medium leaves nothing when it is deleted.
func (f *mediaFixture) goes(id string) {
	f.Helper()
	noError(f.T, f.DeleteMedia(f.ctx, f.g, id))
	f.left(0)
}

// A gateway died when it had composed an object, and the next one when it had taken
// the upload over: what the first composed goes with the upload's end, either way.
func testMediaDiedResuming(f *mediaFixture) {
	f.broken = true
	f.slow()
	bucket := f.library.Bucket
	b := noise(partSize+1000, 1)
	for _, finished := range []bool{true, false} {
		f.unsaid("key", b)
		f.library.Bucket = brokenBucket{Bucket: bucket, remove: true}
		if _, err := f.BeginUpload(f.ctx, f.g, "key", iris.Media{Size: int64(len(b))}, true); !errors.Is(err, errFault) {
			f.Fatal(err)
		}
		f.library.Bucket = bucket
		f.left(1) // what was composed
		u := f.begin("key", len(b), true)
		equal(f, "goes on at", u.Offset(), int64(len(b)))
		f.left(0)
		if !finished {
			noError(f.T, u.Abort())
			f.left(0)
			return
		}
		m := f.finish(u, b)
		f.left(1)
		f.goes(m.ID)
	}
}

// A gateway died when it had kept the only part of an upload and not yet said so in the
// row: the part is the medium for whoever goes on, and goes with an upload that is
// given up.
func testMediaDiedKeeping(f *mediaFixture) {
	b := noise(1000, 1)
	for _, finished := range []bool{true, false} {
		f.unsaid("key", b)
		u := f.begin("key", len(b), true)
		equal(f, "goes on at", u.Offset(), int64(len(b)))
		if !finished {
			noError(f.T, u.Abort())
			f.left(0)
			return
		}
		before := f.objects.All()
		m := f.finish(u, b)
		equal(f, "objects", f.objects.All(), before)
		f.left(1)
		f.goes(m.ID)
	}
}
