package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/iris"
)

// MediaStore is what *memstore.Store and a *cloudstore.Store with a bucket have
// in common.
type MediaStore interface {
	BeginUpload(ctx context.Context, g, key string, m iris.Media, resume bool) (iris.Upload, error)
	Media(ctx context.Context, g, id string) (iris.Media, error)
	UploadedMedia(ctx context.Context, g, key string) (iris.Media, error)
	OpenMedia(ctx context.Context, g, id string, offset, length int64) (iris.Media, io.ReadCloser, error)
	ExportMedia(ctx context.Context, g, after string, limit int) ([]iris.Media, string, error)
	DeleteMedia(ctx context.Context, g, id string) error
	DeleteMediaObjects(ctx context.Context, g string) error
	Close() error
}

// Limits of the media stores that are tested.
var Limits = iris.MediaLimits{MaxBytes: 64 << 20, Quota: 100 << 20}

// partSize is what a slow upload is cut into (operations.md, "The bucket").
const partSize = 8 << 20

// Objects are the names of a bucket's objects: all, and those that no lifecycle rule
// would ever remove if media are kept for ever.
type Objects struct{ All, Lasting func() []string }

// RunMedia runs the media's part of the contract over the stores that open
// returns, whose limits must be [Limits], with what they are made of and the objects
// that there are.
func RunMedia(t *testing.T, open func(t *testing.T) (MediaStore, *media.Library, Objects)) {
	for _, c := range []struct {
		name string
		test func(*mediaFixture)
	}{
		{"round trip", testMediaRoundTrip},
		{"ranges", testMediaRanges},
		{"as announced", testMediaAnnounced},
		{"too large", testMediaTooLarge},
		{"quota", testMediaQuota},
		{"another gateway's", testMediaIsolation},
		{"suspended", testMediaSuspend},
		{"killed", testMediaKilled},
		{"cut anywhere", testMediaCuts},
		{"two at once", testMediaTwo},
		{"said again", testMediaAgain},
		{"a key used again", testMediaKeyReuse},
		{"a host's id", testMediaHost},
		{"deleted", testMediaDelete},
		{"exported", testMediaExport},
		{"a gateway's", testMediaDeleteAll},
		{"what it is", testMediaDescribed},
		{"quota, two at once", testMediaQuotaRace},
		{"a file that changes", testMediaChanges},
		{"died while it resumed", testMediaDiedResuming},
		{"died before it said so", testMediaDiedKeeping},
		{"taken over while it finishes", testMediaTakenOver},
		{"removed while it finishes", testMediaRemovedFinishing},
		{"few parts", testMediaParts},
		{"aborted late", testMediaAbortedLate},
		{"versions of a row", testMediaRowVersions},
		{"removed by half", testMediaRemovedHalf},
		{"never sent", testMediaUnsent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, library, objects := open(t)
			t.Cleanup(func() { noError(t, s.Close()) })
			f := &mediaFixture{T: t, MediaStore: s, library: library, objects: objects, ctx: t.Context()}
			f.g = f.gateway()
			c.test(f)
		})
	}
}

type mediaFixture struct {
	*testing.T
	MediaStore
	library *media.Library
	objects Objects
	ctx     context.Context
	g       string
	broken  bool // uploads were broken off: Google's client may complete the part that was open, with what it had
}

// gateway makes a gateway and returns its id: media belong to one.
func (f *mediaFixture) gateway() string {
	f.Helper()
	g := iris.NewID("g_")
	noError(f.T, f.MediaStore.(Store).CreateGateway(f.ctx, iris.Gateway{ID: g}, iris.Token{Hash: iris.HashToken(g), Gateway: g}))
	return g
}

// noise returns n bytes that look like nothing, the same for the same seed.
func noise(n int, seed byte) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (f *mediaFixture) begin(key string, size int, resume bool) iris.Upload {
	f.Helper()
	u, err := f.BeginUpload(f.ctx, f.g, key, iris.Media{Kind: "document", Filename: "a.bin", Size: int64(size)}, resume)
	noError(f.T, err)
	f.Cleanup(func() { _ = u.Abort() }) // one that the test leaves open, with its connection
	return u
}

// slow makes the store take everything to come slowly.
func (f *mediaFixture) slow() { f.library.Now = Hasty(f.library.Now) }

// send writes in pieces as they come from a socket, the last of them an empty one.
func send(u io.Writer, b []byte) error {
	for piece := range slices.Chunk(b, 64<<10) {
		if _, err := u.Write(piece); err != nil {
			return err
		}
	}
	_, err := u.Write(nil)
	return err
}

// store makes a medium.
func (f *mediaFixture) store(key string, b []byte) iris.Media {
	f.Helper()
	u := f.begin(key, len(b), false)
	noError(f.T, send(u, b))
	m, err := u.Finish(f.ctx, strings.ToUpper(hashOf(b)))
	noError(f.T, err)
	return m
}

func (f *mediaFixture) read(id string, offset, length int64) []byte {
	f.Helper()
	_, r, err := f.OpenMedia(f.ctx, f.g, id, offset, length)
	noError(f.T, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	noError(f.T, err)
	return b
}

// holds fails unless the medium has these bytes.
func (f *mediaFixture) holds(id string, want []byte) {
	f.Helper()
	if got := f.read(id, 0, -1); !bytes.Equal(got, want) {
		f.Fatalf("%d bytes with hash %s, want %d with %s", len(got), hashOf(got), len(want), hashOf(want))
	}
}

// left fails unless there are so many objects, and nothing else but what a lifecycle
// rule takes from broken uploads.
func (f *mediaFixture) left(media int) {
	f.Helper()
	found := f.objects.Lasting()
	if !f.broken {
		found = f.objects.All()
	}
	if len(found) != media {
		f.Errorf("objects %v, want %d", found, media)
	}
}

func testMediaRoundTrip(f *mediaFixture) {
	f.slow()
	sizes := []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, partSize - 1, partSize, partSize + 1, 2*partSize + 5}
	for i, size := range sizes {
		b := noise(size, byte(i))
		m := f.store(fmt.Sprint("key", i), b)
		equal(f, "size and hash", fmt.Sprint(m.Size, m.SHA256), fmt.Sprint(size, hashOf(b)))
		f.holds(m.ID, b)
		got, err := f.Media(f.ctx, f.g, m.ID)
		noError(f.T, err)
		m.Created = stored(m.Created)
		equal(f, "row", got, m)
		got, err = f.UploadedMedia(f.ctx, f.g, fmt.Sprint("key", i))
		noError(f.T, err)
		equal(f, "row by key", got, m)
	}
	f.left(len(sizes))
}

// Every page of every size together: all that is complete, once.
func testMediaExport(f *mediaFixture) {
	want := map[string]iris.Media{}
	for i := range 5 {
		m := f.store(fmt.Sprint("key", i), noise(10, byte(i)))
		m.Created = stored(m.Created)
		want[m.ID] = m
	}
	noError(f.T, f.begin("cut", 10, false).Suspend())
	for limit := 1; limit < 8; limit++ {
		got := map[string]iris.Media{}
		for after, n := "", 0; n == 0 || after != ""; n++ {
			page, next, err := f.ExportMedia(f.ctx, f.g, after, limit)
			noError(f.T, err)
			for _, m := range page {
				if _, twice := got[m.ID]; twice {
					f.Errorf("limit %d: %s came twice", limit, m.ID)
				}
				got[m.ID] = m
			}
			after = next
		}
		equal(f, "exported", got, want)
	}
}

func testMediaRanges(f *mediaFixture) {
	b := noise(partSize+1000, 1)
	m := f.store("key", b)
	size := int64(len(b))
	for _, r := range [][2]int64{{0, -1}, {0, 0}, {0, 1}, {partSize - 10, 20}, {size - 1, -1}, {size - 1, 99}, {size, -1}, {size, 5}} {
		want := b[r[0]:]
		if r[1] >= 0 {
			want = want[:min(r[1], int64(len(want)))]
		}
		if got := f.read(m.ID, r[0], r[1]); !bytes.Equal(got, want) {
			f.Errorf("range %v: %d bytes, want %d", r, len(got), len(want))
		}
	}
	for _, offset := range []int64{-1, size + 1} {
		_, _, err := f.OpenMedia(f.ctx, f.g, m.ID, offset, -1)
		code(f, err, iris.CodeUnsupported)
	}
	_, _, err := f.OpenMedia(f.ctx, f.g, "md_none", 0, -1)
	code(f, err, iris.CodeNotFound)
}

// The answer was lost: with resume the upload is complete already.
func testMediaAgain(f *mediaFixture) {
	b := noise(1000, 1)
	m := f.store("key", b)
	u := f.begin("key", len(b), true)
	equal(f, "offset", u.Offset(), int64(len(b)))
	again, err := u.Finish(f.ctx, hashOf(b))
	noError(f.T, err)
	equal(f, "id", again.ID, m.ID)
	_, err = f.begin("key", len(b), true).Finish(f.ctx, hashOf(b[1:]))
	code(f, err, iris.CodeUnsupported)
	f.holds(m.ID, b)
	f.left(1)
}

// A device may use a name again: what it sent before stays what it was.
func testMediaKeyReuse(f *mediaFixture) {
	first, second := noise(1000, 1), noise(2000, 2)
	a := f.store("key", first)
	b := f.store("key", second)
	if a.ID == b.ID {
		f.Fatal("two media with one id")
	}
	got, err := f.UploadedMedia(f.ctx, f.g, "key")
	noError(f.T, err)
	equal(f, "newest", got.ID, b.ID)
	f.holds(a.ID, first)
	f.holds(b.ID, second)
	cut := f.begin("key", 5*partSize, true)
	noError(f.T, send(cut, noise(partSize, 3)))
	noError(f.T, cut.Suspend())
	c := f.store("key", first) // without resume: what was cut goes
	f.holds(c.ID, first)
	f.left(3)
}

// A host names its media itself, and says them again when it has heard no answer.
func testMediaHost(f *mediaFixture) {
	b := noise(partSize+1, 1)
	announced := iris.Media{ID: "md_a/b", Size: int64(len(b)), Kind: "document"}
	for range 2 {
		u, err := f.BeginUpload(f.ctx, f.g, iris.HostUpload(announced.ID), announced, false)
		noError(f.T, err)
		noError(f.T, send(u, b))
		m, err := u.Finish(f.ctx, hashOf(b))
		noError(f.T, err)
		equal(f, "id", m.ID, announced.ID)
	}
	u, err := f.BeginUpload(f.ctx, f.g, iris.HostUpload(announced.ID), announced, false)
	noError(f.T, err)
	other := noise(partSize+1, 2)
	noError(f.T, send(u, other))
	_, err = u.Finish(f.ctx, hashOf(other))
	code(f, err, iris.CodeUnsupported)
	noError(f.T, u.Abort())
	for want, other := range map[iris.Code][]byte{iris.CodeUnsupported: b[:partSize], iris.CodeMediaTooLarge: append(noise(partSize+1, 1), 0)} {
		u, err := f.BeginUpload(f.ctx, f.g, iris.HostUpload(announced.ID), announced, false)
		noError(f.T, err)
		if err = send(u, other); err == nil {
			_, err = u.Finish(f.ctx, hashOf(b))
		}
		code(f, err, want)
	}
	f.holds(announced.ID, b)
	announced.Size = 7
	_, err = f.BeginUpload(f.ctx, f.g, iris.HostUpload(announced.ID), announced, false)
	code(f, err, iris.CodeConflict)
	_, err = f.BeginUpload(f.ctx, f.g, "another", announced, false)
	code(f, err, iris.CodeConflict)
	f.left(1)
}

func testMediaDelete(f *mediaFixture) {
	m := f.store("key", noise(100, 1))
	for range 2 {
		noError(f.T, f.DeleteMedia(f.ctx, f.g, m.ID))
	}
	_, err := f.Media(f.ctx, f.g, m.ID)
	code(f, err, iris.CodeNotFound)
	_, _, err = f.OpenMedia(f.ctx, f.g, m.ID, 0, -1)
	code(f, err, iris.CodeNotFound)
	_, err = f.UploadedMedia(f.ctx, f.g, "key")
	code(f, err, iris.CodeNotFound)
	f.left(0)
}

func testMediaDeleteAll(f *mediaFixture) {
	f.store("key", noise(100, 1))
	cut := f.begin("cut", 2*partSize, true)
	noError(f.T, send(cut, noise(partSize, 1)))
	noError(f.T, cut.Suspend()) // its part is complete, not under way
	other := *f
	other.g = f.gateway()
	m := other.store("key", noise(100, 2))
	noError(f.T, f.DeleteMediaObjects(f.ctx, f.g))
	other.holds(m.ID, noise(100, 2))
	f.left(1)
}

// What is kept is what the bytes are, whichever attempt saw the first of them.
func testMediaDescribed(f *mediaFixture) {
	png := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), noise(partSize, 1)...)
	announced := iris.Media{Kind: "video", MIME: "video/mp4", Filename: "../a\x00/b\n🐢.png", Size: int64(len(png))}
	u, err := f.BeginUpload(f.ctx, f.g, "key", announced, true)
	noError(f.T, err)
	noError(f.T, send(u, png[:partSize]))
	noError(f.T, u.Suspend())
	u, err = f.BeginUpload(f.ctx, f.g, "key", announced, true)
	noError(f.T, err)
	m := f.finish(u, png)
	equal(f, "medium", m.Kind+" "+m.MIME+" "+m.Filename, "image image/png b🐢.png")
	if _, err := u.Finish(f.ctx, hashOf(png)); err == nil || errors.Is(err, context.Canceled) {
		f.Errorf("finished twice: %v", err)
	}
}
