package handlers_test

import (
	"testing"

	"iris-gateway/cloudstore/memstore"
)

// A device that connects in the middle of a turn sees what runs, on the
// instance that holds the host and on another one.
func TestJoinInTheMiddle(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	here, there := start(t, store), start(t, store)
	g, hostToken := here.gateway()
	apart := there.device(here.pair(g), "apart")
	apart.next("status")
	apart.send(`{"type":"sync","id":1,"payload":{}}`)
	apart.next("sync.done")
	host, _ := here.host(hostToken, "e1", 0, 0, "")
	host.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"Once upon ▉","streaming":true}`)
	host.event(0, "tool.start", "tn1", `{"call":"c1","index":1,"name":"terminal","args":{"command":"ls"}}`)
	host.acked(1)

	late := here.device(here.pair(g), "late") // a fresh device follows at once
	late.next("agent.busy")
	late.next("message.start")
	if f := late.next("message.update"); f.text("text") != "Once upon" {
		t.Errorf("update = %v", f)
	}
	late.next("tool.start")

	apart.next("agent.busy")
	if f := apart.next("message.start"); f.text("message_id") != "a1" {
		t.Errorf("start on the other instance = %v", f)
	}
	if f := apart.next("message.update"); f.text("text") != "Once upon" {
		t.Errorf("update on the other instance = %v", f)
	}
	host.event(0, "edit", "tn1", `{"message_id":"a1","text":"Once upon a time ▉"}`)
	if f := apart.next("message.update"); f.text("text") != "Once upon a time" {
		t.Errorf("second update on the other instance = %v", f)
	}
	joins := there.device(here.pair(g), "joins")
	joins.next("status")
	if f := joins.next("message.update"); f.text("text") != "Once upon a time" {
		t.Errorf("update of a device that joins on the other instance = %v", f)
	}

	host.event(2, "tool.end", "tn1", `{"call":"c1","index":1,"name":"terminal","args":{"command":"ls"},"ok":true,"duration":1}`)
	host.event(3, "edit", "tn1", `{"message_id":"a1","text":"Once upon a time.","final":true}`)
	host.event(4, "answer", "tn1", `{"text":"Once upon a time."}`)
	host.event(5, "turn.end", "tn1", `{"outcome":"completed"}`)
	for _, p := range []*peer{late, apart, joins} {
		if f := p.next("message.stop"); f.text("final_text") != "Once upon a time." {
			t.Errorf("%s: message.stop = %v", p.name, f)
		}
		p.next("agent.idle")
	}
	if lives, err := store.Lives(t.Context(), g); err != nil || len(lives) != 0 {
		t.Errorf("live documents after the turn: %v, %v", lives, err)
	}
}

// Gateway and host die in the middle of an answer: what was written is kept,
// and the turn does not stay open for ever.
func TestPartialAnswerSurvives(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	first, second := start(t, store), start(t, store)
	_, hostToken, phone, host := attached(first, second)
	host.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"Half an ans ▉","streaming":true}`)
	phone.next("message.update") // by the live document
	host.drop()

	// hermes starts again: a new process, which knows of no turn.
	second.host(hostToken, "e1", 1, 0, "")
	stop := phone.next("message.stop")
	if stop.text("final_text") != "Half an ans" || stop.payload()["interrupted"] != true {
		t.Errorf("message.stop = %v", stop)
	}
	phone.next("agent.idle")
	phone.send(`{"type":"history","id":1,"payload":{}}`)
	if page := phone.next("history").payload()["messages"].([]any); len(page) != 1 {
		t.Errorf("history = %v, want the partial answer", page)
	}
}

// The gateway's instance dies, the host goes on on another one: the answer
// ends there under the same id, once.
func TestTurnMovesToAnotherInstance(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	first, second := start(t, store), start(t, store)
	_, hostToken, phone, host := attached(first, second)
	host.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"Half ▉","streaming":true}`)
	host.acked(1)
	host.drop()
	host, ack := second.host(hostToken, "e1", 2, 0,
		`{"turn":"tn1","chat_id":"android:default","thread_id":null,"started_at":1,"messages":[{"message_id":"a1","text":"Half an"}],"tools":[],"prompts":[]}`)
	if ack["acked"] != 1.0 {
		t.Fatalf("hello.ack = %v, want acked 1", ack)
	}
	host.event(2, "model.end", "tn1", `{"finish_reason":"stop","text":"Half an answer, whole.","model":"m"}`)
	host.event(3, "edit", "tn1", `{"message_id":"a1","text":"Half an answer, whole.","final":true}`)
	host.event(4, "turn.end", "tn1", `{"outcome":"completed"}`)
	if f := phone.next("message.stop"); f.text("message_id") != "a1" || f.text("final_text") != "Half an answer, whole." {
		t.Errorf("message.stop = %v", f)
	}
	phone.next("agent.idle")
	host.acked(4)
}
