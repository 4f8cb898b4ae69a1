package chaos

import (
	"fmt"
	"maps"
	"slices"

	"iris-gateway/handlers/wire"
)

// span is a part of the log that a device has received: the entries after one
// cursor, up to another.
type span struct{ after, to int64 }

// reading follows one visit along the log.
type reading struct {
	*record
	v      *visit
	name   string
	any    bool         // it may be anywhere: nothing told yet where the log goes on
	at     map[int]bool // where it may be, as indexes into final
	from   int64        // of the span that is being received
	replay []frame
	spans  []span // received, or excused: a sync said that it is not complete
}

// checkPhone: every frame of the log reached the phone, in order, and what the
// gateway keeps as its cursor is not ahead of that.
func (r *record) checkPhone(p *phone, saved int64) {
	var spans []span
	start := int64(-1)
	for _, v := range p.visits {
		rd := &reading{record: r, v: v, name: fmt.Sprintf("%s, visit %d to %s", p.id, v.n, v.instance), any: true}
		if v.acked && start < 0 { // a fresh device begins at its attachment
			start = v.base
			if v.followsAtOnce() {
				rd.begin(v.base)
			}
		}
		rd.run()
		spans = append(spans, rd.spans...)
	}
	if start < 0 {
		r.t.Errorf("%s never got in", p.id)
		return
	}
	to := reach(start, spans)
	if to < *p.cursor {
		r.t.Errorf("%s has received everything only from %d up to %d, its last sync said %d; spans %v", p.id, start, to, *p.cursor, spans)
		for _, v := range p.visits {
			r.t.Logf("%s, visit %d to %s: hello.ack %v from %d, %d syncs asked, %d done, %d frames", p.id, v.n, v.instance, v.acked, v.base, len(v.syncs), v.done, len(v.frames))
		}
	}
	if saved > to {
		r.t.Errorf("%s: the gateway keeps cursor %d, the device has received everything up to %d", p.id, saved, to)
	}
}

// reach returns how far spans go without a hole.
func reach(from int64, spans []span) int64 {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return int(a.after - b.after) })
	for _, s := range spans {
		if s.after <= from {
			from = max(from, s.to)
		}
	}
	return from
}

// followsAtOnce reports whether the log's frames come without a sync, as they do
// to a device that has just been paired. It may have been in an earlier visit,
// which then heard nothing of it.
func (v *visit) followsAtOnce() bool {
	for _, f := range v.frames {
		_, synced := f.syncDone()
		switch {
		case synced || f.Cursor != 0:
			return false
		case !ephemeral[f.Type] && f.ID == "":
			return true
		}
	}
	return false
}

func (rd *reading) run() {
	for _, f := range rd.v.frames {
		done, ok := f.syncDone()
		switch {
		case ok:
			rd.synced(f, done)
		case f.Cursor != 0:
			rd.replayed(f)
		case ephemeral[f.Type]:
		default:
			rd.live(f)
		}
	}
	rd.finish()
}

// begin goes on behind an entry.
func (rd *reading) begin(cursor int64) {
	rd.finish()
	rd.any, rd.at, rd.from = false, map[int]bool{rd.final.start[cursor]: true}, cursor
}

// finish closes the span that was being received, as far as it may reach: an
// answer or agent.busy leaves it open whether it was the log's frame.
func (rd *reading) finish() {
	if !rd.any {
		rd.spans = append(rd.spans, span{rd.from, rd.final.through(slices.Max(slices.Collect(maps.Keys(rd.at))))})
	}
}

// replayed takes a frame with a cursor.
func (rd *reading) replayed(f frame) {
	if n := len(rd.replay); n > 0 && f.Cursor < rd.replay[n-1].Cursor {
		rd.released()
	}
	rd.replay = append(rd.replay, f)
}

// released takes a replay that no sync.done ends: what was held since the
// attachment, because no sync had come in time.
func (rd *reading) released() {
	got := rd.replay
	rd.replay = nil
	if len(got) == 0 {
		return
	}
	from, to := got[0].Cursor-1, got[len(got)-1].Cursor
	if !sameFrames(got, rd.all.between(from, to)) {
		rd.t.Errorf("%s: what was held, from %d to %d, is not what the log has", rd.name, from, to)
	}
	rd.begin(to)
	rd.from = from
}

// live follows the log by a frame. A frame in the middle of a replay is found
// out by what comes next. The answer to a request stands in the place
// of the log's frame, or beside it when the request was repeated; agent.busy
// also tells what runs.
func (rd *reading) live(f frame) {
	if f.ID == "" { // answers are never held
		rd.released()
	}
	extra := f.ID != "" || f.Type == "agent.busy"
	if rd.any && extra {
		return
	}
	next := map[int]bool{}
	visit := func(i int) {
		if extra {
			next[i] = true
		}
		if i < len(rd.final.list) && rd.final.list[i].Text == f.Text {
			next[i+1] = true
		}
	}
	if rd.any {
		for i := range rd.final.list {
			visit(i)
		}
	}
	for i := range rd.at {
		visit(i)
	}
	if len(next) == 0 {
		rd.t.Errorf("%s: frame %s is not what comes next: %s", rd.name, f.Text, rd.expected())
		rd.any = true // begin anew: one fault, one report
		return
	}
	if !rd.any {
		rd.at = next
		return
	}
	if len(next) == 1 && rd.v.acked { // known from here on, but not from where
		rd.any, rd.at = false, next
		for i := range next {
			rd.from = rd.final.list[i-1].Cursor
		}
	}
}

func (rd *reading) expected() string {
	for i := range rd.at {
		if i < len(rd.final.list) {
			return fmt.Sprintf("entry %d %s", rd.final.list[i].Cursor, rd.final.list[i].Text)
		}
	}
	return "nothing"
}

// synced compares a replay with the log.
func (rd *reading) synced(f frame, done wire.SyncDone) {
	from := rd.v.base
	if asked := rd.v.syncs[f.ID]; asked != nil {
		from = *asked
	}
	got := rd.replay
	if len(got) > 0 && got[0].Cursor <= from { // released before the sync
		i := slices.IndexFunc(got, func(f frame) bool { return f.Cursor > from })
		if i < 0 {
			i = len(got)
		}
		rd.replay, got = got[:i], got[i:]
		rd.released()
	}
	rd.replay = nil
	if done.Cursor < from || done.Cursor > rd.head() {
		rd.t.Errorf("%s: sync from %d is done at %d, the log ends at %d", rd.name, from, done.Cursor, rd.head())
		return
	}
	gap := from // the newest entry that is missing
	for c := from + 1; c <= done.Cursor; c++ {
		want := rd.all.between(c-1, c)
		switch {
		case len(got) >= len(want) && sameFrames(got[:len(want)], want):
			got = got[len(want):]
		default:
			gap = c
		}
	}
	first := rd.entries[rd.head()-1].First
	switch {
	case len(got) > 0:
		rd.t.Errorf("%s: the replay from %d to %d has %s at %d, where the log has something else", rd.name, from, done.Cursor, got[0].Text, got[0].Cursor)
	case gap > from && done.Complete:
		rd.t.Errorf("%s: the replay from %d to %d says that it is complete, and lacks entry %d", rd.name, from, done.Cursor, gap)
	case gap > from && gap >= first:
		rd.t.Errorf("%s: the replay from %d to %d lacks entry %d, which is still there (first %d)", rd.name, from, done.Cursor, gap, first)
	case !done.Complete && first <= from+1:
		rd.t.Errorf("%s: the replay from %d to %d says that it is not complete, but the log begins at %d", rd.name, from, done.Cursor, first)
	}
	rd.begin(done.Cursor)
	rd.spans = append(rd.spans, span{from, done.Cursor})
}

// sameFrames reports whether a replay has exactly the log's frames.
func sameFrames(got, want []frame) bool {
	return slices.EqualFunc(got, want, func(a, b frame) bool { return a.Cursor == b.Cursor && a.Text == b.Text })
}
