package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// A message goes from a device to the host, and the streamed answer comes back.
func TestMessageAndStreamedAnswer(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, hostToken := in.gateway()
	host, ack := in.host(hostToken, "e1", 0, 0, "")
	if ack["acked"] != 0.0 || ack["gateway_id"] != g {
		t.Fatalf("hello.ack = %v", ack)
	}
	phone := in.device(in.pair(g), "d1")
	hello := phone.next("hello.ack")
	if hello["id"] != "h" {
		t.Errorf("hello.ack has id %v, want the request's", hello["id"])
	}
	if s := phone.next("status").text("state"); s != "online" {
		t.Errorf("status %q, want online", s)
	}
	other := in.device(in.pair(g), "d2")
	other.next("status")

	phone.send(`{"type":"message.send","id":7,"chat_id":%q,"payload":{"text":"hello"}}`, lane)
	echo := phone.next("message")
	if echo["id"] != 7.0 || echo.text("text") != "hello" || echo.text("role") != "user" {
		t.Fatalf("echo = %v", echo)
	}
	if f := other.next("message"); f["id"] != nil || f.text("message_id") != echo.text("message_id") {
		t.Errorf("broadcast = %v, want the echo without id", f)
	}
	inbound := host.next("inbound")
	body := inbound["body"].(map[string]any)
	if inbound["kind"] != "message" || body["text"] != "hello" || body["message_id"] != echo.text("message_id") {
		t.Fatalf("inbound = %v", inbound)
	}
	host.send(`{"type":"received","cursor":%v}`, inbound["cursor"])
	if f := phone.next("read.receipt"); f.text("message_id") != echo.text("message_id") {
		t.Errorf("read.receipt = %v", f)
	}

	host.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	host.event(0, "model.start", "tn1", `{"text":"hello"}`)
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"Hel ▉","streaming":true}`)
	host.event(0, "edit", "tn1", `{"message_id":"a1","text":"Hello th ▉"}`)
	host.event(2, "model.end", "tn1", `{"finish_reason":"stop","text":"Hello there.","model":"m"}`)
	host.event(3, "answer", "tn1", `{"text":"Hello there."}`)
	host.event(4, "edit", "tn1", `{"message_id":"a1","text":"Hello there.","final":true}`)
	host.event(5, "turn.end", "tn1", `{"outcome":"completed","tokens":11,"runtime":{"model":"m","latency":1.5,"cwd":"~"}}`)
	phone.next("agent.busy")
	phone.next("message.start")
	if f := phone.next("message.update"); f.text("text") == "" || !strings.HasPrefix("Hello there.", f.text("text")) {
		t.Errorf("first update %q", f.text("text"))
	}
	stop := phone.next("message.stop")
	if stop.text("final_text") != "Hello there." || stop.text("message_id") != "a1" || stop.payload()["tokens"] != 11.0 {
		t.Errorf("message.stop = %v", stop)
	}
	phone.next("agent.idle")
	host.acked(5)

	phone.send(`{"type":"history","id":8,"chat_id":%q,"payload":{}}`, lane)
	page := phone.next("history").payload()["messages"].([]any)
	if len(page) != 2 || page[0].(map[string]any)["text"] != "hello" || page[1].(map[string]any)["text"] != "Hello there." {
		t.Errorf("history = %v", page)
	}
	phone.send(`{"type":"ping","id":9,"payload":{"ts":42}}`)
	if f := phone.next("pong"); f["id"] != 9.0 || f.payload()["ts"] != 42.0 {
		t.Errorf("pong = %v", f)
	}
}

// The host is away: a message waits for it, also across a restart, and a
// message sent twice with one client_id is one message.
func TestMessageWaitsForHost(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	in := start(t, store)
	g, hostToken := in.gateway()
	token := in.pair(g)
	phone := in.device(token, "d1")
	if s := phone.next("status").text("state"); s != "degraded" {
		t.Errorf("status %q, want degraded", s)
	}
	phone.send(`{"type":"message.send","id":1,"payload":{"text":"are you there?","client_id":"c1"}}`)
	first := phone.next("message")
	phone.send(`{"type":"message.send","id":2,"payload":{"text":"are you there?","client_id":"c1"}}`)
	again := phone.next("message")
	if again["id"] != 2.0 || again.text("message_id") != first.text("message_id") || again.payload()["ts"] != first.payload()["ts"] {
		t.Errorf("repeated message answered with %v, want the original %v", again, first)
	}
	in.stop()
	if code := phone.closeCode(); code != 1001 {
		t.Errorf("close code %d, want 1001", code)
	}

	in = start(t, store)
	phone = in.device(token, "d1")
	phone.next("status")
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	if s := phone.next("status").text("state"); s != "online" {
		t.Errorf("status %q, want online", s)
	}
	inbound := host.next("inbound")
	if inbound["body"].(map[string]any)["message_id"] != first.text("message_id") {
		t.Fatalf("inbound = %v", inbound)
	}
	host.send(`{"type":"received","cursor":%v}`, inbound["cursor"])
	phone.send(`{"type":"sync","id":3,"payload":{"cursor":0}}`)
	phone.both("read.receipt", "sync.done")

	// A host that has it gets nothing again; one that lost its disk neither.
	host.drop()
	host, _ = in.host(hostToken, "e1", 0, int64(inbound["cursor"].(float64)), "")
	phone.send(`{"type":"message.send","id":4,"payload":{"text":"second"}}`)
	if f := host.next("inbound"); f["body"].(map[string]any)["text"] != "second" {
		t.Errorf("inbound after reconnect = %v, want only the new message", f)
	}
}

// A message that is in the log is answered as ever when it comes again, also once
// the log takes no new ones: whoever is told that it was refused writes it anew.
func TestMessageAgainWhenFull(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New()) // keeps 64 entries, up to four times as many
	g, _ := in.gateway()
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	send := func(client string) frame {
		return ask(phone, "message.send", iris.Lane{}, fmt.Sprintf(`{"text":"wait","client_id":%q}`, client))
	}
	first := send("first")
	last := ""
	for i := 0; ; i++ {
		client := fmt.Sprint("c", i)
		if f := send(client); f.is("error") {
			if f.text("code") != "internal" || !strings.Contains(f.text("message"), "its queue is full") {
				t.Errorf("error = %v", f)
			}
			break
		}
		last = client
	}
	for _, client := range []string{"first", last} {
		if f := send(client); !f.is("message") || client == "first" && f.text("message_id") != first.text("message_id") {
			t.Errorf("%s again: %v", client, f)
		}
	}
	if f := send("new"); f.text("code") != "internal" {
		t.Errorf("a new one: %v", f)
	}
}

// A message says from which device it came, by the name that the device has now.
func TestRenamedDevice(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	token := in.pair(g)
	for hello, want := range map[string]string{`"Old name"`: "Old name", `"New\u0007 name"`: "New name"} {
		phone := in.socket("phone")
		phone.send(`{"type":"hello","payload":{"token":%q,"device_id":"d1","device_name":%s}}`, token, hello)
		phone.next("status")
		phone.send(`{"type":"message.send","id":1,"payload":{"text":"x"}}`)
		body := host.next("inbound")["body"].(map[string]any)
		if got := body["device"].(map[string]any)["name"]; got != want {
			t.Errorf("device %v, want %s", got, want)
		}
	}
}
