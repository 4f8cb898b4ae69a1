package handlers_test

import (
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
)

// What an event led to is only in memory until a commit contains it: the host
// must be able to send it again until then. Found by package chaos: an instance
// that died between the last edit of an answer and the end of its turn took the
// answer along, because the edit had been acknowledged.
func TestEventIsAckedWithTheNextCommit(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	_, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	host.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	host.acked(1)
	host.event(2, "edit", "tn1", `{"message_id":"a1","text":"Whole.","final":true}`)
	host.event(3, "answer", "tn1", `{"text":"Whole."}`)
	select {
	case f := <-host.frames:
		t.Fatalf("%v before anything of it is in the log", f)
	case <-time.After(300 * time.Millisecond):
	}
	host.event(4, "turn.end", "tn1", `{"outcome":"completed"}`)
	if f := host.next("acked"); f["seq"] != 4.0 {
		t.Errorf("acked %v, want 4 with the commit of the turn's end", f["seq"])
	}
}

// Without a commit it does not wait for ever.
func TestEventIsAckedInTime(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	_, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	host.event(1, "answer", "tn1", `{"text":"of a turn that nobody knows"}`)
	host.acked(1)
}

// A live event may end a message: its entry contains the events that completed
// it, which must not come again.
func TestLiveEventCarriesTheEventsBefore(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	first, second := start(t, store), start(t, store)
	_, hostToken, phone, host := attached(first, second)
	host.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	host.event(0, "send", "tn1", `{"message_id":"a1","text":"One ▉","streaming":true}`)
	host.event(2, "edit", "tn1", `{"message_id":"a1","text":"One.","final":true}`)
	host.event(3, "answer", "tn1", `{"text":"One."}`)
	host.event(0, "model.start", "tn1", `{"text":"and now"}`)
	if f := phone.next("message.stop"); f.text("final_text") != "One." {
		t.Errorf("message.stop = %v", f)
	}
	host.acked(3)
	host.drop()
	if _, ack := second.host(hostToken, "e1", 3, 0, ""); ack["acked"] != 3.0 {
		t.Errorf("hello.ack = %v, want acked 3", ack)
	}
}
