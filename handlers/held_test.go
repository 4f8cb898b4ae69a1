package handlers_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// heldStore is how one instance sees a store that others share: its commits, its
// live documents, what it reads and what it hears of others wait while their gates
// are shut.
type heldStore struct {
	*memstore.Store
	commits, texts, rows gate         // rows: of messages, for reading
	pages, tail          gate         // of the log: read, and followed
	lives                chan string  // told of the data of each live document that was passed on
	created              atomic.Int32 // calls that make a live document, or replace it
	unanswered           atomic.Bool  // a live document is made, but the answer lost
}

// gate holds calls back.
type gate struct {
	shut    sync.RWMutex
	waiting chan struct{} // told of each that comes
}

func newGate() gate { return gate{waiting: make(chan struct{}, 1024)} }

func (g *gate) pass() {
	g.waiting <- struct{}{}
	g.shut.RLock()
	defer g.shut.RUnlock()
}

// hold shuts the gate. Call reached to wait until somebody stands at it.
func (g *gate) hold() (reached, release func()) {
	g.shut.Lock()
	for len(g.waiting) > 0 {
		<-g.waiting
	}
	return func() { <-g.waiting }, g.shut.Unlock
}

func newHeldStore() *heldStore {
	return &heldStore{Store: memstore.New(), commits: newGate(), texts: newGate(), rows: newGate(), pages: newGate(), tail: newGate(), lives: make(chan string, 1024)}
}

func (s *heldStore) Append(ctx context.Context, g string, c iris.Commit) error {
	s.commits.pass()
	return s.Store.Append(ctx, g, c)
}

func (s *heldStore) Message(ctx context.Context, g, id string) (iris.Message, error) {
	s.rows.pass()
	return s.Store.Message(ctx, g, id)
}

func (s *heldStore) Entries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error) {
	s.pages.pass()
	return s.Store.Entries(ctx, g, after, limit)
}

func (s *heldStore) Follow(ctx context.Context, g string, after int64, writer string, deliver func([]iris.Entry)) error {
	return s.Store.Follow(ctx, g, after, writer, func(entries []iris.Entry) {
		s.tail.pass()
		deliver(entries)
	})
}

func (s *heldStore) CreateLive(ctx context.Context, g string, l iris.Live) error {
	s.created.Add(1)
	s.texts.pass()
	err := s.Store.CreateLive(ctx, g, l)
	if s.unanswered.Load() {
		return errors.New("no answer")
	}
	return err
}

func (s *heldStore) UpdateLive(ctx context.Context, g string, l iris.Live) error {
	s.texts.pass()
	return s.Store.UpdateLive(ctx, g, l)
}

func (s *heldStore) FollowLive(ctx context.Context, g string, deliver func([]iris.Live)) error {
	return s.Store.FollowLive(ctx, g, func(lives []iris.Live) {
		deliver(lives)
		for _, l := range lives {
			s.lives <- l.Data
		}
	})
}

// twoInstances share a gateway; the commits of the first can be held back.
func twoInstances(t *testing.T) (s *heldStore, held, free *instance, g, hostToken string) {
	t.Helper()
	s = newHeldStore()
	held, free = startWith(t, s), startWith(t, s.Store)
	g, hostToken = held.gateway()
	return s, held, free, g, hostToken
}

const turnStart = `{"trigger":"m","source":"user"}`

// "A host event of another epoch is dropped": a commit of the lost spool is
// still under way when the host begins anew. Its seq would count in the new
// epoch, whose own event of that number would be taken for a repetition.
func TestEventOfALostSpool(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	phone, witness := held.device(held.pair(g), "d1"), free.device(held.pair(g), "d2")
	phone.next("status")
	witness.next("status")
	old, _ := held.host(hostToken, "e1", 0, 0, "")
	reached, release := s.commits.hold()
	old.event(1, "notice", "", `{"key":"k","text":"of the lost spool"}`)
	reached()
	host, _ := free.host(hostToken, "e2", 0, 0, "")
	release()
	phone.send(`{"type":"message.send","id":7,"payload":{"text":"decided behind the event"}}`)
	phone.next("message")
	host.event(1, "notice", "", `{"key":"k","text":"of the new spool"}`)
	if f := witness.next("notification"); f.text("body") != "of the new spool" {
		t.Errorf("notification %v, want the one of the new spool", f)
	}
}

// "Entries ≤ the host's cursor are not sent to it": its backlog is read from the
// store, which may be ahead of the tail, and the tail brings the same entry again.
func TestBacklogAheadOfTheTail(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	phone, far := held.device(held.pair(g), "d1"), free.device(held.pair(g), "d2")
	phone.next("status")
	far.next("status")
	phone.send(`{"type":"message.send","id":7,"payload":{"text":"first"}}`)
	phone.next("message")
	far.next("message")
	_, follow := s.tail.hold()
	reached, release := s.pages.hold()
	host, _ := held.host(hostToken, "e1", 0, 0, "")
	reached()
	far.send(`{"type":"message.send","id":7,"payload":{"text":"second"}}`)
	far.next("message")
	release()
	inbound := func(want string) {
		t.Helper()
		f := host.next("inbound")
		if body, _ := f["body"].(map[string]any); body["text"] != want {
			t.Errorf("inbound %v, want %q", f, want)
		}
	}
	inbound("first")
	inbound("second")
	follow()
	far.send(`{"type":"message.send","id":8,"payload":{"text":"third"}}`)
	inbound("third")
}

// The text that a host sent by its old connection waits behind a commit while
// the host goes on by way of another instance: it is not shown any more, or the
// message would jump back.
func TestLiveFramesOfAnOldConnection(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	phone := held.device(held.pair(g), "d1")
	phone.next("status")
	old, _ := held.host(hostToken, "e1", 0, 0, "")
	old.event(1, "turn.start", "tn1", turnStart)
	old.event(0, "send", "tn1", `{"message_id":"a1","text":"One ▉","streaming":true}`)
	phone.next("message.start")
	reached, release := s.commits.hold()
	old.event(2, "notice", "", `{"key":"k","text":"waits"}`)
	reached()
	old.event(0, "edit", "tn1", `{"message_id":"a1","text":"One two ▉"}`)
	if err := old.ws.Ping(t.Context()); err != nil { // it has been read
		t.Fatal(err)
	}
	host, _ := free.host(hostToken, "e1", 2, 0,
		`{"turn":"tn1","chat_id":"android:default","thread_id":null,"started_at":1,"messages":[{"message_id":"a1","text":"One two three"}],"tools":[],"prompts":[]}`)
	host.event(2, "notice", "", `{"key":"k","text":"waits"}`)
	host.acked(2)
	phone.next("notification") // by the listener
	release()
	phone.send(`{"type":"message.send","id":7,"payload":{"text":"decided behind it"}}`)
	phone.until("the echo, and no text of the old connection", func(f frame) bool {
		if f.is("message.update") && strings.TrimSpace(f.text("text")) == "One two" {
			t.Errorf("the message jumps back: %v", f)
		}
		return f["id"] == 7.0
	})
}

// The last edit of an answer leads to nothing before the turn ends. It is not
// contained in the entry that it happens to be committed beside: the instance
// and the host's process may die before the turn's end, and only the host's
// spool has the text then.
func TestEventsBehindTheLastFrame(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	witness := free.device(held.pair(g), "d1")
	witness.next("status")
	host, _ := held.host(hostToken, "e1", 0, 0, "")
	reached, release := s.commits.hold()
	host.event(1, "turn.start", "tn1", turnStart)
	reached()
	host.event(2, "notice", "tn1", `{"key":"k","text":"in one commit with what follows"}`)
	host.event(3, "model.end", "tn1", `{"finish_reason":"stop","text":"Whole.","model":"m"}`)
	host.event(4, "edit", "tn1", `{"message_id":"a1","text":"Whole.","final":true}`)
	host.event(5, "answer", "tn1", `{"text":"Whole."}`)
	if err := host.ws.Ping(t.Context()); err != nil { // they have been read
		t.Fatal(err)
	}
	release()
	host.acked(2)
	host.drop()
	host, ack := free.host(hostToken, "e1", 5, 0, "")
	for seq := int64(ack["acked"].(float64)) + 1; seq <= 6; seq++ {
		switch seq {
		case 3:
			host.event(3, "model.end", "tn1", `{"finish_reason":"stop","text":"Whole.","model":"m"}`)
		case 4:
			host.event(4, "edit", "tn1", `{"message_id":"a1","text":"Whole.","final":true}`)
		case 5:
			host.event(5, "answer", "tn1", `{"text":"Whole."}`)
		case 6:
			host.event(6, "turn.end", "tn1", `{"outcome":"completed"}`)
		}
	}
	if f := witness.until("the end of the turn", func(f frame) bool { return f.is("message.stop") || f.is("agent.idle") }); f.text("final_text") != "Whole." {
		t.Errorf("%v after hello.ack %v, want the answer", f, ack)
	}
}

// An entry contains the last edit of an answer because something else was said
// before the turn's end. Instance and process die: the text is in the live
// document, which was written with that entry.
func TestContainedTextIsKept(t *testing.T) {
	t.Parallel()
	for what, other := range map[string]func(*peer){
		"a notice":        func(host *peer) { host.event(5, "notice", "", `{"key":"k","text":"in between"}`) },
		"nothing for 1 s": func(*peer) {},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, held, free, g, hostToken := twoInstances(t)
			witness := free.device(held.pair(g), "d1")
			witness.next("status")
			host, _ := held.host(hostToken, "e1", 0, 0, "")
			host.event(1, "turn.start", "tn1", turnStart)
			host.event(2, "model.end", "tn1", `{"finish_reason":"stop","text":"Whole.","model":"m"}`)
			host.event(3, "edit", "tn1", `{"message_id":"a1","text":"Whole.","final":true}`)
			host.event(4, "answer", "tn1", `{"text":"Whole."}`)
			other(host)
			host.acked(4)
			host.drop()
			host, ack := free.host(hostToken, "e1", 6, 0, "")
			host.event(6, "turn.end", "tn1", `{"outcome":"completed"}`)
			if f := witness.until("the end of the turn", func(f frame) bool { return f.is("message.stop") || f.is("agent.idle") }); f.text("final_text") != "Whole." {
				t.Errorf("%v after hello.ack %v, want the answer", f, ack)
			}
		})
	}
}

// A live document shows a message whose text waits behind a commit of this
// instance. Meanwhile the message ends on the other one: nothing of it may come
// behind its end.
func TestLiveFrameThatWaitedTooLong(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	phone := held.device(held.pair(g), "d1")
	phone.next("status")
	host, _ := free.host(hostToken, "e1", 0, 0, "")
	host.event(1, "turn.start", "tn1", turnStart)
	phone.next("agent.busy")
	reached, release := s.commits.hold()
	phone.send(`{"type":"message.send","id":7,"chat_id":%q,"payload":{"text":"waits"}}`, lane)
	reached()
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"Hello ▉","streaming":true}`)
	for !strings.Contains(<-s.lives, "a1") {
	}
	host.event(2, "model.end", "tn1", `{"finish_reason":"stop","text":"Hello.","model":"m"}`)
	host.event(3, "answer", "tn1", `{"text":"Hello."}`)
	host.event(4, "edit", "tn1", `{"message_id":"a1","text":"Hello.","final":true}`)
	host.event(5, "turn.end", "tn1", `{"outcome":"completed"}`)
	phone.next("message.stop") // by the listener
	release()
	phone.next("message")
	phone.send(`{"type":"ping","id":8}`)
	phone.until("pong, and nothing of the message", func(f frame) bool {
		if f.is("message.start") || f.is("message.update") {
			t.Errorf("after the end of its message came %v", f)
		}
		return f.is("pong")
	})
}

// A live document is written once more, and its turn ends before the write
// lands: the document must not come back.
func TestLiveDocumentEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	phone := free.device(held.pair(g), "d1")
	phone.next("status")
	host, _ := held.host(hostToken, "e1", 0, 0, "")
	host.event(1, "turn.start", "tn1", turnStart)
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"One ▉","streaming":true}`)
	phone.next("message.start") // by the document
	reached, release := s.texts.hold()
	host.event(0, "edit", "tn1", `{"message_id":"a1","text":"One two ▉"}`)
	reached()
	if n := s.created.Load(); n != 1 {
		t.Errorf("the document is created %d times: a late creation would leave a ghost", n)
	}
	host.event(2, "turn.end", "tn1", `{"outcome":"completed"}`)
	phone.next("agent.idle")
	if lives, err := s.Lives(t.Context(), g); err != nil || len(lives) > 0 {
		t.Errorf("with the end of the turn the live documents %v are left (%v)", lives, err)
	}
	release()
	for range 100 { // the write lands
		lives, err := s.Lives(t.Context(), g)
		if err != nil || len(lives) > 0 {
			t.Fatalf("a late write made the live documents %v (%v)", lives, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// Nobody knows whether a live document was made: it ends with its turn all the
// same.
func TestUnansweredLiveDocument(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	phone := free.device(held.pair(g), "d1")
	phone.next("status")
	host, _ := held.host(hostToken, "e1", 0, 0, "")
	s.unanswered.Store(true)
	host.event(1, "turn.start", "tn1", turnStart)
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"One ▉","streaming":true}`)
	phone.next("message.start") // by the document
	host.event(0, "edit", "tn1", `{"message_id":"a1","text":"One two ▉"}`)
	phone.next("message.update") // it is written again
	host.event(2, "turn.end", "tn1", `{"outcome":"completed"}`)
	phone.next("agent.idle")
	if lives, err := s.Lives(t.Context(), g); err != nil || len(lives) > 0 {
		t.Errorf("with the end of the turn the live documents %v are left (%v)", lives, err)
	}
}

// The live document of a turn that is over is ignored, also by an instance that
// opens the gateway only now.
func TestGhost(t *testing.T) {
	t.Parallel()
	s, held, free, g, hostToken := twoInstances(t)
	host, _ := free.host(hostToken, "e1", 0, 0, "")
	host.event(1, "turn.start", "tn1", turnStart)
	host.acked(1)
	phone := held.device(held.pair(g), "d1")
	phone.next("status")
	ghost := `{"turn":"tn0","chat_id":"android:default","thread_id":null,"started_at":1,"messages":[{"message_id":"a0","text":"Boo"}],"tools":[],"prompts":[]}`
	leaveLive(t, s.Store, g, iris.Live{Turn: "tn0", Lane: iris.Lane{ChatID: lane}, Data: ghost})
	for !strings.Contains(<-s.lives, "Boo") {
	}
	host.event(2, "notice", "", `{"key":"k","text":"behind it"}`)
	phone.until("the notice, and nothing of the ghost", func(f frame) bool {
		if f.is("message.start") {
			t.Errorf("a turn that is over shows %v", f)
		}
		return f.is("notification")
	})
}

// The row of a message that the host names is read beside the gateway's actor:
// while the store is slow, everybody else goes on.
func TestSlowRow(t *testing.T) {
	t.Parallel()
	s, held, _, g, hostToken := twoInstances(t)
	phone := held.device(held.pair(g), "d1")
	phone.next("status")
	host, _ := held.host(hostToken, "e1", 0, 0, "")
	reached, release := s.rows.hold()
	host.event(1, "cron", "", `{"message_id":"c1","text":"Good morning.","job":"morning"}`)
	reached()
	phone.send(`{"type":"message.send","id":7,"payload":{"text":"meanwhile"}}`)
	if f := phone.next("message"); f.text("text") != "meanwhile" {
		t.Errorf("message = %v", f)
	}
	release()
	if f := phone.next("message"); f.text("text") != "Good morning." {
		t.Errorf("message = %v", f)
	}
	host.acked(1)
}

// scrubbedStore is a store in which another instance has taken a message back:
// the entries that were written before come without its text.
type scrubbedStore struct {
	*memstore.Store
	scrubbed atomic.Bool
}

func (s *scrubbedStore) Entries(ctx context.Context, g string, after int64, limit int) ([]iris.Entry, error) {
	entries, err := s.Store.Entries(ctx, g, after, limit)
	for _, e := range entries {
		for i := range e.Frames {
			if s.scrubbed.Load() {
				e.Frames[i] = strings.ReplaceAll(e.Frames[i], "secret", "")
			}
		}
	}
	return entries, err
}

// "Replay reads Firestore, never a cache": what an instance has in memory may
// have been scrubbed since.
func TestReplayReadsTheStore(t *testing.T) {
	t.Parallel()
	s := &scrubbedStore{Store: memstore.New()}
	in := startWith(t, s)
	g, _ := in.gateway()
	phone, other := in.device(in.pair(g), "d1"), in.device(in.pair(g), "d2")
	phone.next("status")
	other.next("status")
	head, err := s.Head(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	phone.send(`{"type":"message.send","id":1,"payload":{"text":"secret"}}`)
	if f := other.next("message"); f.text("text") != "secret" {
		t.Fatalf("message = %v", f)
	}
	s.scrubbed.Store(true)
	other.send(`{"type":"sync","id":2,"payload":{"cursor":%d}}`, head.Cursor)
	if f := other.next("message"); f.text("text") != "" {
		t.Errorf("replayed %v, want it as the store has it now", f)
	}
	other.next("sync.done")
}
