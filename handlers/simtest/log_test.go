package simtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"iris-gateway/iris"
)

// logbook is the log as it was written, from the first entry on, whatever the
// ring has dropped since.
type logbook struct {
	entries []iris.Entry
}

// head is the newest cursor.
func (l *logbook) head() int64 { return int64(len(l.entries)) }

// frames returns the frames of the entry at a cursor.
func (l *logbook) frames(cursor int64) []string { return l.entries[cursor-1].Frames }

// first is the oldest cursor that the log still keeps.
func (l *logbook) first() int64 {
	if len(l.entries) == 0 {
		return 0
	}
	return l.entries[len(l.entries)-1].First
}

// beyond skips the entries behind the cursor that hold no frames.
func (l *logbook) beyond(cursor int64) int64 {
	for cursor < l.head() && len(l.frames(cursor+1)) == 0 {
		cursor++
	}
	return cursor
}

// count returns in how many frames of a type a text occurs, and the cursor of
// the last of them.
func (l *logbook) count(kind, text string) (n int, last int64) {
	for _, e := range l.entries {
		for _, f := range e.Frames {
			if isType(f, kind) && strings.Contains(f, text) {
				n, last = n+1, e.Cursor
			}
		}
	}
	return n, last
}

func isType(frame, kind string) bool {
	return strings.HasPrefix(frame, `{"v":1,"type":"`+kind+`"`)
}

// append commits to the shared store and keeps what landed in the logbook.
func (w *world) append(g string, c iris.Commit) error {
	if poisoned(c) {
		return fmt.Errorf("%w: poison", iris.ErrRejected)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.plan.commit(w.base, g, c)
	if err != nil {
		if !errors.Is(err, iris.ErrRefused) && !errors.Is(err, iris.ErrRejected) {
			w.failf("commit of entry %d: %v", c.Entry.Cursor, err)
		}
		return err
	}
	w.landed(c)
	return nil
}

// landed checks an entry against those before it. Call with w.mu held.
func (w *world) landed(c iris.Commit) {
	l, e := &w.log, c.Entry
	w.notef("log %d by %s/%d: first %d host %+v %d frames %d inbound %v", e.Cursor, e.Writer, e.Batch, e.First, e.Host, len(e.Frames), len(e.Inbound), e.Control)
	for _, f := range e.Frames {
		w.notef("    %s", f)
	}
	if e.Cursor != l.head()+1 {
		w.failf("entry %d landed behind %d: cursors have to be dense", e.Cursor, l.head())
		return
	}
	for _, old := range l.entries {
		if old.Writer == e.Writer && old.Batch == e.Batch {
			w.failf("batch %s/%d is in the log twice: %d and %d", e.Writer, e.Batch, old.Cursor, e.Cursor)
		}
	}
	w.checkLinks(e)
	w.checkRing(l.entries[len(l.entries)-1], c)
	w.checkMark(l.entries[len(l.entries)-1], e)
	l.entries = append(l.entries, e)
}

// checkLinks checks that a connection is attached once: whoever appends it again
// did not recognise its own commit. (One that the ring has dropped cannot be.)
func (w *world) checkLinks(e iris.Entry) {
	for _, old := range w.log.entries[max(0, w.log.first()-1):] {
		for _, c := range old.Control {
			if slices.Contains(e.Control, c) {
				w.failf("%s of link %s is in entry %d and in %d", c.Kind, c.Link.ID, old.Cursor, e.Cursor)
			}
		}
	}
}

// checkRing checks that the log keeps what it must, and nothing beyond.
func (w *world) checkRing(prev iris.Entry, c iris.Commit) {
	e, size := c.Entry, int64(w.plan.Ring)
	if (c.Guard != 0) == (len(c.Drop) > 0) {
		w.failf("entry %d has guard %d and drops %v: one of them keeps a stale appender away", e.Cursor, c.Guard, c.Drop)
	}
	if e.First != prev.First+int64(len(c.Drop)) {
		w.failf("entry %d says first %d, but %d was followed by %d drops", e.Cursor, e.First, prev.First, len(c.Drop))
	}
	for i, dropped := range c.Drop {
		if dropped != prev.First+int64(i) {
			w.failf("entry %d drops %d, first is %d", e.Cursor, dropped, prev.First)
			continue
		}
		if old := w.log.entries[dropped-1]; len(old.Inbound) > 0 && dropped > e.Host.Received {
			w.failf("entry %d drops inbound %d, the host has only %d", e.Cursor, dropped, e.Host.Received)
		}
	}
	kept, before := e.Cursor-e.First+1, prev.Cursor-prev.First+1
	held := false
	for c := prev.First; c <= prev.Cursor; c++ {
		held = held || c > e.Host.Received && len(w.log.entries[c-1].Inbound) > 0
	}
	switch {
	case kept < size && kept < before:
		w.failf("entry %d leaves %d entries, the ring holds %d", e.Cursor, kept, size)
	case kept > size && kept >= before && !held:
		w.failf("entry %d leaves %d entries, the ring holds %d and the host lacks nothing", e.Cursor, kept, size)
	case len(c.Entry.Inbound) > 0 && kept > 4*size+1:
		w.failf("entry %d takes inbound into a log of %d entries", e.Cursor, kept)
	}
}

// checkMark checks that what the log says of the host only moves forward, and
// never runs ahead of what the host has.
func (w *world) checkMark(prev, e iris.Entry) {
	attaches := false
	for _, c := range e.Control {
		attaches = attaches || c.Kind == iris.HostAttached
	}
	was, is := prev.Host, e.Host
	switch {
	case was.Epoch != is.Epoch && !attaches:
		w.failf("entry %d changes the epoch without an attachment", e.Cursor)
	case was.Epoch == is.Epoch && is.Seq < was.Seq:
		w.failf("entry %d: host.seq went from %d back to %d", e.Cursor, was.Seq, is.Seq)
	case is.Received < was.Received:
		w.failf("entry %d: host.received went from %d back to %d", e.Cursor, was.Received, is.Received)
	}
	for cursor := was.Received + 1; cursor <= is.Received && cursor <= w.log.head(); cursor++ {
		for i := range w.log.entries[cursor-1].Inbound {
			if !w.host.delivered[item{cursor, i}] {
				w.failf("entry %d says the host has inbound up to %d, but it never got %d/%d", e.Cursor, is.Received, cursor, i)
			}
		}
	}
}

// checkKept compares what the store keeps with the logbook, in the end.
func (w *world) checkKept() {
	var kept []iris.Entry
	for after := int64(0); ; after = kept[len(kept)-1].Cursor {
		page, err := w.base.Entries(context.Background(), gatewayID, after, 1000)
		if err != nil || len(page) == 0 && len(kept) == 0 {
			w.failf("the log is empty: %v", err)
			return
		}
		if len(page) == 0 {
			break
		}
		kept = append(kept, page...)
	}
	if first, head := kept[0].Cursor, kept[len(kept)-1].Cursor; first != w.log.first() || head != w.log.head() {
		w.failf("the store keeps %d … %d, want %d … %d", first, head, w.log.first(), w.log.head())
	}
	for i, e := range kept {
		if e.Cursor != kept[0].Cursor+int64(i) {
			w.failf("the store has no entry %d", kept[0].Cursor+int64(i))
			return
		}
	}
}
