package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/push"
	"iris-gateway/iris"
)

// "An inbound message deleted before the host has it keeps its place as kind
// deleted with an empty body", and the host is told when it is back.
func TestDeleteWhileHostIsAway(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *everywhere) {
		w := newWorld(t, e.store, e.logged)
		w.host.drop()
		w.phone.until("status", func(f frame) bool { return f.is("status") && f.text("state") == "degraded" })
		secret := "xyzzysecret"
		m := w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":%q}`, secret)).text("message_id")
		w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":"still wanted","reply_to":%q}`, m))
		w.answered(w.ask("message.delete", iris.Lane{}, messageIDs(m)), "message.deleted")
		e.gone(secret)
		w.attachHost()
		var kinds []string
		w.host.until("delete", func(f frame) bool {
			kinds = append(kinds, fmt.Sprint(f["kind"]))
			if f["kind"] == "deleted" && fmt.Sprint(f["body"]) != "map[]" {
				t.Errorf("%v has a body", f)
			}
			return f["kind"] == "delete"
		})
		if fmt.Sprint(kinds) != "[deleted message delete]" {
			t.Errorf("the host gets %v", kinds)
		}
		w.host.send(`{"type":"received","cursor":%d}`, w.head())
		if f := w.phone.next("read.receipt"); f.text("message_id") == m {
			t.Errorf("a receipt for what was deleted: %v", f)
		}
	})
}

// A message that is still being written is deleted at once: no device is shown
// more of it, no document keeps what there was, its turn goes on, and its end
// brings nothing back.
func TestDeleteWhatIsBeingWritten(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *everywhere) {
		w := newWorld(t, e.store, e.logged)
		there := startWith(t, e.store, e.logged) // a device there makes live documents come soon
		apart := there.device(there.pair(w.g), "apart")
		apart.next("status")
		secret := "xyzzysecret"
		w.event("turn.start", "tn", `{"source":"user"}`)
		w.host.event(0, "send", "tn", fmt.Sprintf(`{"message_id":"a1","text":"%s ▉","streaming":true}`, secret))
		apart.next("message.update")
		e.there(secret)
		deleted := ask(apart, "message.delete", iris.Lane{}, messageIDs("a1"))
		if !deleted.is("message.deleted") {
			t.Fatalf("answered with %v", deleted)
		}
		w.phone.next("message.deleted")
		w.host.event(0, "edit", "tn", fmt.Sprintf(`{"message_id":"a1","text":"%s goes on ▉"}`, secret))
		w.event("edit", "tn", fmt.Sprintf(`{"message_id":"a1","text":"%s goes on.","final":true}`, secret))
		w.event("edit", "tn", `{"message_id":"a2","text":"Something else.","final":true}`)
		w.event("answer", "tn", `{"text":"Something else."}`)
		w.event("turn.end", "tn", `{"outcome":"completed"}`)
		for _, p := range []*peer{w.phone, apart} {
			p.until("agent.idle", func(f frame) bool {
				if strings.Contains(fmt.Sprint(f), secret) {
					t.Errorf("%s is shown %v after the deletion", p.name, f)
				}
				return f.is("agent.idle")
			})
		}
		waitFor(t, "no live document", func() bool { l, err := e.store.Lives(t.Context(), w.g); return err == nil && len(l) == 0 })
		e.gone(secret)
		w.once("message.stop", 1)
	})
}

// A live document that its instance left behind, and that nobody writes any more,
// loses the message too.
func TestDeleteWhatWasBeingWritten(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *everywhere) {
		w := newWorld(t, e.store, e.logged)
		data, _ := json.Marshal(link.Turn{Turn: "tn", ChatID: lane, Messages: []link.TurnMessage{{MessageID: "a1", Text: "xyzzysecret"}, {MessageID: "a2", Text: "stays"}}})
		leaveLive(t, e.store, w.g, iris.Live{Turn: "tn", Lane: iris.Lane{ChatID: lane}, Data: string(data)})
		w.host.drop()
		w.answered(w.ask("message.delete", iris.Lane{}, messageIDs("a1")), "message.deleted")
		e.gone("xyzzysecret")
		e.there("stays")
	})
}

// What waits to be pushed when it is deleted is not pushed.
func TestDeleteBeforePush(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	e := inMemory(t, s)
	option, fcm := waking(t, s, func(c *push.Config) { c.Preview = true })
	w := newWorld(t, s, e.logged, option)
	w.in.registered(w.g, "pocket", "f1")
	other := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"other"}`).text("chat_id")}
	fcm.Answer("f1", "503 2", "200")
	w.event("send", "", `{"message_id":"a1","text":"xyzzysecret","notify":true}`)
	fcm.Wait("f1", 1, patience) // and it will be tried again
	w.answered(w.ask("message.delete", iris.Lane{}, messageIDs("a1")), "message.deleted")
	w.tell(other, "send", "", `{"message_id":"a2","text":"something else","notify":true}`) // would not take its place
	calls := fcm.Wait("f1", 2, patience)
	for _, c := range calls[1:] {
		if strings.Contains(fmt.Sprint(c.Data), "xyzzysecret") {
			t.Errorf("pushed after the deletion: %v", c.Data)
		}
	}
	if last := calls[len(calls)-1]; last.Data["message_id"] != "a2" {
		t.Errorf("pushed %v, want the newer message", last.Data)
	}
	e.gone("xyzzysecret")
}

// A replay that has begun before the deletion ends with it: what a device was
// given of the message comes in front of message.deleted, never behind.
func TestDeleteWhileReplaying(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *everywhere) {
		w := newWorld(t, e.store, e.logged)
		var all []string
		for i := range 60 {
			m := w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":"xyzzysecret %d"}`, i))
			all = append(all, m.text("message_id"))
		}
		late := w.in.device(w.away, "away")
		late.next("status")
		late.send(`{"type":"sync","id":"s","payload":{"cursor":0}}`)
		go w.phone.send(`{"type":"message.delete","id":"d","payload":%s}`, messageIDs(all...))
		deleted := false
		last := 0.0
		late.until("message.deleted and sync.done", func(f frame) bool {
			if c, ok := f["cursor"].(float64); ok {
				if c < last {
					t.Errorf("cursor %v after %v", c, last)
				}
				last = c
			}
			if f.is("message") && deleted {
				t.Errorf("%v after its deletion", f)
			}
			deleted = deleted || f.is("message.deleted")
			return deleted
		})
		w.phone.until("the answer", func(f frame) bool { return f["id"] == "d" })
		e.gone("xyzzysecret")
	})
}

// The answer to an older message goes on its way while its question is deleted:
// the quote is left out.
func TestQuoteOfDeleted(t *testing.T) {
	t.Parallel()
	e := inMemory(t, memstore.New())
	w := newWorld(t, e.store, e.logged)
	m := w.ask("message.send", iris.Lane{}, `{"text":"xyzzysecret"}`).text("message_id")
	w.ask("message.delete", iris.Lane{}, messageIDs(m))
	w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":"why?","reply_to":%q}`, m))
	f := w.host.until("why?", func(f frame) bool {
		body, _ := f["body"].(map[string]any)
		return body["text"] == "why?"
	})
	if q := f["body"].(map[string]any)["reply_to"].(map[string]any); q["message_id"] != m || q["text"] != "" {
		t.Errorf("quoted as %v", q)
	}
}

// hesitant lets something happen between the reading of messages and their use.
type hesitant struct {
	*memstore.Store
	after func(id string)
}

func (s hesitant) Message(ctx context.Context, g, id string) (iris.Message, error) {
	m, err := s.Store.Message(ctx, g, id)
	s.after(id)
	return m, err
}

func (s hesitant) History(ctx context.Context, g string, lane iris.Lane, before *iris.Message, limit int) ([]iris.Message, bool, error) {
	read, more, err := s.Store.History(ctx, g, lane, before, limit)
	s.afterAll(read)
	return read, more, err
}

func (s hesitant) Search(ctx context.Context, g string, q iris.Search) (iris.Found, error) {
	found, err := s.Store.Search(ctx, g, q)
	s.afterAll(found.Messages)
	return found, err
}

func (s hesitant) afterAll(read []iris.Message) {
	for _, m := range read {
		s.after(m.ID)
	}
}

// What a device asks for is deleted between the look at it and the answer. The
// device hears of the deletion first, and the answer does not bring it back.
func TestAnswerOvertaken(t *testing.T) {
	t.Parallel()
	var overtake func()
	awaited := ""
	s := hesitant{memstore.New(), func(id string) {
		if id == awaited {
			awaited = "" // the deletion reads it as well
			overtake()
		}
	}}
	e := inMemory(t, s)
	w := newWorld(t, s, e.logged)
	for _, deletion := range []string{"message.delete", "channel.delete"} {
		for kind, payload := range map[string]string{
			"history":      `{}`,
			"search":       `{"query":"xyzzysecret","scope":"chat"}`,
			"message.send": `{"text":"xyzzysecret","client_id":%q}`,
		} {
			l := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")}
			client := iris.NewID("c_")
			m := w.ask("message.send", l, fmt.Sprintf(`{"text":"xyzzysecret","client_id":%q}`, client)).text("message_id")
			overtake = func() {
				if f := ask(w.other, deletion, l, messageIDs(m)); f.is("error") {
					t.Errorf("%s: %v", deletion, f)
				}
			}
			if strings.Contains(payload, "%q") {
				payload = fmt.Sprintf(payload, client)
			}
			awaited = m
			id := iris.NewID("ask_")
			w.phone.send(`{"type":%q,"id":%q,"chat_id":%q,"payload":%s}`, kind, id, l.ChatID, payload)
			told := false
			answer := w.phone.until("the answer", func(f frame) bool {
				told = told || f["id"] == nil && f.is(strings.TrimSuffix(deletion, "e")+"ed")
				return f["id"] == id
			})
			if awaited != "" || !told {
				t.Errorf("%s before %s: nothing was overtaken", deletion, kind)
			}
			hits, _ := answer.payload()["hits"].([]any)
			page, _ := answer.payload()["messages"].([]any)
			if len(hits) > 0 || len(page) > 0 || answer.is("message") {
				t.Errorf("%s before %s: answered with %v", deletion, kind, answer)
			}
		}
	}
}

// The message that is answered, or its lane, is deleted between the look at it
// and the commit of the answer.
func TestQuoteOvertaken(t *testing.T) {
	t.Parallel()
	var overtake func()
	quoted := ""
	s := hesitant{memstore.New(), func(id string) {
		if id == quoted {
			overtake()
		}
	}}
	e := inMemory(t, s)
	w := newWorld(t, s, e.logged)
	channel := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")}
	for lane, request := range map[iris.Lane]string{{}: "message.delete", channel: "channel.delete"} {
		m := w.ask("message.send", lane, `{"text":"xyzzysecret"}`).text("message_id")
		quoted = m
		overtake = func() {
			quoted = ""
			if f := ask(w.other, request, lane, messageIDs(m)); f.is("error") {
				t.Errorf("%s: %v", request, f)
			}
		}
		w.answered(w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":"why?","reply_to":%q}`, m)), "message")
		e.gone("xyzzysecret")
	}
}

// Two instances append all the time, on each a phone writes and another one deletes
// what it reads: of every message that was deleted nothing is left, all others are
// there, each is told of once, and the log has no hole.
func TestDeleteWhileOthersAppend(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *everywhere) {
		w := newWorld(t, e.store, e.logged)
		there := startWith(t, e.store, e.logged)
		const each = 40
		var all sync.WaitGroup
		for i, in := range []*instance{w.in, there} {
			writer := in.device(w.in.pair(w.g), fmt.Sprint("writer", i))
			eraser := there.device(w.in.pair(w.g), fmt.Sprint("eraser", i)) // may be on the other one
			writer.next("status")
			eraser.next("status")
			doomed := make(chan string, each)
			all.Go(func() {
				defer close(doomed)
				for n := range each {
					word := []string{"keepthis", "xyzzysecret"}[n%2]
					m := ask(writer, "message.send", iris.Lane{}, fmt.Sprintf(`{"text":"%s %d %d"}`, word, i, n))
					if n%2 == 1 {
						doomed <- m.text("message_id")
					}
				}
			})
			all.Go(func() {
				for id := range doomed {
					if f := ask(eraser, "message.delete", iris.Lane{}, messageIDs(id)); !f.is("message.deleted") {
						t.Errorf("answered with %v", f)
					}
				}
			})
		}
		all.Wait()
		e.gone("xyzzysecret")
		w.once("message.deleted", each)
		w.once("message", each)
		page, _, err := e.store.History(t.Context(), w.g, iris.Lane{ChatID: lane}, nil, 1000)
		if err != nil || len(page) != each {
			t.Errorf("history has %d messages, %v, want %d", len(page), err, each)
		}
	})
}

// overtaken lets something happen in front of the commit that shows a medium.
type overtaken struct {
	*memstore.Store
	medium string
	by     func()
	once   sync.Once
}

func (s *overtaken) Append(ctx context.Context, g string, c iris.Commit) error {
	if strings.Contains(strings.Join(c.Entry.Frames, ""), s.medium) {
		s.once.Do(s.by)
	}
	return s.Store.Append(ctx, g, c)
}

// The lane of a file of the agent is deleted on another instance when the event that
// shows it has been taken, and waits for the log: the file goes too.
func TestDeleteLaneOfAFileOnItsWay(t *testing.T) {
	t.Parallel()
	s := &overtaken{Store: memstore.New(), medium: "md_late"}
	e := inMemory(t, s)
	e.files = s.Objects
	w := newWorld(t, s, e.logged)
	there := startWith(t, s.Store, e.logged)
	apart := there.device(w.in.pair(w.g), "apart")
	apart.next("status")
	channel := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")}
	s.by = func() {
		if f := ask(apart, "channel.delete", channel, `{}`); !f.is("channel.deleted") {
			t.Errorf("answered with %v", f)
		}
	}
	file := []byte("the bytes of a file")
	w.host.bring("md_late", file)
	w.tell(channel, "media", "", fmt.Sprintf(`{"message_id":"m","media_id":"md_late","kind":"document","mime":"text/plain","size":%d,"filename":"f","sha256":%q}`,
		len(file), hashOf(file)))
	waitFor(t, "the file is removed", func() bool { return len(e.files()) == 0 })
	e.gone("md_late")
}
