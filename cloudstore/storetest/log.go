package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"iris-gateway/iris"
)

func testEmptyLog(f *fixture) {
	head, err := f.Head(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "head", head, iris.Entry{})
	equal(f, "entries", f.cursors(), []int64{})
	_, found, err := f.Entry(f.ctx, f.g, 1)
	noError(f.T, err)
	equal(f, "found", found, false)
	channels, err := f.Channels(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "channels", len(channels), 0)
	msgs, more, err := f.History(f.ctx, f.g, iris.Lane{ChatID: "x"}, nil, 10)
	noError(f.T, err)
	equal(f, "history", fmt.Sprint(len(msgs), more), "0 false")
}

// fullEntry has every field set, with text that needs care.
func fullEntry(cursor int64) iris.Entry {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_007_008, time.FixedZone("", -7200))
	return iris.Entry{
		Cursor: cursor, Writer: "w1", Batch: 42, First: 1,
		Host:        iris.HostMark{Epoch: "e1", Seq: 1 << 53, Received: 3},
		LastInbound: 3,
		Frames:      []string{`{"type":"message","text":"grüße 🐢"}`, ""},
		Inbound:     []string{`{"type":"stop"}`},
		Control: []iris.Control{
			{Kind: iris.DeviceAttached, Device: "d1", Link: iris.Link{ID: "l1", Instance: "i1", At: at}},
			{Kind: iris.HostDetached},
			{Kind: iris.PushRegistered, Device: "d1", Push: "hash"},
			{Kind: iris.InboundDone, Done: iris.Done{Cursor: 1 << 40, Item: 2, OK: true, Error: "grüße"}},
			{Kind: iris.InboundDone, Done: iris.Done{Cursor: 1}},
		},
		Lanes:    []iris.Lane{{ChatID: "a/b"}, {ChatID: "a", ThreadID: "__x__"}},
		Messages: []string{"m_1", "m_2"},
		Notify:   true,
	}
}

// The entry is all that other instances learn of a commit.
func testEntryRoundTrip(f *fixture) {
	before := time.Now()
	want := fullEntry(1)
	noError(f.T, f.Append(f.ctx, f.g, iris.Commit{Entry: want}))
	got, found, err := f.Entry(f.ctx, f.g, 1)
	noError(f.T, err)
	equal(f, "found", found, true)
	if got.At.Before(before.Add(-time.Minute)) || got.At.After(time.Now().Add(time.Minute)) {
		f.Fatalf("entry has time %v, written at %v", got.At, before)
	}
	want.At = got.At
	want.Control[0].Link.At = stored(want.Control[0].Link.At)
	equal(f, "entry", got, want)
	head, err := f.Head(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "head", head, want)
	entries, err := f.Entries(f.ctx, f.g, 0, 1)
	noError(f.T, err)
	equal(f, "entries", entries, []iris.Entry{want})
	if got.Control[1].Link.At != (time.Time{}) {
		f.Fatalf("a zero time came back as %v", got.Control[1].Link.At)
	}
}

func testEntriesOrder(f *fixture) {
	f.append(1, 12, "w") // two digits: 10 is after 9
	equal(f, "all", f.cursors(), seq(1, 12))
	for _, c := range []struct {
		after int64
		limit int
		want  []int64
	}{
		{0, 3, seq(1, 3)}, {8, 3, seq(9, 11)}, {10, 100, seq(11, 12)}, {12, 5, seq(1, 0)},
		{99, 5, seq(1, 0)}, {-1, 1, seq(1, 1)}, {0, 0, seq(1, 0)}, {0, -1, seq(1, 0)},
	} {
		entries, err := f.Entries(f.ctx, f.g, c.after, c.limit)
		noError(f.T, err)
		equal(f, fmt.Sprintf("after %d, limit %d", c.after, c.limit), cursorsOf(entries), c.want)
	}
	head, err := f.Head(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "head", head.Cursor, 12)
	other, err := f.Head(f.ctx, f.g+"x")
	noError(f.T, err)
	equal(f, "head of another gateway", other.Cursor, 0)
}

// "Create outbox/{n+1}: the compare-and-set".
func testTakenCursor(f *fixture) {
	f.append(1, 1, "a")
	outcome(f, f.Append(f.ctx, f.g, entry(1, "b")), iris.ErrRefused)
	got, _, err := f.Entry(f.ctx, f.g, 1)
	noError(f.T, err)
	equal(f, "writer", got.Writer, "a")
	// The same commit again is refused as well: it may be an echo.
	outcome(f, f.Append(f.ctx, f.g, entry(1, "a")), iris.ErrRefused)
}

// "A stale appender … lands at the head or not at all": its guard is gone.
func testGuard(f *fixture) {
	f.append(1, 3, "a")
	c := entry(4, "a")
	c.Guard = 3
	noError(f.T, f.Append(f.ctx, f.g, c))
	c = entry(5, "a")
	c.Guard = 3 // marked before: a no-op
	noError(f.T, f.Append(f.ctx, f.g, c))
	c = entry(6, "a")
	c.Guard = 9
	outcome(f, f.Append(f.ctx, f.g, c), iris.ErrRefused)
	equal(f, "log", f.cursors(), seq(1, 5))
	_, found, err := f.Entry(f.ctx, f.g, 9)
	noError(f.T, err)
	equal(f, "guard made", found, false)
	got, _, err := f.Entry(f.ctx, f.g, 3) // the mark leaves the rest
	noError(f.T, err)
	equal(f, "writer", got.Writer, "a")
}

func testDrop(f *fixture) {
	f.append(1, 4, "a")
	c := entry(5, "a")
	c.Drop = []int64{1, 2}
	noError(f.T, f.Append(f.ctx, f.g, c))
	equal(f, "log", f.cursors(), seq(3, 5))
	c = entry(6, "a")
	c.Drop = []int64{3, 1}
	outcome(f, f.Append(f.ctx, f.g, c), iris.ErrRefused)
	equal(f, "log", f.cursors(), seq(3, 5))
	// Guard and drop in one commit: the queue of a host that is away.
	c = entry(6, "a")
	c.Guard, c.Drop = 4, []int64{3}
	noError(f.T, f.Append(f.ctx, f.g, c))
	equal(f, "log", f.cursors(), seq(4, 6))
	// The guard is written before the drops.
	c = entry(7, "a")
	c.Guard, c.Drop = 4, []int64{4}
	noError(f.T, f.Append(f.ctx, f.g, c))
	equal(f, "log", f.cursors(), seq(5, 7))
}

// "The log is always exactly first … head, never empty." A writer that still
// believes in an old head cannot write into the part that is gone.
func testRing(f *fixture) {
	const keep = 5
	for n := int64(1); n <= 20; n++ {
		c := entry(n, "a")
		c.Entry.First = max(1, n-keep+1)
		switch {
		case n > keep:
			c.Drop = []int64{n - keep}
		case n > 1:
			c.Guard = 1
		}
		noError(f.T, f.Append(f.ctx, f.g, c))
	}
	equal(f, "log", f.cursors(), seq(16, 20))
	stale := entry(7, "b")
	stale.Drop = []int64{2}
	outcome(f, f.Append(f.ctx, f.g, stale), iris.ErrRefused)
	stale = entry(7, "b")
	stale.Guard = 3
	outcome(f, f.Append(f.ctx, f.g, stale), iris.ErrRefused)
	equal(f, "log", f.cursors(), seq(16, 20))
}

// A log begins with an entry that came with its gateway, so that the first
// appender has one to guard too: it cannot sleep until the ring has dropped
// where it wanted to write, and land there.
func testFirstEntry(f *fixture) {
	f.gateway()
	head, err := f.Head(f.ctx, f.g)
	noError(f.T, err)
	equal(f, "first entry", fmt.Sprint(head.Cursor, head.First, len(head.Frames), head.At.IsZero()), "1 1 0 false")
	outcome(f, f.Append(f.ctx, f.g, entry(1, "a")), iris.ErrRefused)
	sleeper := entry(2, "sleeper")
	sleeper.Guard = 1
	f.append(2, 4, "a")
	c := entry(5, "a")
	c.Drop = []int64{1, 2}
	noError(f.T, f.Append(f.ctx, f.g, c))
	outcome(f, f.Append(f.ctx, f.g, sleeper), iris.ErrRefused)
	equal(f, "log", f.cursors(), seq(3, 5))
}

// "One Firestore write batch, atomic": whatever refuses, nothing is written.
func testAtomic(f *fixture) {
	f.gateway()
	lane := iris.Lane{ChatID: iris.DefaultChat}
	c := entry(2, "a")
	c.Changes = []iris.Change{
		iris.CreateMessage{Message: iris.Message{ID: "taken", Lane: lane}},
		iris.CreateMessage{Message: iris.Message{ID: "old", Lane: lane, Text: "first"}},
	}
	noError(f.T, f.Append(f.ctx, f.g, c))
	f.append(3, 3, "a")
	harmless := []iris.Change{
		iris.CreateMessage{Message: iris.Message{ID: "new", Lane: lane}},
		iris.PutMessage{Message: iris.Message{ID: "old", Lane: lane, Text: "second"}},
		iris.PutChannel{Channel: iris.Channel{Lane: iris.Lane{ChatID: "c2"}, Kind: iris.KindChannel}},
		iris.SetBusy{Lane: lane, Turn: "t"},
		iris.SetHost{Host: iris.Host{Version: "9"}},
	}
	for name, last := range map[string]iris.Change{
		"message taken": iris.CreateMessage{Message: iris.Message{ID: "taken", Lane: lane}},
		"lane gone":     iris.SetBusy{Lane: iris.Lane{ChatID: "nowhere"}, Turn: "t"},
		"device gone":   iris.SetDeviceLink{Device: "nobody", Link: iris.Link{ID: "l"}},
	} {
		c := entry(4, "a")
		c.Guard, c.Drop = 2, []int64{1}
		c.Changes = append(append([]iris.Change{}, harmless...), last)
		outcome(f, f.Append(f.ctx, f.g, c), iris.ErrRefused)
		f.unchanged(name, lane)
	}
	c = entry(3, "b") // refused at once
	c.Changes = harmless
	outcome(f, f.Append(f.ctx, f.g, c), iris.ErrRefused)
	f.unchanged("cursor taken", lane)
}

func (f *fixture) unchanged(name string, lane iris.Lane) {
	f.Helper()
	equal(f, name+": log", f.cursors(), seq(1, 3))
	_, err := f.Message(f.ctx, f.g, "new")
	code(f, err, iris.CodeNotFound)
	m, err := f.Message(f.ctx, f.g, "old")
	noError(f.T, err)
	equal(f, name+": text", m.Text, "first")
	channels, err := f.Channels(f.ctx, f.g)
	noError(f.T, err)
	equal(f, name+": channels", channels, []iris.Channel{{Lane: lane, Name: "Default", Kind: iris.KindChannel}})
	gw, err := f.Gateway(f.ctx, f.g)
	noError(f.T, err)
	equal(f, name+": host", gw.Host.Version, "")
}

// "InvalidArgument → never repeat". Each of these would otherwise be answered
// with a code that says "repeat", and block the log for ever.
func testRejected(f *fixture) {
	f.append(1, 1, "a")
	text := func(s string) iris.Change {
		return iris.PutMessage{Message: iris.Message{ID: "m", Text: s}}
	}
	many := make([]iris.Change, 600)
	for i := range many {
		many[i] = iris.PutMessage{Message: iris.Message{ID: fmt.Sprint(i)}}
	}
	big := strings.Repeat("x", 900_000)
	for name, c := range map[string]iris.Commit{
		"cursor 0":         entry(0, "a"),
		"negative cursor":  entry(-1, "a"),
		"13 digits":        entry(1_000_000_000_000, "a"),
		"no UTF-8, frame":  {Entry: iris.Entry{Cursor: 2, Frames: []string{"\xff"}}},
		"no UTF-8, row":    {Entry: iris.Entry{Cursor: 2}, Changes: []iris.Change{text("\xc3\x28")}},
		"entry of 1.1 MB":  {Entry: iris.Entry{Cursor: 2, Frames: []string{strings.Repeat("x", 1_100_000)}}},
		"row of 1.1 MB":    {Entry: iris.Entry{Cursor: 2}, Changes: []iris.Change{text(strings.Repeat("x", 1_100_000))}},
		"commit of 4.5 MB": {Entry: iris.Entry{Cursor: 2}, Changes: []iris.Change{text(big), text(big), text(big), text(big), text(big)}},
		"600 writes":       {Entry: iris.Entry{Cursor: 2}, Changes: many},
		"nil change":       {Entry: iris.Entry{Cursor: 2}, Changes: []iris.Change{nil}},
	} {
		ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
		err := f.Append(ctx, f.g, c)
		cancel()
		if !errors.Is(err, iris.ErrRejected) {
			f.Fatalf("%s: got %v, want %v", name, err, iris.ErrRejected)
		}
		outcome(f, err, iris.ErrRejected)
	}
	equal(f, "log", f.cursors(), seq(1, 1))
}

// "700 KiB for the entry, 3 MiB for the commit", 400 writes.
func testLargeEntry(f *fixture) {
	c := entry(1, "a")
	c.Entry.Frames = []string{strings.Repeat("é", 175<<10), strings.Repeat("y", 350<<10)}
	for i := range 4 {
		c.Changes = append(c.Changes, iris.PutMessage{Message: iris.Message{ID: fmt.Sprint(i), Text: strings.Repeat("z", 570<<10)}})
	}
	for i := range 394 {
		c.Changes = append(c.Changes, iris.PutMessage{Message: iris.Message{ID: fmt.Sprint("small", i)}})
	}
	noError(f.T, f.Append(f.ctx, f.g, c))
	got, _, err := f.Entry(f.ctx, f.g, 1)
	noError(f.T, err)
	equal(f, "same frames", strings.Join(got.Frames, "|") == strings.Join(c.Entry.Frames, "|"), true)
	m, err := f.Message(f.ctx, f.g, "3")
	noError(f.T, err)
	equal(f, "length of row", len(m.Text), 570<<10)
	_, err = f.Message(f.ctx, f.g, "small393")
	noError(f.T, err)
}

// "A bare context error" is no answer.
func testEndedContext(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	err := f.Append(ctx, f.g, entry(1, "a"))
	outcome(f, err, iris.ErrNoAnswer)
	if !errors.Is(err, context.Canceled) {
		f.Fatalf("got %v, want it to wrap %v", err, context.Canceled)
	}
	late, cancel := context.WithDeadline(f.ctx, time.Now().Add(-time.Second))
	defer cancel()
	outcome(f, f.Append(late, f.g, entry(1, "a")), iris.ErrNoAnswer)
	for name, call := range map[string]func() error{
		"head":    func() error { _, err := f.Head(ctx, f.g); return err },
		"entries": func() error { _, err := f.Entries(ctx, f.g, 0, 1); return err },
		"entry":   func() error { _, _, err := f.Entry(ctx, f.g, 1); return err },
		"token":   func() error { _, err := f.Token(ctx, "h"); return err },
		"gateway": func() error { _, err := f.Gateway(ctx, f.g); return err },
		"history": func() error { _, _, err := f.History(ctx, f.g, iris.Lane{}, nil, 1); return err },
		"cursor":  func() error { return f.SetDeviceCursor(ctx, f.g, "d", 1) },
		"bind":    func() error { return f.BindToken(ctx, "h", iris.Device{ID: "d"}) },
		"ready":   func() error { return f.Ready(ctx) },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			f.Fatalf("%s: got %v, want it to wrap %v", name, err, context.Canceled)
		}
	}
}

// "Any number of instances appending at once: cursors dense, each … exactly
// once."
func testConcurrentAppenders(f *fixture) {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			name := fmt.Sprint("w", w)
			for batch := int64(1); batch <= each; {
				head, err := f.Head(f.ctx, f.g)
				if err != nil {
					f.Error(err)
					return
				}
				c := entry(head.Cursor+1, name)
				c.Entry.Batch = batch
				c.Guard = head.Cursor
				switch err := f.Append(f.ctx, f.g, c); {
				case err == nil:
					batch++
				case errors.Is(err, iris.ErrRefused):
				case errors.Is(err, iris.ErrNoAnswer):
					// Aborted, or landed: the entry says which.
					e, found, err := f.Entry(f.ctx, f.g, c.Entry.Cursor)
					if err == nil && found && e.Writer == name && e.Batch == batch {
						batch++
					}
				default:
					f.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	entries, err := f.Entries(f.ctx, f.g, 0, 10_000)
	noError(f.T, err)
	equal(f, "cursors", cursorsOf(entries), seq(1, writers*each))
	next := map[string]int64{}
	for _, e := range entries {
		next[e.Writer]++
		equal(f, fmt.Sprintf("batch of %s at %d", e.Writer, e.Cursor), e.Batch, next[e.Writer])
	}
}
