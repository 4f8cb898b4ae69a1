package handlers_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// hermes looks nothing up: with a message the host is told where it was said, by
// which device, and what it answers, which may be of another lane.
func TestHostIsToldAllOfAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	flat := iris.Lane{ChatID: lane}
	channel := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"garden"}`).text("chat_id")}
	thread := channel
	thread.ThreadID = w.ask("channel.create", channel, `{"name":"beds","kind":"thread"}`).text("thread_id")
	w.event("send", "", `{"message_id":"a1","text":"An answer.","notify":true}`)
	said := w.ask("message.send", thread, `{"text":"in the thread"}`).text("message_id")
	w.host.next("inbound")
	for _, c := range []struct {
		where, was iris.Lane // of the message, and of what it answers
		quotes     string
		quoted     map[string]any
		names      map[string]any
	}{
		{flat, flat, "a1", map[string]any{"role": "assistant", "text": "An answer."}, map[string]any{"name": "Default"}},
		{thread, flat, "a1", map[string]any{"role": "assistant", "text": "An answer.", "chat_id": lane}, map[string]any{"name": "garden", "thread_name": "beds"}},
		{thread, thread, said, map[string]any{"role": "user", "text": "in the thread"}, map[string]any{"name": "garden", "thread_name": "beds"}},
		{channel, thread, said, map[string]any{"role": "user", "text": "in the thread", "chat_id": channel.ChatID, "thread_id": thread.ThreadID}, map[string]any{"name": "garden"}},
		{flat, flat, "m_none", map[string]any{"role": "", "text": ""}, map[string]any{"name": "Default"}},
	} {
		echo := w.answered(w.ask("message.send", c.where, fmt.Sprintf(`{"text":"why?","reply_to":%q}`, c.quotes)), "message")
		if echo.text("reply_to") != c.quotes {
			t.Errorf("the echo %v does not say that it answers %s", echo, c.quotes)
		}
		in := w.host.next("inbound")
		thread, _ := in["thread_id"].(string)
		if in["chat_id"] != c.where.ChatID || thread != c.where.ThreadID {
			t.Errorf("%v was said in %v", in, c.where)
		}
		c.quoted["message_id"] = c.quotes
		want := map[string]any{
			"message_id": echo.text("message_id"), "text": "why?", "reply_to": c.quoted, "channel": c.names,
			"device": map[string]any{"device_id": "phone", "name": "Phone"},
		}
		if body := in["body"]; !reflect.DeepEqual(body, want) {
			t.Errorf("the host is told %v, want %v", body, want)
		}
	}
}

// A page of history says of each message what was said when it ended: whoever was
// away sees no less.
func TestHistoryTellsAllOfAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	asked := w.ask("message.send", iris.Lane{}, `{"text":"and then?","reply_to":"m_old"}`)
	w.event("turn.start", "tn", `{"source":"user"}`)
	w.event("edit", "tn", `{"message_id":"beat","text":"Let me look.","final":true}`)
	w.event("model.end", "tn", `{"finish_reason":"tool_calls","text":"Let me look."}`)
	w.event("edit", "tn", `{"message_id":"a1","text":"It is fine.","final":true}`)
	w.event("answer", "tn", `{"text":"It is fine."}`)
	w.event("turn.end", "tn", `{"outcome":"completed","reasoning":"they worry","tokens":11,"runtime":{"model":"big","latency":1.5,"cwd":"~"}}`)
	beat, answer := w.phone.next("message.stop"), w.phone.next("message.stop")
	page := w.answered(w.ask("history", iris.Lane{}, `{}`), "history").payload()["messages"].([]any)
	if len(page) != 3 {
		t.Fatalf("history = %v", page)
	}
	for i, was := range []frame{asked, beat, answer} {
		m := page[i].(map[string]any)
		for _, field := range []string{"message_id", "reply_to", "commentary", "reasoning", "model", "tokens", "runtime"} {
			if !reflect.DeepEqual(m[field], was.payload()[field]) {
				t.Errorf("%s of %v is %v in history, was %v", field, m["message_id"], m[field], was.payload()[field])
			}
		}
	}
	if answer.text("reasoning") == "" || answer.text("model") == "" || beat.payload()["commentary"] != true {
		t.Errorf("nothing was compared: %v, %v", beat, answer)
	}
}

// However much a device says on one connection, it goes on: what waits for the
// log is bounded, and each message leaves its room when it is in.
func TestMessagesLeaveRoom(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	_, _, phone, host := attached(in, in)
	text := strings.Repeat("x", 60<<10)
	for i := range 40 { // 2.4 MiB
		if f := ask(phone, "message.send", iris.Lane{}, fmt.Sprintf(`{"text":%q}`, text)); !f.is("message") {
			t.Fatalf("message %d: %v", i, f)
		}
		host.next("inbound")
	}
}

// Threads begin with words for the agent: a command is about the lane that it is typed
// in, however it is typed, and a picture alone gives a thread no name.
func TestNoThreadOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	file := random(10)
	w.phone.upload(sendingOf("mu", file), file)
	for _, payload := range []string{
		`{"text":"/new","auto_thread":true}`, `{"text":" \n /new","auto_thread":true}`, `{"text":"","media_refs":["mu"],"auto_thread":true}`,
	} {
		f := w.answered(w.ask("message.send", iris.Lane{}, payload), "message")
		if f["thread_id"] != nil || f["chat_id"] != lane {
			t.Errorf("%s began %v", payload, f)
		}
	}
}
