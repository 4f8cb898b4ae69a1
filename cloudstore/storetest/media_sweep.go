package storetest

import (
	"errors"
	"time"

	"iris-gateway/iris"
)

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
