package simtest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"iris-gateway/iris"
)

// checker compares what one connection of a device gets with the log: after a
// sync the log's frames, all of them, in order, and no other. The world's mutex
// is held in all of its methods.
type checker struct {
	c     *deviceConn
	acked int64   // hello.ack.sync_cursor
	fresh bool    // it begins there
	asked []int64 // where the syncs begin that are not answered yet

	replay  []replayed // frames with a cursor since the last sync.done
	loose   []string   // frames of a connection that has not synced
	answers []string   // that came out of order, or before a sync

	beat   string // the last one that was seen to begin
	synced time.Time

	live bool  // synced: everything that comes has a known place
	pos  int64 // entries up to here came whole
	idx  int   // frames of the next entry that came
}

// late reports whether a sync may have come after the two seconds in which live
// frames are held: then there was a replay that nobody asked for.
func (k *checker) late() bool { return time.Since(k.c.dialed) >= 2*time.Second }

// held is how long live frames wait for a first sync at least, seen from the
// device, whose hello.ack was some time under way.
const held = 1500 * time.Millisecond

// replayed is a frame that came with a cursor.
type replayed struct {
	cursor int64
	frame  string
}

// bare takes cursor and id off a frame.
func bare(raw string) string {
	return `{"v":1,` + raw[strings.Index(raw, `"type":`):]
}

// hello takes where the device is, in the gateway's opinion.
func (k *checker) hello(c *deviceConn, cursor int64) {
	k.c, k.acked = c, cursor
	d, log := c.d, &c.d.w.log
	switch {
	case cursor > log.head():
		d.w.failf("%s: sync_cursor %d, the head is %d", c, cursor, log.head())
	case d.done < 0 && cursor > 0 && attaches(log.entries[cursor-1], d.name): // the gateway takes it for a fresh one
		d.received = max(d.received, cursor)
		k.fresh, k.live, k.pos, k.synced = true, true, cursor, time.Now()
	case d.received < 0:
		d.received = cursor
	case cursor > log.beyond(d.received):
		d.w.failf("%s: sync_cursor %d, but the device has received only %d", c, cursor, d.received)
	}
}

func attaches(e iris.Entry, device string) bool {
	return slices.ContainsFunc(e.Control, func(c iris.Control) bool {
		return c.Kind == iris.DeviceAttached && c.Device == device
	})
}

// terminal takes a frame that is no live one.
func (k *checker) terminal(kind, raw string, cursor int64, answer bool) {
	if k.c == nil {
		return // an answer before hello.ack cannot be
	}
	frame := bare(raw)
	if kind == "message.stop" {
		k.stopped(raw)
	}
	switch {
	case cursor > 0:
		k.old(cursor, frame)
	case answer && (!k.live || len(k.replay) > 0):
		k.answers = append(k.answers, frame) // they are never held
	case kind == "tool.start" && (!k.live || !k.next(frame)):
		// a live one
	case !k.live:
		if k.c.d.w.plain && time.Since(k.c.greeted) < held {
			k.c.d.w.failf("%s: before its sync came %s", k.c, raw)
		}
		k.loose = append(k.loose, frame)
	case len(k.replay) > 0 && kind != "agent.busy":
		k.c.d.w.failf("%s: in the middle of a replay came %s", k.c, raw)
	default:
		k.follow(kind, frame, answer)
	}
}

// started takes the beginning of a message. An answer that was seen to follow a
// beat must not come before the beat's end: a live frame would have passed a
// terminal one that waits. On another instance than the host's, after faults and
// right after a sync it may: there live documents and snapshots show it.
func (k *checker) started(kind, id string) {
	turn, answer := strings.CutSuffix(id, "-answer")
	switch {
	case kind != "message.start":
	case !answer:
		k.beat = id
	case k.c.d.w.steady && k.live && time.Since(k.synced) > time.Second && k.beat == turn+"-beat" && !k.c.stopped[k.beat]:
		k.c.d.w.failf("%s: %s begins before %s has ended", k.c, id, k.beat)
	}
}

func (k *checker) stopped(raw string) {
	var f struct {
		Payload struct {
			MessageID string `json:"message_id"`
		}
	}
	if json.Unmarshal([]byte(raw), &f) == nil {
		k.c.d.stopped[f.Payload.MessageID], k.c.stopped[f.Payload.MessageID] = true, true
	}
}

// old takes a frame of a replay.
func (k *checker) old(cursor int64, frame string) {
	w := k.c.d.w
	switch n := len(k.replay); {
	case n == 0 || k.replay[n-1].cursor <= cursor:
	case k.late(): // what went before belonged to the replay that nobody asked for
		k.replay = nil
	default:
		w.failf("%s: replay of entry %d after %d", k.c, cursor, k.replay[n-1].cursor)
	}
	if cursor > w.log.head() || !slices.Contains(w.log.frames(cursor), frame) {
		w.failf("%s: entry %d does not hold %s", k.c, cursor, frame)
	}
	if len(k.asked) == 0 {
		if !isType(frame, "tool.start") {
			k.loose = append(k.loose, frame)
		}
		return
	}
	k.replay = append(k.replay, replayed{cursor, frame})
}

// skip passes over the entries that came whole.
func (k *checker) skip() {
	log := &k.c.d.w.log
	for k.pos < log.head() && k.idx >= len(log.frames(k.pos+1)) {
		k.pos, k.idx = k.pos+1, 0
	}
	k.c.d.received = max(k.c.d.received, k.pos)
}

// next reports whether a frame is the next one of the log.
func (k *checker) next(frame string) bool {
	k.skip()
	log := &k.c.d.w.log
	return k.pos < log.head() && log.frames(k.pos + 1)[k.idx] == frame
}

// follow takes a frame that has to be the next one of the log. The exceptions
// are the answer of a repeated message, and the agent.busy that tells a device
// what runs.
func (k *checker) follow(kind, frame string, answer bool) {
	if k.next(frame) {
		k.idx++
		k.skip()
		return
	}
	if answer || kind == "agent.busy" {
		return
	}
	w, want := k.c.d.w, "nothing"
	if k.pos < w.log.head() {
		want = w.log.frames(k.pos + 1)[k.idx]
	}
	w.failf("%s: got %s, want entry %d: %s", k.c, frame, k.pos+1, want)
}

// syncDone takes the end of a replay: it must have brought everything that the
// log holds between the two cursors.
func (k *checker) syncDone(cursor int64, complete bool) {
	w := k.c.d.w
	if len(k.asked) == 0 {
		w.failf("%s: sync.done without sync", k.c)
		return
	}
	from := k.asked[0]
	k.asked = k.asked[1:]
	got := k.replay
	k.replay = nil
	first := w.log.first()
	switch {
	case cursor > w.log.head():
		w.failf("%s: sync.done at %d, the head is %d", k.c, cursor, w.log.head())
		return
	case complete && from > cursor:
		w.failf("%s: sync from %d ends at %d as complete", k.c, from, cursor)
	case !complete && from <= cursor && first <= from+1:
		w.failf("%s: sync from %d is incomplete, but the log begins at %d", k.c, from, first)
	}
	least := from // entries behind it must have come
	if !complete {
		least = max(from, first-1)
	}
	k.compare(least, cursor, got, complete)
	if from <= w.log.beyond(k.c.d.received) || !complete { // what is gone, history shows
		k.c.d.received = max(k.c.d.received, cursor)
	}
	k.c.d.done = cursor
	k.live, k.pos, k.idx, k.synced = true, cursor, 0, time.Now()
}

// compare checks that a replay ended with the frames between two cursors.
func (k *checker) compare(after, upTo int64, got []replayed, exact bool) {
	w := k.c.d.w
	var want []replayed
	for cursor := after + 1; cursor <= upTo; cursor++ {
		for _, f := range w.log.frames(cursor) {
			want = append(want, replayed{cursor, f})
		}
	}
	if exact && !k.late() && len(got) != len(want) || len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
		w.failf("%s: replay of %d … %d brought %v, want %v", k.c, after+1, upTo, got, want)
	}
}

// end checks what came without a sync: a piece of the log without holes.
func (k *checker) end() {
	if k.c == nil || len(k.loose) == 0 {
		return
	}
	log := &k.c.d.w.log
	for start := k.c.before; start <= log.head(); start++ {
		if k.fits(start) {
			return
		}
	}
	k.c.d.w.failf("%s: without a sync came %v, which is no piece of the log", k.c, k.loose)
}

// passes reports whether the next frame of the log may be missing among the
// loose ones in front of f: tool.start looks like a live one, and an answer may
// have come in the place of its frame.
func (k *checker) passes(probe *checker, f string) bool {
	log := &k.c.d.w.log
	if probe.pos >= log.head() {
		return false
	}
	next := log.frames(probe.pos + 1)[probe.idx]
	return isType(next, "tool.start") || next != f && slices.Contains(k.answers, next)
}

func (k *checker) fits(start int64) bool {
	probe := checker{c: k.c, pos: start}
	received := k.c.d.received
	defer func() { k.c.d.received = received }()
	for _, f := range k.loose {
		for probe.skip(); k.passes(&probe, f); probe.skip() {
			probe.idx++
		}
		switch {
		case probe.next(f):
			probe.idx++
		case !isType(f, "agent.busy"):
			return false
		}
	}
	return true
}
