package handlers_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
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
		w.toldByHash(map[string]string{
			c.messages[0]: secret + " and more", "beat": "I look for " + secret, "answer": "It is " + secret + ".",
			"system": secret + " was set", "cron": "Do not forget " + secret,
		})
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

// toldByHash fails unless the host is told of the deletion of these messages, each with the
// hash of its text: without a row of its own the plugin finds them in hermes' store by it.
func (w *world) toldByHash(texts map[string]string) (told map[string]map[string]any) {
	w.Helper()
	order := w.host.until("delete", func(f frame) bool { return f["kind"] == "delete" })
	told = map[string]map[string]any{}
	for _, m := range order["body"].(map[string]any)["messages"].([]any) {
		m := m.(map[string]any)
		told[m["message_id"].(string)] = m
	}
	for id, text := range texts {
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(text))); told[id]["sha256"] != want {
			w.Errorf("the host knows %s by %v, want the hash of its text, %s", id, told[id], want)
		}
	}
	if len(told) != len(texts) {
		w.Errorf("the host is told of %v, want %v", told, texts)
	}
	return told
}

// dense fails if the log has a hole.
func (w *world) dense() []iris.Entry {
	w.Helper()
	entries := logOf(w.T, w.store, w.g, 0)
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

// A device may send what it has uploaded twice, on purpose or because it heard of
// no answer: the file stays until the last message that has it is deleted.
func TestDeleteMediaOfTwo(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *everywhere) {
		w := newWorld(t, e.store, e.logged)
		file := random(1000)
		channel := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")}
		w.phone.upload(sendingOf("mu", file), file)
		say := func(l iris.Lane) (message, medium string) {
			echo := w.answered(w.ask("message.send", l, `{"text":"look","media_refs":["mu"]}`), "message")
			return echo.text("message_id"), mediaID(mediaOf(echo.payload())[0])
		}
		first, medium := say(iris.Lane{})
		second, _ := say(iris.Lane{})
		for range 2 {
			say(channel)
		}
		w.answered(w.ask("message.delete", iris.Lane{}, messageIDs(first)), "message.deleted")
		w.phone.holds(medium, file)
		w.answered(w.ask("channel.delete", channel, `{}`), "channel.deleted")
		w.phone.holds(medium, file)
		w.answered(w.ask("message.delete", iris.Lane{}, messageIDs(second)), "message.deleted")
		if f := w.ask("media.pull", iris.Lane{}, fmt.Sprintf(`{"media_id":%q}`, medium)); f.text("code") != "not_found" {
			t.Errorf("after the last one: %v", f)
		}
		if n := len(e.files()); n != 0 {
			t.Errorf("objects %v are left", e.files())
		}
	})
}
