package media_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/cloudstore/internal/rows"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/cloudstore/storetest"
	"iris-gateway/iris"
)

var (
	histories     = flag.Int("media.histories", 40, "random histories of uploads to go through")
	historiesSeed = flag.Uint64("media.seed", 0, "of the first of them; 0 draws a new one")
)

// TestHistories goes through random histories: several connections send files under the
// same names, are cut, killed, come late, and each call of the rows or the bucket
// may fail, have its effect later or unheard, or let all the others work in front of it
// and behind it. What was acknowledged stays readable until it is removed or expires,
// no medium has the bytes of two files, and in the end nothing is kept for ever
// that no row names.
//
// A seed repeats its history but for a second now and then: the looks at the start of an
// upload go at once, and each asks for the time.
func TestHistories(t *testing.T) {
	first := *historiesSeed
	if first == 0 {
		first = rand.Uint64N(1 << 40)
	}
	t.Logf("seed %d", first)
	for i := range *histories {
		seed := first + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, seed)
			h := newHistory(t, seed)
			for range 40 {
				h.step()
			}
			h.end()
			if t.Failed() {
				t.Logf("go test -run TestHistories -media.seed=%d -media.histories=1\n%s", seed, strings.Join(h.log, "\n"))
			}
		})
		if t.Failed() {
			return
		}
	}
}

// history is one of them. All but the closing of objects is done by one goroutine.
type history struct {
	t        *testing.T
	s        *memstore.Store
	rows     media.Rows
	bucket   media.Bucket
	random   *rand.Rand
	calm     bool // no faults, nobody else
	faults   bool
	depth    int // operations that are under way
	skipped  time.Duration
	files    []*file
	attempts []*attempt
	acting   *attempt
	pending  []func() // effects that may come
	log      []string

	sent     map[string]bool      // media that messages have
	deleting map[string]int       // media that are being deleted
	owner    map[string]*attempt  // who changed a row last
	finisher map[string]*attempt  // who made it ready
	gone     map[string]bool      // media that were removed, rightly
	expires  map[string]time.Time // of objects
	verified map[any]bool         // versions of rows whose bytes were read
	strays   map[string]*attempt  // objects that last, by who made them so when the row was not his
}

// file is what is sent under one key; it may change.
type file struct {
	key, id  string // id: a host's
	versions [2][]byte
	now      int
}

// attempt is somebody who works with the store.
type attempt struct {
	file     *file
	content  []byte
	resume   bool
	upload   iris.Upload
	busy     bool
	dead     bool   // was killed
	troubled bool   // one of its calls went wrong
	blind    string // which look goes wrong
	cleaning bool   // removes what it made the medium of
}

func newHistory(t *testing.T, seed uint64) *history {
	s := newStore(t)
	h := &history{
		t: t, s: s, rows: s.Rows, bucket: s.Bucket, random: rand.New(rand.NewPCG(seed, 0)), acting: &attempt{},
		sent: map[string]bool{}, deleting: map[string]int{}, owner: map[string]*attempt{}, finisher: map[string]*attempt{}, gone: map[string]bool{},
		expires: map[string]time.Time{}, verified: map[any]bool{}, strays: map[string]*attempt{},
	}
	h.faults = h.random.IntN(4) > 0
	start := time.Now()
	s.Now = storetest.Hasty(func() time.Time { return start.Add(h.skipped) })
	s.Rows, s.Bucket = tornRows{s.Rows, h}, tornBucket{s.Bucket, h}
	if h.random.IntN(4) == 0 {
		s.Retention = []time.Duration{time.Hour, 3 * 24 * time.Hour}[h.random.IntN(2)]
	}
	sizes := []int{0, 1000, 300_000, 700_000, 1_000_000}
	if seed%50 == 0 {
		sizes = []int{2*media.PartSize + 300_000}
	}
	for i, id := range []string{"", "", "md_1"}[seed%2:] {
		f := &file{key: fmt.Sprint("key", i), id: id}
		size := sizes[h.random.IntN(len(sizes))]
		for v := range f.versions {
			if h.random.IntN(6) == 0 {
				size = sizes[h.random.IntN(len(sizes))]
			}
			f.versions[v] = make([]byte, size)
			_, _ = rand.NewChaCha8([32]byte{byte(i), byte(v)}).Read(f.versions[v])
		}
		h.files = append(h.files, f)
	}
	return h
}

// now is the time, which passes when the library looks, not when the test does.
func (h *history) now() time.Time { return h.s.Now() }

// meanwhile lets others work, in the middle of a call.
func (h *history) meanwhile() {
	if !h.calm && h.depth < 4 && h.random.IntN(8) == 0 {
		h.step()
	}
}

// step is what somebody does.
func (h *history) step() {
	op := h.random.IntN(20)
	free := slices.DeleteFunc(slices.Clone(h.attempts), func(a *attempt) bool { return a.busy || a.dead || a.upload == nil })
	switch {
	case op < 5 || op < 14 && len(free) == 0:
		f := h.files[h.random.IntN(len(h.files))]
		if h.random.IntN(8) == 0 {
			f.now = 1 - f.now
		}
		h.begin(f, h.random.IntN(3) > 0)
	case op < 14:
		h.goOn(free[h.random.IntN(len(free))], op)
	case op < 16 && len(h.pending) > 0:
		i := h.random.IntN(len(h.pending))
		land := h.pending[i]
		h.pending = slices.Delete(h.pending, i, i+1)
		h.note("something comes late")
		land()
	case op == 16:
		h.skip([]time.Duration{2 * time.Minute, 2 * time.Minute, time.Hour, iris.UploadLifetime + time.Hour, 8 * 24 * time.Hour}[h.random.IntN(5)])
	case op == 17:
		h.delete()
	case op == 18 && h.depth == 0: // a message says which medium it has when nobody removes it
		for _, row := range h.all() {
			h.sent[row.ID] = h.sent[row.ID] || row.Ready && h.random.IntN(2) == 0
		}
	case op == 19:
		h.lifecycle()
	}
	synctest.Wait()
	h.verify()
}

// goOn is what somebody does who has begun.
func (h *history) goOn(a *attempt, op int) {
	switch {
	case op < 8:
		h.do(a, "writes", func() error {
			rest := a.content[min(int(a.upload.Offset()), len(a.content)):]
			return h.left(a, send(a.upload, rest[:min(len(rest), 100_000+h.random.IntN(300_000))]))
		})
	case op < 10:
		h.leave(a)
	case op == 10:
		h.note("%s is killed", h.name(a))
		a.dead = true
	default:
		h.finish(a)
	}
}

// do does what an attempt does, unless that kills it.
func (h *history) do(a *attempt, what string, do func() error) (err error) {
	name := h.name(a)
	h.note("%s %s", name, what)
	before := h.acting
	h.acting = a
	h.depth++
	a.busy = true
	defer func() {
		a.busy = false
		h.depth--
		h.acting = before
		if e := recover(); e != nil {
			if _, died := e.(death); !died {
				panic(e)
			}
			a.dead, err = true, errLost
			h.note("%s dies", name)
			return
		}
		h.note("%s %s: %v", name, what, err)
	}()
	return do()
}

func (h *history) begin(f *file, resume bool) (*attempt, error) {
	a := &attempt{file: f, content: f.versions[f.now], resume: resume}
	if h.faults && h.random.IntN(8) == 0 {
		a.blind = []string{"unfinished", "review", "expired", "bytes"}[h.random.IntN(4)]
		a.troubled = true
	}
	h.attempts = append(h.attempts, a)
	return a, h.do(a, fmt.Sprintf("begins %s (%q, %d bytes, version %d, resume %v)", f.key, f.id, len(a.content), f.now, resume), func() error {
		u, err := h.s.BeginUpload(h.t.Context(), gateway, f.key, iris.Media{ID: f.id, Size: int64(len(a.content))}, resume)
		if err != nil {
			return err
		}
		a.upload = u
		if at := u.Offset(); at < 0 || at > int64(len(a.content)) {
			h.t.Errorf("goes on at %d of %d", at, len(a.content))
		}
		return nil
	})
}

func (h *history) finish(a *attempt) error {
	return h.do(a, "finishes", func() error {
		err := send(a.upload, a.content[min(int(a.upload.Offset()), len(a.content)):])
		if err != nil {
			return h.left(a, err)
		}
		m, err := a.upload.Finish(h.t.Context(), hashOf(a.content))
		a.cleaning = false
		if err != nil {
			return h.left(a, err)
		}
		h.acked(a, m)
		a.upload = nil
		return nil
	})
}

// left ends an attempt that has failed, as those do who call.
func (h *history) left(a *attempt, err error) error {
	if err == nil {
		return nil
	}
	u := a.upload
	a.upload = nil
	if iris.ErrorCode(err) != "" && iris.ErrorCode(err) != iris.CodeInternal || !a.resume {
		_ = u.Abort()
	} else {
		_ = u.Suspend()
	}
	return err
}

func (h *history) leave(a *attempt) {
	h.do(a, "leaves", func() error {
		u := a.upload
		a.upload = nil
		if a.resume {
			return u.Suspend()
		}
		return u.Abort()
	})
}

func (h *history) delete() {
	all := slices.DeleteFunc(h.all(), func(r media.Row) bool { return !r.Ready })
	if len(all) == 0 {
		return
	}
	id := all[h.random.IntN(len(all))].ID
	h.deleting[id]++
	defer func() { h.deleting[id]-- }()
	_ = h.do(&attempt{}, "deletes "+id, func() error { return h.s.DeleteMedia(h.t.Context(), gateway, id) })
}

func (h *history) skip(d time.Duration) {
	h.note("%v pass", d)
	h.skipped += d
}

// lifecycle removes the objects that the bucket's rules remove.
func (h *history) lifecycle() {
	for _, name := range h.s.Objects() {
		if at := h.expires[name]; !at.IsZero() && h.now().After(at.Add(24*time.Hour)) {
			h.note("a rule removes %s", name)
			_ = h.bucket.Delete(h.t.Context(), name)
		}
	}
}

// end lets all end that still goes on, and looks at what is left when each file was
// sent once more, and time has passed.
func (h *history) end() {
	for _, land := range h.pending {
		if h.random.IntN(2) == 0 {
			land()
		}
	}
	h.calm = true
	for _, a := range h.attempts {
		if a.upload != nil && !a.dead && h.random.IntN(2) == 0 {
			h.leave(a)
		}
	}
	synctest.Wait()
	h.verify()
	h.skip(2 * time.Minute)
	for _, f := range h.files {
		h.again(f)
	}
	h.skip(iris.UploadLifetime + time.Hour)
	for range 2 {
		h.again(&file{key: "another"})
	}
	if waiting, err := h.rows.UnfinishedRows(h.t.Context(), gateway); err != nil || len(waiting) > 0 {
		h.t.Errorf("rows wait for ever: %v, %v", waiting, err)
	}
	h.nothingLeft()
	h.skip(48 * time.Hour)
	h.lifecycle()
	h.verify()
	for _, row := range h.all() {
		h.deleting[row.ID]++
		if err := h.s.DeleteMedia(h.t.Context(), gateway, row.ID); err != nil {
			h.t.Error(err)
		}
	}
	h.nothingLeft()
}

// again sends a file until it is a medium. Under a name that never changes, and with
// resume, another file may have become it before: the store says so.
func (h *history) again(f *file) {
	var err error
	for n := range 4 {
		var a *attempt
		if a, err = h.begin(f, n == 0 && h.random.IntN(2) == 0); err == nil {
			err = h.finish(a)
		}
		if err == nil {
			return
		}
		if f.id != "" && h.another(f) {
			return
		}
		h.skip(2 * time.Minute)
	}
	h.t.Errorf("%s cannot be sent: %v", f.key, err)
}

// another reports whether a host's id is that of a medium with another file.
func (h *history) another(f *file) bool {
	m, err := h.s.Media(h.t.Context(), gateway, f.id)
	return err == nil && m.SHA256 != hashOf(f.versions[f.now])
}

// nothingLeft fails if objects last that no row names. A weakness is accepted: somebody
// keeps or composes an object when another has the row already, and dies before he takes it
// back; or the other, to whom he leaves it, dies when the row is ready, and then it goes with the
// medium. Each needs a takeover and a death within two calls, and to ask again who has
// the row would cost every upload a read.
func (h *history) nothingLeft() {
	named, died := map[string]bool{}, map[string]bool{}
	var sum int64
	for _, row := range h.all() {
		named[objectOf(row)] = row.Ready
		died[uploadOf(objectOf(row))] = row.Ready && h.finisher[row.ID].troubled
		sum += row.Size
	}
	for _, name := range h.s.Lasting() {
		by, stray := h.strays[name]
		if !named[name] && !(stray && (by.troubled || died[uploadOf(name)])) {
			h.t.Errorf("%s stays for ever", name)
		}
	}
	if used, err := h.rows.MediaBytes(h.t.Context(), gateway); err != nil || used != sum {
		h.t.Errorf("%d bytes used, want %d, %v", used, sum, err)
	}
}

// mayGo reports whether there is a reason to remove a medium.
func (h *history) mayGo(id string) bool {
	row, found, err := h.rows.MediaRow(context.WithoutCancel(h.t.Context()), gateway, id)
	unsent := rows.Expired(row.Review, h.now()) && !h.sent[id]
	return err == nil && found && (h.deleting[id] > 0 || unsent || rows.Expired(row.Expires, h.now()))
}

// replaced looks at a change of a row.
func (h *history) replaced(old, row media.Row, mayGo bool) {
	h.owner[row.ID] = h.acting
	h.acting.cleaning = row.Ready && row.Key != "" && len(h.acting.content) > media.PartSize
	if !old.Ready {
		h.finisher[row.ID] = h.acting
		return
	}
	switch {
	case row.Ready && row.Key != "" || row.Ready && h.acting.file.key != old.Key:
		h.t.Errorf("a medium that is ready was changed: %v to %v", old, row)
	case row.Ready: // a newer one has its name
	case mayGo:
		h.gone[row.ID+row.Created.String()] = true
	default:
		h.t.Errorf("a medium is removed that nobody deleted: %v", old)
	}
}

// lasts notes until when an object is kept.
func (h *history) lasts(name string, expires time.Time) {
	if was, found := h.expires[name]; found && !expires.IsZero() && expires.Before(was) {
		h.t.Errorf("%s is to expire at %v, before %v: a bucket refuses that", name, expires, was)
	}
	h.expires[name] = expires
	own := h.owned(name)
	h.note("%s keeps %s until %v, its own %v", h.name(h.acting), name, expires, own)
	if !own || len(h.acting.content) == 0 { // an empty part is of no use for who goes on
		h.strays[name] = h.acting
	}
}

// acked fails unless a medium that was acknowledged is there, with the right bytes, and
// named by its key, or by a newer one's.
func (h *history) acked(a *attempt, m iris.Media) {
	if m.SHA256 != hashOf(a.content) || m.Size != int64(len(a.content)) {
		h.t.Errorf("acknowledged is %+v for %s", m, hashOf(a.content))
	}
	if h.gone[m.ID+m.Created.String()] {
		return // it was removed in that moment
	}
	row, found, err := h.rows.MediaRow(h.t.Context(), gateway, m.ID)
	if err != nil || !found || !row.Ready {
		h.t.Errorf("acknowledged is %v, there is %v, %v", m, row, err)
		return
	}
	if row.Key == "" || rows.Expired(row.Expires, h.now()) {
		return
	}
	calm := h.calm
	h.calm = true
	got, err := h.s.UploadedMedia(h.t.Context(), gateway, a.file.key)
	h.calm = calm
	if err != nil || got.ID != m.ID && !got.Created.After(m.Created) {
		h.t.Errorf("the key names %v, %v; want %v or a newer one", got, err, m)
	}
}

// verify fails unless each medium that is ready can be read as what it is said to be.
func (h *history) verify() {
	for _, row := range h.all() {
		name := objectOf(row)
		if !row.Ready || rows.Expired(row.Expires, h.now()) {
			continue
		}
		if _, found := slices.BinarySearch(h.s.Objects(), name); !found {
			h.t.Fatalf("%v is ready and has no object\n%s", row, strings.Join(h.log, "\n"))
		}
		if h.verified[row.Version] {
			continue
		}
		h.verified[row.Version] = true
		r, err := h.bucket.Read(h.t.Context(), name, 0, row.Size)
		if err != nil {
			h.t.Fatal(err)
		}
		if got, _ := io.ReadAll(r); hashOf(got) != row.SHA256 || !h.known(got) {
			h.t.Fatalf("%v has other bytes, %d with %s\n%s", row, len(got), hashOf(got), strings.Join(h.log, "\n"))
		}
	}
}

func (h *history) known(b []byte) bool {
	return len(b) == 0 || slices.ContainsFunc(h.files, func(f *file) bool {
		return bytes.Equal(f.versions[0], b) || bytes.Equal(f.versions[1], b)
	})
}

// all returns the rows that there are.
func (h *history) all() []media.Row {
	all, err := h.rows.MediaPage(context.WithoutCancel(h.t.Context()), gateway, "", 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// objectOf is the name of a medium's object.
func objectOf(row media.Row) string {
	safe := func(id string) string {
		sum := sha256.Sum256([]byte(id))
		return base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return "media/" + safe(gateway) + "/" + safe(row.ID) + "-" + row.Attempt
}

// uploadOf is what the names of the objects of one upload begin with.
func uploadOf(name string) string { return name[:strings.LastIndexAny(name, "-.")+1] }

func (h *history) name(a *attempt) string {
	return fmt.Sprint("attempt ", slices.Index(h.attempts, a))
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, strings.Repeat("  ", h.depth)+fmt.Sprintf(format, args...))
}
