package storetest

import (
	"fmt"
	"strings"
	"time"

	"iris-gateway/iris"
)

// What a page may hold: a row is not cut, so one may come on top.
const (
	mostOfPage   = 3 << 20
	mostOfNotify = 5 << 20
)

// largeEntries appends entries that deserve a push, of 600 KiB each.
func (f *fixture) largeEntries(n int64) {
	f.Helper()
	for c := int64(1); c <= n; c++ {
		e := entry(c, "other")
		e.Entry.Notify, e.Entry.Frames = true, []string{strings.Repeat("f", 400<<10)}
		e.Entry.Inbound = []string{strings.Repeat("i", 200<<10)}
		noError(f.T, f.Append(f.ctx, f.g, e))
	}
}

// bytesOf counts what entries hold.
func bytesOf(entries []iris.Entry) (n int) {
	for _, e := range entries {
		n += len(strings.Join(e.Frames, "")) + len(strings.Join(e.Inbound, ""))
	}
	return n
}

// Two hundred entries of 700 KiB are more than there is memory: a page ends before,
// but never empty, and pages together bring everything.
func testLargeEntries(f *fixture) {
	const n = 12
	f.largeEntries(n)
	var got []int64
	for after, pages := int64(0), 1; ; pages++ {
		page, err := f.Entries(f.ctx, f.g, after, 200)
		noError(f.T, err)
		if len(page) == 0 {
			break
		}
		if size := bytesOf(page); size > mostOfPage || len(page) == 1 && len(got)+1 < n {
			f.Errorf("page %d has %d entries of together %d bytes", pages, len(page), size)
		}
		got = append(got, cursorsOf(page)...)
		after = got[len(got)-1]
	}
	equal(f, "all pages", got, seq(1, n))

	newest, err := f.NotifyEntries(f.ctx, f.g, 0, 64)
	noError(f.T, err)
	if size := bytesOf(newest); size > mostOfNotify || size < mostOfNotify/2 || newest[0].Cursor != n {
		f.Errorf("to push: %d entries of together %d bytes, from %d on", len(newest), size, newest[0].Cursor)
	}
}

// What a listener has seen stays in memory: it ends after a few large entries.
func testFollowLarge(f *fixture) {
	const n = 15
	w := f.follow(0, "mine")
	f.largeEntries(n - 1)
	w.want(seq(1, n-1)...)
	w.end()
	f.append(n, n, "other")
	w = f.follow(n-1, "mine")
	w.want(n)
	w.stop()
	w.end()
}

// A page of history fits the queue of a device, one of an export or a search the
// memory: it ends before, says so, and one message always fits. Pages together bring
// everything.
func testLargeMessages(f *fixture) {
	lane := iris.Lane{ChatID: "c"}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sizes := []int{200, 200, 1, 200, 600, 600, 1, 200, 200, 200, 200, 600, 1, 1} // KiB
	var want []string
	for i, size := range sizes {
		m := iris.Message{ID: fmt.Sprintf("m%02d", i), Lane: lane, At: at.Add(time.Duration(i) * time.Second)}
		m.Text, m.Reasoning = "word "+strings.Repeat("t", size<<9), strings.Repeat("r", size<<9)
		c := entry(int64(i+1), "w")
		c.Changes = []iris.Change{iris.PutMessage{Message: m}}
		noError(f.T, f.Append(f.ctx, f.g, c))
		want = append(want, m.ID)
	}
	equal(f, "history", f.largeHistory(lane), want)
	equal(f, "export", f.largeExport(), want)
	equal(f, "search", f.largeSearch(), want)
}

func (f *fixture) largeHistory(lane iris.Lane) (got []string) {
	f.Helper()
	var before *iris.Message
	for more := true; more; {
		var page []iris.Message
		var err error
		page, more, err = f.History(f.ctx, f.g, lane, before, 200)
		noError(f.T, err)
		if size, _ := saidBy(page); len(page) == 0 || size > iris.HistoryBytes && len(page) > 1 {
			f.Fatalf("a page of %d messages says %d bytes", len(page), size)
		}
		before = &page[0]
		_, ids := saidBy(page)
		got = append(ids, got...)
	}
	return got
}

func (f *fixture) largeExport() (got []string) {
	f.Helper()
	for after, more := (iris.ExportPlace{}), true; more; {
		page, err := f.ExportMessages(f.ctx, f.g, after, 50)
		noError(f.T, err)
		size, ids := saidBy(page.Messages)
		if size > mostOfPage {
			f.Fatalf("a page of %d messages says %d bytes", len(ids), size)
		}
		got = append(got, ids...)
		after, more = page.Last, page.More
	}
	return got
}

func (f *fixture) largeSearch() (got []string) {
	f.Helper()
	looked := 0 // bytes, of a page
	q := iris.Search{Terms: []string{"word"}, Accept: func(m iris.Message) bool { looked += len(m.Text); return true }}
	for more := true; more; {
		looked = 0
		page, err := f.Search(f.ctx, f.g, q)
		noError(f.T, err)
		if looked > mostOfPage {
			f.Fatalf("a page of a search looked at %d bytes", looked)
		}
		for _, m := range page.Messages {
			got = append([]string{m.ID}, got...)
		}
		q.After, more = page.Next, page.More
	}
	return got
}

// saidBy returns how much messages say, and their ids.
func saidBy(messages []iris.Message) (size int, ids []string) {
	for _, m := range messages {
		size += len(m.Text) + len(m.Reasoning)
		ids = append(ids, m.ID)
	}
	return size, ids
}
