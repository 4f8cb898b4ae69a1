package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/push"
	"iris-gateway/iris"
)

// stores runs a test over the store in memory and over Firestore.
func stores(t *testing.T, test func(t *testing.T, e *everywhere)) {
	t.Run("memory", func(t *testing.T) { t.Parallel(); test(t, inMemory(t, memstore.New())) })
	t.Run("firestore", func(t *testing.T) { t.Parallel(); test(t, inFirestore(t)) })
}

// tell sends an event of a lane and waits until the log has it; a live one has
// no seq.
func (w *world) tell(l iris.Lane, kind, turn, body string) {
	w.Helper()
	w.seq++
	w.host.send(`{"type":"event","seq":%d,"at":%d,"kind":%q,"chat_id":%q,"thread_id":%q,"turn":%q,"body":%s}`,
		w.seq, time.Now().UnixMilli(), kind, l.ChatID, l.ThreadID, turn, body)
	w.host.acked(w.seq)
}

// ask sends a request of the phone and returns its answer.
func (w *world) ask(kind string, l iris.Lane, payload string) frame {
	w.Helper()
	return ask(w.phone, kind, l, payload)
}

// asks numbers the requests of all tests.
func ask(p *peer, kind string, l iris.Lane, payload string) frame {
	p.t.Helper()
	id := iris.NewID("ask_")
	p.send(`{"type":%q,"id":%q,"chat_id":%q,"thread_id":%q,"payload":%s}`, kind, id, l.ChatID, l.ThreadID, payload)
	return p.until("answer to "+kind, func(f frame) bool { return f["id"] == id })
}

// answered fails unless a frame is of that type.
func (w *world) answered(f frame, kind string) frame {
	w.Helper()
	if !f.is(kind) {
		w.Fatalf("answered with %v, want %s", f, kind)
	}
	return f
}

func messageIDs(all ...string) string {
	list, _ := json.Marshal(map[string]any{"message_ids": all})
	return string(list)
}

// conversation is a thread that is full of a secret: as its name, in a question,
// a beat, an answer with its reasoning, a reply of a command and what a scheduled
// job says, quoted in another channel, and in the directory.
type conversation struct {
	lane     iris.Lane
	messages []string // that hold the secret
	quoting  string   // a message that does not, but its entry
}

func (w *world) converse(secret string) conversation {
	w.Helper()
	other := iris.Lane{ChatID: w.answered(w.ask("channel.create", iris.Lane{}, `{"name":"other"}`), "channel.created").text("chat_id")}
	first := w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":"%s and more","auto_thread":true,"client_id":"c1"}`, secret))
	thread, _ := first["thread_id"].(string)
	l := iris.Lane{ChatID: lane, ThreadID: thread}
	turn := iris.NewID("tn_")
	w.tell(l, "turn.start", turn, `{"source":"user"}`)
	w.tell(l, "edit", turn, fmt.Sprintf(`{"message_id":"beat","text":"I look for %s","final":true}`, secret))
	w.tell(l, "model.end", turn, fmt.Sprintf(`{"finish_reason":"tool_calls","text":"I look for %s"}`, secret))
	w.tell(l, "edit", turn, fmt.Sprintf(`{"message_id":"answer","text":"It is %s.","final":true}`, secret))
	w.tell(l, "answer", turn, fmt.Sprintf(`{"text":"It is %s."}`, secret))
	w.tell(l, "turn.end", turn, fmt.Sprintf(`{"outcome":"completed","reasoning":"they want %s"}`, secret))
	w.tell(l, "send", "", fmt.Sprintf(`{"message_id":"system","text":"%s was set","reply_to":"x"}`, secret))
	w.tell(l, "cron", "", fmt.Sprintf(`{"message_id":"cron","text":"Do not forget %s","job":"reminder"}`, secret))
	w.ask("message.send", l, `{"text":"thanks"}`) // its inbound repeats the thread's name
	w.answered(w.ask("channel.set_default", other, `{}`), "channel.list")
	w.answered(w.ask("channel.set_default", iris.Lane{ChatID: lane}, `{}`), "channel.list")
	quoting := w.ask("message.send", other, fmt.Sprintf(`{"text":"what did you mean?","reply_to":%q}`, first.text("message_id")))
	return conversation{l, []string{first.text("message_id"), "beat", "answer", "system", "cron"}, quoting.text("message_id")}
}

// "Gone everywhere, provably": no document, no log line, no page of history and
// no replay has a word of deleted messages; all others are as they were.
func TestDeleteMessages(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *everywhere) {
		w := newWorld(t, e.store, e.logged)
		secret := "xyzzysecret"
		c := w.converse(secret)
		e.there(secret)
		other := w.other
		answer := w.answered(w.ask("message.delete", c.lane, messageIDs(c.messages...)), "message.deleted")
		told := other.next("message.deleted")
		for _, f := range []frame{answer, told} {
			if got := f.payload()["message_ids"].([]any); len(got) != len(c.messages) || f["thread_id"] != c.lane.ThreadID {
				t.Errorf("%v, want all of %v in their thread", f, c.messages)
			}
		}
		e.gone(secret)
		if page := w.ask("history", c.lane, `{}`).payload()["messages"].([]any); len(page) != 1 {
			t.Errorf("history shows %v, want only the thanks", page)
		}
		if f := w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":"%s and more","auto_thread":true,"client_id":"c1"}`, secret)); !f.is("message.deleted") {
			t.Errorf("a late resend was answered with %v", f)
		}
		e.gone(secret)
		quoting, err := e.store.Message(t.Context(), w.g, c.quoting)
		if err != nil || quoting.Text != "what did you mean?" || quoting.ReplyTo != c.messages[0] {
			t.Errorf("the message that quotes one became %+v, %v", quoting, err)
		}
		w.dense()
		w.once("message.deleted", 1)
		w.once("message", 2) // the thanks and the one that quotes
	})
}

// dense fails if the log has a hole.
func (w *world) dense() []iris.Entry {
	w.Helper()
	entries, err := w.store.Entries(w.Context(), w.g, 0, 1_000_000)
	if err != nil {
		w.Fatal(err)
	}
	for i, e := range entries {
		if e.Cursor != entries[0].Cursor+int64(i) {
			w.Fatalf("entry %d follows %d", e.Cursor, entries[i-1].Cursor)
		}
	}
	return entries
}

// once fails unless the log has so many frames of a type.
func (w *world) once(kind string, want int) {
	w.Helper()
	n := 0
	for _, e := range w.dense() {
		for _, f := range e.Frames {
			if strings.HasPrefix(f, `{"v":1,"type":"`+kind+`"`) {
				n++
			}
		}
	}
	if n != want {
		w.Errorf("%d frames %s in the log, want %d", n, kind, want)
	}
}

// "channel.delete is a hard delete", with the threads, their open questions and
// what runs there.
func TestDeleteChannel(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *everywhere) {
		w := newWorld(t, e.store, e.logged)
		secret := "plughsecret"
		channel := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, fmt.Sprintf(`{"name":"about %s"}`, secret)).text("chat_id")}
		var threads []any
		for i := range 3 {
			name := fmt.Sprintf(`{"kind":"thread","name":"%s %d"}`, secret, i)
			threads = append(threads, w.ask("channel.create", channel, name).text("thread_id"))
		}
		thread := iris.Lane{ChatID: channel.ChatID, ThreadID: threads[0].(string)}
		for i := range 5 {
			w.ask("message.send", channel, fmt.Sprintf(`{"text":"%s %d","client_id":"f%d"}`, secret, i, i))
			w.ask("message.send", thread, fmt.Sprintf(`{"text":"%s %d"}`, secret, i))
		}
		w.tell(thread, "turn.start", "tn", `{"source":"user"}`)
		w.tell(thread, "edit", "tn", fmt.Sprintf(`{"message_id":"open","text":"%s is","final":true}`, secret))
		w.tell(thread, "prompt", "tn", fmt.Sprintf(`{"prompt_id":"p","kind":"clarify","question":"which %s?"}`, secret))
		w.tell(channel, "prompt", "", fmt.Sprintf(`{"prompt_id":"q","kind":"confirm","title":"%s","text":"%s"}`, secret, secret))
		quoted := w.ask("message.send", channel, fmt.Sprintf(`{"text":"%s"}`, secret)).text("message_id")
		w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":"said elsewhere","reply_to":%q}`, quoted))
		w.ask("channel.set_default", channel, `{}`)
		w.answered(w.ask("channel.delete", channel, `{}`), "error") // not while it is the default
		w.ask("channel.set_default", iris.Lane{ChatID: lane}, `{}`)
		e.there(secret)

		answer := w.answered(w.ask("channel.delete", channel, `{}`), "channel.deleted")
		for _, f := range []frame{answer, w.other.next("channel.deleted")} {
			if f.text("chat_id") != channel.ChatID || len(f.payload()["thread_ids"].([]any)) != 3 {
				t.Errorf("%v, want %s with its three threads", f, channel.ChatID)
			}
		}
		e.gone(secret)
		w.host.until("lane.delete", func(f frame) bool { return f["kind"] == "lane.delete" && f["chat_id"] == channel.ChatID })

		// What the host still says of it is taken and dropped.
		w.tell(thread, "answer", "tn", fmt.Sprintf(`{"text":"%s is it"}`, secret))
		w.tell(thread, "turn.end", "tn", `{"outcome":"stopped"}`)
		w.tell(channel, "cron", "", fmt.Sprintf(`{"message_id":"late","text":"%s","job":"j"}`, secret))
		if f := w.ask("message.send", channel, fmt.Sprintf(`{"text":"%s 0","client_id":"f0"}`, secret)); !f.is("message.deleted") {
			t.Errorf("a late resend was answered with %v", f)
		}
		if f := w.ask("message.send", channel, `{"text":"new","client_id":"new"}`); f.text("code") != "not_found" {
			t.Errorf("a new message was answered with %v", f)
		}
		e.gone(secret)
		w.dense()
		w.once("channel.deleted", 1)
		fresh := w.in.device(w.in.pair(w.g), "fresh")
		if list := fresh.next("hello.ack").payload()["channels"].([]any); len(list) != 1 {
			t.Errorf("the directory has %v", list)
		}
	})
}

// A thread goes alone: its channel and its siblings stay.
func TestDeleteThread(t *testing.T) {
	t.Parallel()
	e := inMemory(t, memstore.New())
	w := newWorld(t, e.store, e.logged)
	send := func(text string) iris.Lane {
		f := w.ask("message.send", iris.Lane{}, fmt.Sprintf(`{"text":%q,"auto_thread":true,"client_id":%q}`, text, text))
		return iris.Lane{ChatID: lane, ThreadID: f["thread_id"].(string)}
	}
	gone, kept := send("xyzzysecret"), send("keepthis")
	w.ask("message.send", iris.Lane{}, `{"text":"keepflat"}`)
	f := w.answered(w.ask("channel.delete", gone, `{}`), "channel.deleted")
	if f.text("thread_id") != gone.ThreadID || f.text("parent_chat_id") != lane || f.payload()["thread_ids"] != nil {
		t.Errorf("channel.deleted = %v", f)
	}
	e.gone("xyzzysecret")
	e.there("keepthis")
	e.there("keepflat")
	if page := w.ask("history", kept, `{}`).payload()["messages"].([]any); len(page) != 1 {
		t.Errorf("history of the sibling: %v", page)
	}
	// It came to the flat lane, and would begin another thread.
	if f := w.ask("message.send", iris.Lane{}, `{"text":"xyzzysecret","auto_thread":true,"client_id":"xyzzysecret"}`); !f.is("message.deleted") {
		t.Errorf("a late resend was answered with %v", f)
	}
	e.gone("xyzzysecret")
}

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
		w.host.drop()
		data, _ := json.Marshal(link.Turn{Turn: "tn", ChatID: lane, Messages: []link.TurnMessage{{MessageID: "a1", Text: "xyzzysecret"}, {MessageID: "a2", Text: "stays"}}})
		err := e.store.(hub.LiveStore).CreateLive(t.Context(), w.g, iris.Live{Turn: "tn", Lane: iris.Lane{ChatID: lane}, Data: string(data)})
		if err != nil {
			t.Fatal(err)
		}
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

// hesitant lets something happen between the reading of a message and its use.
type hesitant struct {
	*memstore.Store
	after func(id string)
}

func (s hesitant) Message(ctx context.Context, g, id string) (iris.Message, error) {
	m, err := s.Store.Message(ctx, g, id)
	s.after(id)
	return m, err
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

// Files go with their messages: bytes, row, offer and all that names them; also one
// of the agent that comes when its lane is gone already.
func TestDeleteMedia(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *everywhere) {
		w := newWorld(t, e.store, e.logged)
		file := []byte("the bytes of a file")
		channel := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")}
		say := func(l iris.Lane, ref string) (message, medium string) {
			w.phone.upload(sendingOf(ref, file), file)
			echo := w.answered(w.ask("message.send", l, fmt.Sprintf(`{"text":"look","media_refs":[%q]}`, ref)), "message")
			return echo.text("message_id"), mediaID(mediaOf(echo.payload())[0])
		}
		offer := func(l iris.Lane, id string) {
			w.host.bring("md_"+id, file)
			w.tell(l, "media", "", fmt.Sprintf(`{"message_id":%q,"media_id":"md_%s","kind":"document","mime":"text/plain","size":%d,"filename":"f-%s","sha256":%q}`,
				id, id, len(file), id, hashOf(file)))
		}
		sent, medium := say(iris.Lane{}, "ref1")
		offer(iris.Lane{ChatID: lane}, "m1")
		offer(iris.Lane{ChatID: lane}, "kept")
		e.there(medium)
		e.there("md_m1")
		w.answered(w.ask("message.delete", iris.Lane{}, messageIDs(sent, "m1")), "message.deleted")
		e.unnamed(medium)
		e.gone("md_m1")
		e.gone("f-m1")
		e.there("md_kept")
		if n := len(e.files()); n != 1 {
			t.Errorf("objects %v, want the one that is kept", e.files())
		}
		_, medium = say(channel, "ref2")
		offer(channel, "m2")
		w.answered(w.ask("channel.delete", channel, `{}`), "channel.deleted")
		e.unnamed(medium)
		e.gone("md_m2")
		offer(channel, "m3")
		waitFor(t, "the late file is removed", func() bool { return len(e.files()) == 1 })
		e.gone("md_m3")
	})
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
