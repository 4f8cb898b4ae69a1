package handlers_test

import (
	"slices"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
)

// hermes dies in the middle of a turn, after an event that led to nothing was
// acknowledged: its next process has nothing to repeat, and the turn it does
// not name is closed nevertheless.
func TestLostTurnEndsWithoutAnEvent(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	first, second := start(t, store), start(t, store)
	_, hostToken, phone, host := attached(first, second)
	host.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	host.event(2, "model.end", "tn1", `{"finish_reason":"tool_calls","text":"","model":"m"}`)
	host.acked(2)
	host.drop()
	second.host(hostToken, "e1", 2, 0, "")
	phone.next("agent.idle")
}

// A hello that waited in a frozen instance comes when the host has long gone on
// by way of another one: it does not name the turn that has begun since, which
// must not be closed.
func TestHelloOlderThanTheLog(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	first, second := start(t, store), start(t, store)
	_, hostToken, phone, host := attached(first, second)
	host.event(1, "turn.start", "tn1", turnStart)
	host.acked(1)
	second.host(hostToken, "e1", 0, 0, "") // as it was before the turn
	if code := host.closeCode(); code != 4409 {
		t.Errorf("close code %d, want 4409", code)
	}
	host, _ = first.host(hostToken, "e1", 1, 0, `{"turn":"tn1","chat_id":"android:default","thread_id":null,"started_at":1,"messages":[],"tools":[],"prompts":[]}`)
	host.event(2, "notice", "", `{"key":"k","text":"still at it"}`)
	phone.until("the notice, and no end of the turn", func(f frame) bool {
		if f.is("agent.idle") {
			t.Error("the turn was closed")
		}
		return f.is("notification")
	})
}

// The end of a turn is in the log, its acknowledgement got lost: the host still
// names the turn, which must not begin again.
func TestEndedTurnThatTheHostNames(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	first, second := start(t, store), start(t, store)
	_, hostToken, phone, host := attached(first, second)
	host.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	host.event(2, "turn.end", "tn1", `{"outcome":"completed"}`)
	phone.next("agent.idle")
	host.drop()
	host, _ = second.host(hostToken, "e1", 2, 0,
		`{"turn":"tn1","chat_id":"android:default","thread_id":null,"started_at":1,"ended":2,"messages":[],"tools":[],"prompts":[]}`)
	host.event(3, "notice", "", `{"key":"k","text":"after it"}`)
	phone.until("the notice and no agent.busy", func(f frame) bool {
		if f.is("agent.busy") {
			t.Error("the turn began again")
		}
		return f.is("notification")
	})
}

// The connection breaks while the log is behind what it said: the instance
// must not believe what it has seen of it, because the host repeats that.
func TestMemoryAheadOfTheLogIsForgotten(t *testing.T) {
	t.Parallel()
	in := startWith(t, slowStore{memstore.New(), 300 * time.Millisecond})
	_, hostToken, phone, old := attached(in, in)
	old.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	old.acked(1)
	old.event(2, "turn.end", "tn1", `{"outcome":"completed"}`) // in flight
	late := time.AfterFunc(150*time.Millisecond, func() {      // waits behind the new attachment
		old.event(3, "turn.start", "tn2", `{"trigger":"m","source":"user"}`)
		old.event(4, "turn.end", "tn2", `{"outcome":"completed"}`)
		old.event(5, "turn.start", "tn3", `{"trigger":"m","source":"user"}`)
	})
	defer late.Stop()
	host, ack := in.host(hostToken, "e1", 7, 0, "")
	for seq, e := range []struct{ kind, turn, body string }{
		2: {"turn.end", "tn1", `{"outcome":"completed"}`},
		3: {"turn.start", "tn2", `{"trigger":"m","source":"user"}`},
		4: {"turn.end", "tn2", `{"outcome":"completed"}`},
		5: {"turn.start", "tn3", `{"trigger":"m","source":"user"}`},
		6: {"turn.end", "tn3", `{"outcome":"completed"}`},
		7: {"notice", "", `{"key":"end","text":"end"}`},
	} {
		if float64(seq) > ack["acked"].(float64) {
			host.event(int64(seq), e.kind, e.turn, e.body)
		}
	}
	var seen []string
	phone.until("the notice", func(f frame) bool {
		if f.is("agent.busy") || f.is("agent.idle") {
			seen = append(seen, f["type"].(string))
		}
		return f.is("notification")
	})
	if len(seen) != 6 {
		t.Errorf("%v, want busy and idle of each of three turns (acked was %v)", seen, ack["acked"])
	}
}

// A connection broke before the host had repeated what its hello told of: the
// turns that it named are not begun because of that.
func TestNamedTurnBeginsWithItsStart(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	_, hostToken, phone, host := attached(in, in)
	host.event(1, "turn.start", "tn1", `{"trigger":"m","source":"user"}`)
	host.acked(1)
	host.drop()
	const turns = `{"turn":"tn1","chat_id":"android:default","thread_id":null,"started_at":1,"ended":2,"messages":[],"tools":[],"prompts":[]},
		{"turn":"tn2","chat_id":"android:default","thread_id":null,"started_at":1,"messages":[],"tools":[],"prompts":[]}`
	host, _ = in.host(hostToken, "e1", 3, 0, turns)
	host.drop()
	host, _ = in.host(hostToken, "e1", 3, 0, turns)
	host.event(2, "turn.end", "tn1", `{"outcome":"completed"}`)
	host.event(3, "turn.start", "tn2", `{"trigger":"m","source":"user"}`)
	host.event(4, "turn.end", "tn2", `{"outcome":"completed"}`)
	host.event(5, "notice", "", `{"key":"end","text":"end"}`)
	var seen []any
	phone.until("the notice", func(f frame) bool {
		if f.is("agent.busy") || f.is("agent.idle") {
			seen = append(seen, f["type"])
		}
		return f.is("notification")
	})
	if want := []any{"agent.busy", "agent.idle", "agent.busy", "agent.idle"}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
}
