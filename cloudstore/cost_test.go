package cloudstore_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/iris"
	"iris-gateway/search"
)

// What each method costs in Firestore operations, and that what the store says
// it has spent is what came over the wire. The cost of a turn (log.md, "What
// must be provable", 4) is made of these.
func TestOperations(t *testing.T) {
	p := startProxy(t, 100)
	var told operations
	s := openCounting(t, func(op cloudstore.Operation, _ string, n int) {
		switch op {
		case cloudstore.Read:
			told.reads += n
		case cloudstore.Write:
			told.writes += n
		case cloudstore.Delete:
			told.deletes += n
		}
	})
	defer s.Close()
	ctx := t.Context()
	lane := iris.Lane{ChatID: iris.DefaultChat}
	device := iris.Token{Hash: "device", Kind: iris.TokenDevice, Gateway: "g"}
	next := device
	next.Hash = "next"
	commit := func(cursor, guard int64, drop []int64, changes ...iris.Change) func() error {
		return func() error {
			return s.Append(ctx, "g", iris.Commit{
				Entry: iris.Entry{Cursor: cursor, Writer: "w"}, Guard: guard, Drop: drop, Changes: changes,
			})
		}
	}
	message := iris.CreateMessage{Message: iris.Message{ID: "m", Lane: lane}}
	another := iris.CreateMessage{Message: iris.Message{ID: "m2", Lane: lane}}
	more := iris.CreateMessage{Message: iris.Message{ID: "m3", Lane: lane}}
	for _, step := range []struct {
		name string
		call func() error
		want operations
	}{
		{"ready", func() error { return s.Ready(ctx) }, operations{reads: 1}},
		{"create gateway", func() error {
			return s.CreateGateway(ctx, iris.Gateway{ID: "g"}, iris.Token{Hash: "host"})
		}, operations{writes: 4}},
		{"create token", func() error { return s.CreateToken(ctx, device) }, operations{reads: 1, writes: 1}},
		{"create token 2", func() error { return s.CreateToken(ctx, next) }, operations{reads: 1, writes: 1}},
		{"token", func() error { _, err := s.Token(ctx, "device"); return err }, operations{reads: 1}},
		{"bind", func() error { return s.BindToken(ctx, "device", iris.Device{ID: "d"}) }, operations{reads: 2, writes: 2}},
		{"bind again", func() error { return s.BindToken(ctx, "device", iris.Device{ID: "d"}) }, operations{reads: 2}},
		{"bind newer", func() error { return s.BindToken(ctx, "next", iris.Device{ID: "d"}) }, operations{reads: 2, writes: 2, deletes: 1}},
		{"cursor", func() error { return s.SetDeviceCursor(ctx, "g", "d", 5) }, operations{writes: 1}},
		{"note a push", func() error { return s.NotePush(ctx, "g", "d", 5, iris.PushState{Outcome: iris.PushSent}) }, operations{writes: 1}},
		{"claim a push", func() error {
			_, _, err := s.ClaimPush(ctx, "g", "d", func(iris.Device) (iris.PushState, bool) { return iris.PushState{By: "p"}, true })
			return err
		}, operations{reads: 1, writes: 1}},
		{"entry with guard", commit(2, 1, nil, message, iris.SetBusy{Lane: lane, Turn: "t"}), operations{writes: 4}},
		{"entry of a full log", commit(3, 0, []int64{1}, another, iris.SetBusy{Lane: lane}), operations{writes: 3, deletes: 1}},
		{"a third message", commit(4, 0, []int64{2}, more), operations{writes: 2, deletes: 1}},
		{"attach", commit(5, 0, []int64{3}, iris.SetDeviceLink{Device: "d", Link: iris.Link{ID: "l"}}), operations{writes: 2, deletes: 1}},
		{"head", func() error { _, err := s.Head(ctx, "g"); return err }, operations{reads: 1}},
		{"entry", func() error { _, _, err := s.Entry(ctx, "g", 4); return err }, operations{reads: 1}},
		{"entries", func() error { _, err := s.Entries(ctx, "g", 3, 10); return err }, operations{reads: 2}},
		{"history, a page", func() error { _, _, err := s.History(ctx, "g", lane, nil, 1); return err }, operations{reads: 2}},
		{"history, the end", func() error { _, _, err := s.History(ctx, "g", lane, nil, 10); return err }, operations{reads: 3}},
		{"device", func() error { _, err := s.Device(ctx, "g", "d"); return err }, operations{reads: 1}},
		{"gateway", func() error { _, err := s.Gateway(ctx, "g"); return err }, operations{reads: 1}},
		{"channels", func() error { _, err := s.Channels(ctx, "g"); return err }, operations{reads: 1}},
	} {
		p.spent()
		told = operations{}
		if err := step.call(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if told != step.want {
			t.Errorf("%s says that it spent %+v, want %+v", step.name, told, step.want)
		}
		if got := p.spent(); got != step.want {
			t.Errorf("%s costs %+v, want %+v", step.name, got, step.want)
		}
	}
}

// A search costs 60 reads at most, however long the history is, whether all of
// what it reads is found or nothing, and says so.
func TestSearchReads(t *testing.T) {
	p := startProxy(t, 100)
	var told atomic.Int64 // words are counted at once
	s := openCounting(t, func(_ cloudstore.Operation, _ string, n int) { told.Add(int64(n)) })
	defer s.Close()
	const messages = 1500
	for cursor := int64(1); cursor <= messages/300; cursor++ {
		c := iris.Commit{Entry: iris.Entry{Cursor: cursor, Writer: "w"}}
		for i := range 300 {
			n := int(cursor)*300 + i
			c.Changes = append(c.Changes, iris.CreateMessage{Message: iris.Message{
				ID: fmt.Sprint("m", n), Lane: iris.Lane{ChatID: fmt.Sprint("c", n%2)}, At: time.Unix(int64(n), 0),
				Text: "we all know many words that are in every single message",
			}})
		}
		if err := s.Append(t.Context(), "g", c); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		query, chat string
		hits, reads int
	}{
		{"know", "", 50, 52},
		{"know", "c1", 50, 52},
		{"message single every in are that words many know all we", "", 50, 59},
		{"message single every in are that words many know all we", "c1", 50, 59},
		{"messag.", "", 50, 52},
		{"word messages", "", 0, 2 + 1}, // "word" has no row
		{"know.we", "", 0, 2 + 52},      // not in this order: looked at in vain
		{"nothing", "", 0, 1},
	} {
		p.spent()
		told.Store(0)
		q := search.Parse(c.query)
		page, err := s.Search(t.Context(), "g", iris.Search{
			Terms: q.Terms(), ChatID: c.chat, Accept: func(m iris.Message) bool { return q.Match(m.Text) },
		})
		if err != nil {
			t.Fatal(err)
		}
		onWire := max(1, p.spent().reads) // a query without result costs one
		if said := int(told.Load()); said != c.reads || said < onWire || onWire > 60 {
			t.Errorf("%q: says %d reads, %d on the wire, want %d", c.query, said, onWire, c.reads)
		}
		if len(page.Messages) != c.hits || page.More != (c.reads > 10) {
			t.Errorf("%q: %d hits, more %v; want %d", c.query, len(page.Messages), page.More, c.hits)
		}
	}
}

// "0 of them by the listener": what an instance writes itself does not come
// back to it.
func TestFollowReadsOnlyWhatOthersWrote(t *testing.T) {
	p := startProxy(t, 100)
	s := open(t)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan int64, 10)
	done := make(chan error)
	go func() {
		done <- s.Follow(ctx, "g", 0, "mine", func(entries []iris.Entry) {
			for _, e := range entries {
				got <- e.Cursor
			}
		})
	}()
	for cursor := int64(1); cursor <= 20; cursor++ {
		writer := "mine"
		if cursor == 10 || cursor == 20 {
			writer = "other"
		}
		if err := s.Append(ctx, "g", iris.Commit{Entry: iris.Entry{Cursor: cursor, Writer: writer}, Guard: cursor - 1}); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := <-got, <-got; a != 10 || b != 20 {
		t.Fatalf("delivered %d and %d, want 10 and 20", a, b)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// The two, and 10 again when it became a guard.
	if reads := p.spent().listened; reads > 3 {
		t.Errorf("the listener read %d documents, want 3 or fewer", reads)
	}
}

// "A gRPC connection carries 100 streams, and the 101st call of any kind waits
// without an error, commits too." 100 listeners must not stop a commit.
func TestCommitsPassListeners(t *testing.T) {
	startProxy(t, 100)
	s := open(t)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	const listeners = 100
	first := make(chan string, listeners)
	done := make(chan error, listeners)
	for i := range listeners {
		g := fmt.Sprint("g", i)
		go func() {
			done <- s.Follow(ctx, g, 0, "mine", func([]iris.Entry) { first <- g })
		}()
	}
	for i := range listeners {
		commit, stop := context.WithTimeout(ctx, 10*time.Second)
		err := s.Append(commit, fmt.Sprint("g", i), iris.Commit{Entry: iris.Entry{Cursor: 1, Writer: "other"}})
		stop()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range listeners { // all of them do listen
		<-first
	}
	if _, err := s.Head(ctx, "g0"); err != nil {
		t.Fatal(err)
	}
	cancel()
	for range listeners {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// A listener that has returned is no stream any more: its caller listens anew
// every 128 entries, and streams are counted.
func TestFollowEndsItsStream(t *testing.T) {
	p := startProxy(t, 100)
	s := open(t)
	defer s.Close()
	for cursor := int64(1); cursor <= 128; cursor++ {
		if err := s.Append(t.Context(), "g", iris.Commit{Entry: iris.Entry{Cursor: cursor, Writer: "other"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Follow(t.Context(), "g", 0, "mine", func([]iris.Entry) {}); err != nil {
		t.Fatal(err)
	}
	// gRPC keeps a goroutine for each stream until it has ended for the client
	// too. (This test is not parallel: there is no other stream.)
	const keeper = "grpc.newClientStreamWithParams"
	for range 1000 {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if p.running(service+"Listen", 0) == 0 && !bytes.Contains(stacks, []byte(keeper)) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the stream of a listener that returned is still open after 10 s")
}
