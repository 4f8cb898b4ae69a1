package handlers_test

import (
	"context"
	"fmt"
	"testing"

	"iris-gateway/iris"
)

// A request that has nothing to append is answered also when others, which have,
// are committed together with it.
func TestNothingToAppendAmongOthers(t *testing.T) {
	t.Parallel()
	s := newHeldStore()
	in := startWith(t, s)
	g, _ := in.gateway()
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	read := ask(phone, "message.send", iris.Lane{}, `{"text":"x"}`).text("message_id")
	ask(phone, "read.receipt", iris.Lane{}, fmt.Sprintf(`{"message_id":%q}`, read))

	reached, release := s.commits.hold()
	phone.send(`{"type":"message.send","id":"under way","payload":{"text":"x"}}`)
	reached()
	phone.send(`{"type":"read.receipt","id":"read","payload":{"message_id":%q}}`, read) // as it was before
	phone.send(`{"type":"agent.stop","id":"stop"}`)                                     // nothing runs
	phone.send(`{"type":"message.send","id":"together","payload":{"text":"x"}}`)
	phone.send(`{"type":"ping","id":"queued"}`)
	phone.next("pong")
	release()
	answers := map[any]string{}
	phone.until("the last answer", func(f frame) bool {
		if f["id"] != nil {
			answers[f["id"]] = fmt.Sprint(f["type"])
		}
		return f["id"] == "together"
	})
	phone.send(`{"type":"ping","id":"then"}`)
	phone.until("pong", func(f frame) bool {
		if f["id"] != nil {
			answers[f["id"]] = fmt.Sprint(f["type"])
		}
		return f["id"] == "then"
	})
	if answers["read"] != "ack" || answers["stop"] != "agent.idle" {
		t.Errorf("answers %v", answers)
	}
}

// heldScrubs holds deletions up before their end.
type heldScrubs struct {
	*heldStore
	scrubs gate
	lives  chan struct{} // told when a deletion is about to end
}

func (s *heldScrubs) Scrub(ctx context.Context, g string, t iris.Touching, edit func(iris.Entry) (iris.Entry, bool)) error {
	s.scrubs.pass()
	return s.heldStore.Scrub(ctx, g, t, edit)
}

func (s *heldScrubs) Lives(ctx context.Context, g string) ([]iris.Live, error) {
	select {
	case s.lives <- struct{}{}:
	default:
	}
	return s.heldStore.Lives(ctx, g)
}

// A deletion ends in the entry that begins another one: who asked for the first
// has one answer.
func TestDeletionEndsWithAnother(t *testing.T) {
	t.Parallel()
	s := &heldScrubs{newHeldStore(), newGate(), make(chan struct{}, 1)}
	in := startWith(t, s)
	g, _ := in.gateway()
	phone, other := in.device(in.pair(g), "d1"), in.device(in.pair(g), "d2")
	phone.next("status")
	other.next("status")
	send := func() string { return ask(phone, "message.send", iris.Lane{}, `{"text":"x"}`).text("message_id") }
	first, second := send(), send()

	scrubbing, scrub := s.scrubs.hold()
	phone.send(`{"type":"message.delete","id":"first","payload":%s}`, messageIDs(first))
	scrubbing()
	committing, commit := s.commits.hold()
	phone.send(`{"type":"message.send","id":"under way","payload":{"text":"x"}}`)
	committing()
	other.send(`{"type":"message.delete","id":"second","payload":%s}`, messageIDs(second))
	other.send(`{"type":"ping","id":"queued"}`)
	other.next("pong")
	for len(s.lives) > 0 {
		<-s.lives
	}
	scrub()
	<-s.lives
	for i := range 20 { // the end is proposed now
		phone.send(`{"type":"ping","id":%d}`, i)
		phone.next("pong")
	}
	commit()

	other.until("the second answer", func(f frame) bool { return f["id"] == "second" })
	phone.send(`{"type":"ping","id":"then"}`)
	answers := 0
	phone.until("pong", func(f frame) bool {
		if f["id"] == "first" {
			answers++
		}
		return f["id"] == "then"
	})
	if answers != 1 {
		t.Errorf("%d answers to the first deletion, want one", answers)
	}
}
