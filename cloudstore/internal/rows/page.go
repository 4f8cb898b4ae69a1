package rows

import (
	"slices"
	"time"

	"iris-gateway/iris"
)

// After how many bytes a store reads no more rows for a page. A row may have a
// megabyte, and many pages are read at once: one for each device that syncs.
const (
	pageBytes   = 2 << 20
	notifyBytes = 4 << 20
)

// Page is what one read of a store brings: rows up to a number, or up to the one
// that is too much for more. So it has at least one row if there is any, and no row
// is read in vain.
type Page[T any] struct {
	Rows  []T
	limit int
	room  int // bytes that are left
	size  func(T) int
}

// EntryPage returns an empty page of limit entries at most.
func EntryPage(limit int) *Page[iris.Entry] {
	return &Page[iris.Entry]{limit: limit, room: pageBytes, size: entrySize}
}

// NotifyPage is an EntryPage of what was perhaps not pushed. It is longer, and read
// by openers only: what it leaves out nobody is woken for.
func NotifyPage(limit int) *Page[iris.Entry] {
	return &Page[iris.Entry]{limit: limit, room: notifyBytes, size: entrySize}
}

// MessagePage returns an empty page of limit messages at most.
func MessagePage(limit int) *Page[iris.Message] {
	return &Page[iris.Message]{limit: limit, room: pageBytes, size: messageSize}
}

// Take adds a row and reports whether another one has room.
func (p *Page[T]) Take(row T) bool {
	p.Rows = append(p.Rows, row)
	p.room -= p.size(row)
	return !p.Full()
}

// Full reports whether the page ends here, though there may be more rows.
func (p *Page[T]) Full() bool { return len(p.Rows) >= p.limit || p.room <= 0 }

// When a listener of the log is made anew: Firestore's client keeps all that one has
// seen in memory (log.md, "Tail").
const (
	heardEntries = 128
	heardBytes   = 8 << 20
)

// Heard counts what a listener of the log has brought.
type Heard struct{ entries, bytes int }

// Add counts entries.
func (h *Heard) Add(entries []iris.Entry) {
	h.entries += len(entries)
	for _, e := range entries {
		h.bytes += entrySize(e)
	}
}

// Enough reports whether the listener is to be made anew.
func (h *Heard) Enough() bool { return h.entries >= heardEntries || h.bytes >= heardBytes }

// History is a page of a lane's messages. It is made from the newest to the
// oldest, and ends before the one that is too much.
type History struct {
	messages []iris.Message // newest first
	more     bool
	limit    int
	bytes    int
	now      time.Time
}

// NewHistory returns an empty page of limit messages at most that are shown now.
func NewHistory(limit int, now time.Time) *History { return &History{limit: limit, now: now} }

// Take adds the next older message, if it is shown and has room. It reports
// whether the page goes on.
func (h *History) Take(m iris.Message) bool {
	if !Shown(m, h.now) {
		return true
	}
	h.bytes += messageSize(m)
	if n := len(h.messages); n == h.limit || n > 0 && h.bytes > iris.HistoryBytes {
		h.more = true
		return false
	}
	h.messages = append(h.messages, m)
	return true
}

// Page returns the messages, oldest first, and whether there are older ones.
func (h *History) Page() (messages []iris.Message, more bool) {
	slices.Reverse(h.messages)
	return h.messages, h.more
}

func entrySize(e iris.Entry) int { return measured(entryDocument, e) }

// messageSize is how much a message says. Terms, which only lead to it, do not
// count: they are not kept in what is read.
func messageSize(m iris.Message) int {
	m.Terms = nil
	return measured(messageDocument, m)
}

// measured returns about how many bytes a document has.
func measured[T any](measure func(*meter, T), v T) int {
	m := &meter{size: itemOverhead}
	measure(m, v)
	return m.size
}
