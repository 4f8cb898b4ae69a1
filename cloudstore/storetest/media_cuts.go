package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"iris-gateway/iris"
)

// A cut that the gateway hears of loses little: the part that was open is kept.
func testMediaSuspend(f *mediaFixture) {
	f.slow()
	b := noise(2*partSize, 1)
	u := f.begin("key", len(b), true)
	noError(f.T, send(u, b[:partSize+500_000]))
	noError(f.T, u.Suspend())
	_, err := f.UploadedMedia(f.ctx, f.g, "key")
	code(f, err, iris.CodeNotFound)
	u = f.begin("key", len(b), true)
	equal(f, "offset", u.Offset(), int64(partSize+500_000))
	f.finish(u, b)
	f.left(1)
}

// A part is as large as what comes in a second, if that is more than 8 MiB: who sends
// fast has one.
func testMediaParts(f *mediaFixture) {
	start := f.library.Now()
	at := start
	f.library.Now = func() time.Time { return at }
	b := noise(7*partSize/2, 1)
	u := f.begin("key", len(b), true)
	for _, c := range []struct {
		to    int
		after time.Duration
	}{
		{1, 0},
		{partSize - 1, 2 * time.Second},     // too small
		{partSize, 2 * time.Second},         // a part
		{5 * partSize / 2, 2 * time.Second}, // begun at 2 s
		{5*partSize/2 + 1, 3*time.Second - 1},
		{5*partSize/2 + 2, 3 * time.Second}, // the second
		{7 * partSize / 2, 3 * time.Second},
	} {
		at = start.Add(c.after)
		noError(f.T, send(u, b[u.Offset():c.to]))
	}
	noError(f.T, u.Suspend())
	u = f.begin("key", len(b), true)
	equal(f, "goes on at", u.Offset(), int64(len(b)))
	equal(f, "parts", len(f.objects.All()), 3)
	f.finish(u, b)
	f.left(1)
}

// finish sends the rest of b and fails unless a medium with b comes of it.
func (f *mediaFixture) finish(u iris.Upload, b []byte) iris.Media {
	f.Helper()
	noError(f.T, send(u, b[u.Offset():]))
	m, err := u.Finish(f.ctx, hashOf(b))
	noError(f.T, err)
	f.holds(m.ID, b)
	return m
}

// A gateway that is killed says nothing: the upload goes on behind the last part
// that was complete, and the bucket may still work on the three newest ones.
func testMediaKilled(f *mediaFixture) {
	f.broken = true
	f.slow()
	b := noise(2*partSize+100, 1)
	for cut, want := range map[int]int64{0: 0, 10: 0, partSize - 1: 0, partSize: partSize, 2*partSize + 99: 2 * partSize} {
		key := fmt.Sprint("key", cut)
		life, kill := context.WithCancel(f.ctx)
		dead, err := f.BeginUpload(life, f.g, key, iris.Media{Size: int64(len(b))}, true)
		noError(f.T, err)
		noError(f.T, send(dead, b[:cut]))
		kill()
		u := f.begin(key, len(b), true)
		if at := u.Offset(); at > want || at < want-3*partSize || at%partSize != 0 {
			f.Errorf("cut at %d: goes on at %d, want %d or up to three parts less", cut, at, want)
		}
		m := f.finish(u, b)
		noError(f.T, dead.Abort()) // for the test's own sake
		f.holds(m.ID, b)
		noError(f.T, f.DeleteMedia(f.ctx, f.g, m.ID))
	}
	f.left(0)
}

func testMediaCuts(f *mediaFixture) {
	seed := rand.Uint64()
	f.Logf("seed %d", seed)
	f.slow()
	random := rand.New(rand.NewPCG(seed, 0))
	b := noise(3*partSize+random.IntN(partSize), 1)
	for n := 0; ; n++ {
		u := f.begin("key", len(b), true)
		from := int(u.Offset())
		if n == 12 {
			f.finish(u, b)
			break
		}
		noError(f.T, send(u, b[from:from+random.IntN(len(b)-from+1)]))
		if n%2 == 0 {
			noError(f.T, u.Suspend())
		}
	}
	f.left(1)
}

// A connection that does not know yet that it is dead, and the one that took its
// place: one of them finishes.
func testMediaTwo(f *mediaFixture) {
	f.slow()
	b := noise(partSize+100, 1)
	old := f.begin("key", len(b), true)
	noError(f.T, send(old, b[:partSize+50]))
	u := f.begin("key", len(b), true)
	if at := u.Offset(); at != 0 && at != partSize {
		f.Errorf("goes on at %d", at)
	}
	noError(f.T, send(old, b[partSize+50:]))
	_, err := old.Finish(f.ctx, hashOf(b))
	code(f, err, iris.CodeConflict)
	noError(f.T, old.Abort())
	m := f.finish(u, b)
	got, err := f.UploadedMedia(f.ctx, f.g, "key")
	noError(f.T, err)
	equal(f, "id", got.ID, m.ID)
	f.holds(m.ID, b)
}
