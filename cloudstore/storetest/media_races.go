package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/iris"
)

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
		f.goes(m.ID)
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
