package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/iris"
)

var errFault = errors.New("fault of the test")

// gate holds those who add a row until so many are there: all have looked at what
// is left of the quota before.
type gate struct {
	media.Rows
	arrived *sync.WaitGroup
}

func (g gate) CreateMediaRow(ctx context.Context, gateway string, r media.Row) (any, error) {
	g.arrived.Done()
	g.arrived.Wait()
	return g.Rows.CreateMediaRow(ctx, gateway, r)
}

// Two that begin in the same moment see the same room: not both get it.
func testMediaQuotaRace(f *mediaFixture) {
	rows := f.library.Rows
	held := gate{rows, new(sync.WaitGroup)}
	held.arrived.Add(2)
	f.library.Rows = held
	size := Limits.Quota/2 + 1
	var both sync.WaitGroup
	var uploads [2]iris.Upload
	var errs [2]error
	for i := range uploads {
		both.Go(func() {
			uploads[i], errs[i] = f.BeginUpload(f.ctx, f.g, fmt.Sprint("key", i), iris.Media{Size: size}, false)
		})
	}
	both.Wait()
	f.library.Rows = rows
	for i, err := range errs {
		if err != nil {
			code(f, err, iris.CodeMediaTooLarge)
			continue
		}
		if errs[1-i] == nil {
			f.Error("both were begun")
		}
		noError(f.T, uploads[i].Abort())
	}
	used, err := rows.MediaBytes(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "bytes of those that were refused", used, int64(0))
}

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

// A gateway died when it had composed an object, and the next one when it had taken
// the upload over: what the first composed goes with the upload's end, either way.
func testMediaDiedResuming(f *mediaFixture) {
	f.broken = true
	f.slow()
	rows, bucket := f.library.Rows, f.library.Bucket
	b := noise(partSize+1000, 1)
	for _, finished := range []bool{true, false} {
		f.library.Rows = mute{rows}
		u := f.begin("key", len(b), true)
		noError(f.T, send(u, b))
		if _, err := u.Finish(f.ctx, hashOf(b)); !errors.Is(err, errFault) {
			f.Fatal(err)
		}
		f.library.Rows, f.library.Bucket = rows, brokenBucket{Bucket: bucket, remove: true}
		if _, err := f.BeginUpload(f.ctx, f.g, "key", iris.Media{Size: int64(len(b))}, true); !errors.Is(err, errFault) {
			f.Fatal(err)
		}
		f.library.Bucket = bucket
		f.left(1) // what was composed
		u = f.begin("key", len(b), true)
		equal(f, "goes on at", u.Offset(), int64(len(b)))
		f.left(0)
		if !finished {
			noError(f.T, u.Abort())
			f.left(0)
			return
		}
		m, err := u.Finish(f.ctx, hashOf(b))
		noError(f.T, err)
		f.holds(m.ID, b)
		f.left(1)
		noError(f.T, f.DeleteMedia(f.ctx, f.g, m.ID))
		f.left(0)
	}
}

// A gateway died when it had kept the only part of an upload and not yet said so in the
// row: the part is the medium for whoever goes on, and goes with an upload that is
// given up.
func testMediaDiedKeeping(f *mediaFixture) {
	rows := f.library.Rows
	b := noise(1000, 1)
	for _, finished := range []bool{true, false} {
		f.library.Rows = mute{rows}
		u := f.begin("key", len(b), true)
		noError(f.T, send(u, b))
		if _, err := u.Finish(f.ctx, hashOf(b)); !errors.Is(err, errFault) {
			f.Fatal(err)
		}
		f.library.Rows = rows
		u = f.begin("key", len(b), true)
		equal(f, "goes on at", u.Offset(), int64(len(b)))
		if !finished {
			noError(f.T, u.Abort())
			f.left(0)
			return
		}
		before := f.objects.All()
		f.finish(u, b)
		equal(f, "objects", f.objects.All(), before)
		f.left(1)
		m, err := f.UploadedMedia(f.ctx, f.g, "key")
		noError(f.T, err)
		noError(f.T, f.DeleteMedia(f.ctx, f.g, m.ID))
		f.left(0)
	}
}

// finishing are rows in front of whose change to ready something happens, once.
type finishing struct {
	media.Rows
	once *sync.Once
	then func()
}

func (r finishing) ReplaceMediaRow(ctx context.Context, g string, row media.Row) (any, error) {
	if row.Ready {
		r.once.Do(r.then)
	}
	return r.Rows.ReplaceMediaRow(ctx, g, row)
}

// closing is a bucket in front of whose first new object something happens.
type closing struct {
	media.Bucket
	once *sync.Once
	then func()
}

func (b closing) Create(ctx context.Context, name, state string, expires time.Time) io.WriteCloser {
	return closingWriter{b.Bucket.Create(ctx, name, state, expires), b}
}

type closingWriter struct {
	io.WriteCloser
	closing
}

func (w closingWriter) Close() error {
	w.once.Do(w.then)
	return w.WriteCloser.Close()
}

// A phone or host has sent all on a connection that was cut, and comes back on the next
// one while the gateway finishes what came on the first: the second makes the medium,
// and nothing else stays, wherever it came in between.
func testMediaTakenOver(f *mediaFixture) {
	b := noise(1000, 1)
	rows, bucket := f.library.Rows, f.library.Bucket
	for n := range 16 {
		stored, resume, ends, host := n&1 > 0, n&2 > 0, n&4 > 0, n&8 > 0
		begin := func(resume bool) iris.Upload {
			m := iris.Media{Size: int64(len(b))}
			if host {
				m.ID = "md_1"
			}
			u, err := f.BeginUpload(f.ctx, f.g, "key", m, resume)
			noError(f.T, err)
			return u
		}
		var second iris.Upload
		end := func() {
			noError(f.T, send(second, b[second.Offset():]))
			_, err := second.Finish(f.ctx, hashOf(b))
			noError(f.T, err)
		}
		then := func() {
			f.library.Rows, f.library.Bucket = rows, bucket
			second = begin(resume)
			if ends {
				end()
			}
		}
		first := begin(true)
		if stored {
			f.library.Rows = finishing{rows, new(sync.Once), then}
		} else {
			f.library.Bucket = closing{bucket, new(sync.Once), then}
		}
		noError(f.T, send(first, b))
		_, err := first.Finish(f.ctx, hashOf(b))
		code(f, err, iris.CodeConflict)
		noError(f.T, first.Abort())
		if !ends {
			equal(f, "goes on at", second.Offset() > 0, stored && resume)
			end()
		}
		m, err := f.UploadedMedia(f.ctx, f.g, "key")
		noError(f.T, err)
		f.holds(m.ID, b)
		f.left(1)
		noError(f.T, f.DeleteMedia(f.ctx, f.g, m.ID))
		f.left(0)
	}
}

// An upload is removed while it is finished, and whoever removes it dies in the middle:
// nothing stays that only he knew of.
func testMediaRemovedFinishing(f *mediaFixture) {
	b := noise(1000, 1)
	bucket := f.library.Bucket
	u := f.begin("key", len(b), true)
	f.library.Bucket = closing{bucket, new(sync.Once), func() {
		f.library.Bucket = brokenBucket{Bucket: bucket, list: true}
		_, err := f.BeginUpload(f.ctx, f.g, "key", iris.Media{Size: int64(len(b))}, false)
		if !errors.Is(err, errFault) {
			f.Error(err)
		}
		f.library.Bucket = bucket
	}}
	noError(f.T, send(u, b))
	_, err := u.Finish(f.ctx, hashOf(b))
	code(f, err, iris.CodeConflict)
	f.left(0)
}

// late are rows behind whose answer something happens, once.
type late struct {
	media.Rows
	once *sync.Once
	then func()
}

func (l late) MediaRow(ctx context.Context, g, id string) (media.Row, bool, error) {
	row, found, err := l.Rows.MediaRow(ctx, g, id)
	l.once.Do(l.then)
	return row, found, err
}

// A connection that was cut is still about to remove its upload, while the host has
// brought the file again on the next one, under the same id: it stays.
func testMediaAbortedLate(f *mediaFixture) {
	announced := iris.Media{ID: "md_1", Size: 1000, Kind: "document"}
	b := noise(1000, 1)
	begin := func() iris.Upload {
		u, err := f.BeginUpload(f.ctx, f.g, iris.HostUpload(announced.ID), announced, false)
		noError(f.T, err)
		return u
	}
	cut := begin()
	noError(f.T, send(cut, b[:500]))
	f.library.Rows = late{f.library.Rows, new(sync.Once), func() {
		again := begin()
		noError(f.T, send(again, b))
		_, err := again.Finish(f.ctx, hashOf(b))
		noError(f.T, err)
	}}
	noError(f.T, cut.Abort())
	f.holds(announced.ID, b)
	f.left(1)
}

// Of two who remove a row only the one that has it removes it: under its id there may
// be another one by then.
func testMediaRowVersions(f *mediaFixture) {
	m := f.store("key", noise(10, 1))
	old, _, err := f.library.Rows.MediaRow(f.ctx, f.g, m.ID)
	noError(f.T, err)
	taken := old
	taken.Attempt = "another" // a write that changes nothing makes no version
	version, err := f.library.Rows.ReplaceMediaRow(f.ctx, f.g, taken)
	noError(f.T, err)
	noError(f.T, f.library.Rows.DeleteMediaRow(f.ctx, f.g, old))
	_, err = f.Media(f.ctx, f.g, m.ID)
	noError(f.T, err)
	old.Version = version
	noError(f.T, f.library.Rows.DeleteMediaRow(f.ctx, f.g, old))
	_, err = f.Media(f.ctx, f.g, m.ID)
	code(f, err, iris.CodeNotFound)
}

// Somebody died while he removed a medium: the rest goes with a later upload, and
// meanwhile nobody gets it.
func testMediaRemovedHalf(f *mediaFixture) {
	bucket, now := f.library.Bucket, f.library.Now()
	f.library.Now = func() time.Time { return now }
	m := f.store("key", noise(10, 1))
	f.library.Bucket = brokenBucket{Bucket: bucket, remove: true}
	if err := f.DeleteMedia(f.ctx, f.g, m.ID); !errors.Is(err, errFault) {
		f.Fatal(err)
	}
	f.library.Bucket = bucket
	f.left(1)
	_, err := f.Media(f.ctx, f.g, m.ID)
	code(f, err, iris.CodeNotFound)
	_, err = f.UploadedMedia(f.ctx, f.g, "key")
	code(f, err, iris.CodeNotFound)
	now = now.Add(2 * time.Minute)
	noError(f.T, f.begin("another", 1, false).Abort())
	f.left(0)
	used, err := f.library.Rows.MediaBytes(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "bytes", used, int64(0))
}

// What a device or host has brought and then never spoken of goes after a week, what
// a message has stays.
func testMediaUnsent(f *mediaFixture) {
	b := noise(10, 1)
	sent, unsent := f.store("sent", b), f.store("unsent", b)
	noError(f.T, f.MediaStore.(Store).Append(f.ctx, f.g, iris.Commit{
		Entry:   iris.Entry{Cursor: 2, Writer: "w"},
		Changes: []iris.Change{iris.CreateMessage{Message: iris.Message{ID: "m", Lane: iris.Lane{ChatID: "c"}, Media: []iris.Media{sent}}}},
	}))
	now := f.library.Now()
	f.library.Now = func() time.Time { return now }
	later := func(d time.Duration, want int) {
		f.Helper()
		now = now.Add(d)
		noError(f.T, f.begin("another", 1, false).Abort())
		f.left(want)
		f.holds(sent.ID, b)
	}
	later(6*24*time.Hour, 2)
	f.holds(unsent.ID, b)
	f.library.Limits.Quota = 20 // the next one has room when that is gone
	later(2*24*time.Hour, 1)
	_, err := f.Media(f.ctx, f.g, unsent.ID)
	code(f, err, iris.CodeNotFound)
	due, err := f.library.Rows.ReviewRows(f.ctx, f.g, now)
	noError(f.T, err)
	equal(f, "rows that are looked at again", len(due), 0)
	later(30*24*time.Hour, 1)
}
