package handlers_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/wire"
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

// The same of what else people do in a thread: the host finds the lane, the message, the
// question, and when it is too late.
func TestHostIsToldAllOfARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	first := w.ask("message.send", iris.Lane{}, `{"text":"begin","auto_thread":true}`)
	thread := iris.Lane{ChatID: lane, ThreadID: first["thread_id"].(string)}
	w.host.next("inbound")
	told := func(kind string) map[string]any {
		t.Helper()
		in := w.host.next("inbound")
		if in["kind"] != kind || in["chat_id"] != thread.ChatID || in["thread_id"] != thread.ThreadID {
			t.Errorf("the host gets %v, want %s in %v", in, kind, thread)
		}
		return in["body"].(map[string]any)
	}
	soon := func(body map[string]any) {
		t.Helper()
		expires, _ := body["expires_at"].(float64)
		if left := time.Until(time.UnixMilli(int64(expires))); left > 30*time.Second || left < 30*time.Second-patience {
			t.Errorf("%v is good for %v, want 30 s", body, left)
		}
	}
	w.tell(thread, "turn.start", "tn", `{"source":"user"}`)

	w.phone.send(`{"type":"agent.stop","id":"stop","chat_id":%q,"thread_id":%q}`, thread.ChatID, thread.ThreadID)
	soon(told("stop"))

	w.phone.send(`{"type":"agent.steer","id":"steer","chat_id":%q,"thread_id":%q,"payload":{"text":"left"}}`, thread.ChatID, thread.ThreadID)
	echo := w.phone.until("what was said", func(f frame) bool { return f.text("text") == "left" })
	steer := told("steer")
	soon(steer)
	if steer["message_id"] != echo.text("message_id") || steer["text"] != "left" {
		t.Errorf("the host is told %v, want %v", steer, echo)
	}
	page := w.ask("history", thread, `{}`).payload()["messages"].([]any)
	if last := page[len(page)-1].(map[string]any); last["message_id"] != echo.text("message_id") || last["ts"] != echo.payload()["ts"] || last["text"] != "left" {
		t.Errorf("history ends with %v, want %v", last, echo)
	}

	question := wire.Encode(thread, wire.PickerConfirm{PickerID: "p"})
	w.append([]iris.Change{iris.PutPicker{Picker: iris.Picker{ID: "p", Lane: thread, Frame: question}}}, question)
	w.phone.next("picker.confirm")
	w.answered(w.ask("picker.select", iris.Lane{}, `{"picker_id":"p","value":"yes"}`), "picker.closed")
	if body := told("answer"); body["prompt_id"] != "p" || body["value"] != "yes" {
		t.Errorf("the host is told %v", body)
	}

	w.answered(w.ask("channel.rename", thread, `{"name":"Beds"}`), "channel.renamed")
	if body := told("lane.rename"); body["name"] != "Beds" {
		t.Errorf("the host is told %v", body)
	}

	w.answered(w.ask("message.delete", thread, messageIDs(echo.text("message_id"), "no row")), "message.deleted")
	ids := map[any]bool{}
	for _, m := range told("delete")["messages"].([]any) {
		ids[m.(map[string]any)["message_id"]] = true
	}
	if len(ids) != 2 || !ids[echo.text("message_id")] || !ids["no row"] {
		t.Errorf("the host is told to delete %v", ids)
	}

	w.answered(w.ask("channel.delete", thread, `{}`), "channel.deleted")
	told("lane.delete")
}

// A thread says which channel it is of, and whether its name was made for it, whenever
// it is named.
func TestThreadsNameTheirChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.phone.send(`{"type":"message.send","payload":{"text":"water the garden","auto_thread":true}}`)
	auto := w.phone.next("channel.created")
	made := w.ask("channel.create", iris.Lane{ChatID: lane}, `{"name":"Mine","kind":"thread"}`)
	renamed := w.ask("channel.rename", iris.Lane{ChatID: lane, ThreadID: made.text("thread_id")}, `{"name":"Ours"}`)
	for _, f := range []frame{auto, made, renamed} {
		if f.text("parent_chat_id") != lane || f.text("chat_id") != lane || f.text("thread_id") == "" {
			t.Errorf("%v does not name its channel", f)
		}
	}
	names := map[string]any{}
	for _, c := range w.in.device(w.in.pair(w.g), "looks on").next("hello.ack").payload()["channels"].([]any) {
		c := c.(map[string]any)
		parent := any(lane)
		if c["thread_id"] == nil {
			parent = nil
		}
		if c["parent_chat_id"] != parent || c["is_default"] != (parent == nil) {
			t.Errorf("the directory has %v", c)
		}
		names[c["name"].(string)] = c["auto"]
	}
	if want := map[string]any{"Default": nil, "water the garden": true, "Ours": nil}; !reflect.DeepEqual(names, want) {
		t.Errorf("the directory has %v, want %v", names, want)
	}
}

// Requests leave the room of a device as its messages do, refused or not.
func TestRequestsLeaveRoom(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	_, _, phone, _ := attached(in, in)
	pad := strings.Repeat("x", 60<<10)
	for range 40 { // 2.4 MiB of each
		if f := ask(phone, "agent.stop", iris.Lane{}, fmt.Sprintf(`{"pad":%q}`, pad)); !f.is("agent.idle") {
			t.Fatal(f)
		}
		if f := ask(phone, "channel.rename", iris.Lane{ChatID: "nope"}, fmt.Sprintf(`{"name":"x","pad":%q}`, pad)); f.text("code") != "not_found" {
			t.Fatal(f)
		}
	}
}

// The bytes of an upload whose start was refused are not taken for those of nothing: one
// error says it all.
func TestBytesBehindARefusedStart(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	_, _, phone, _ := attached(in, in)
	phone.send(`{"type":"media.upload.start","id":{},"payload":{"media_ref":"mu","kind":"document","size":3,"filename":"f"}}`)
	phone.next("error")
	phone.bytes([]byte("abc"))
	phone.send(`{"type":"ping","id":"then"}`)
	phone.until("pong", func(f frame) bool {
		if f.is("error") {
			t.Errorf("a second error: %v", f)
		}
		return f["id"] == "then"
	})
}
