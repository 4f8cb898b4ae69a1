package handlers_test

import (
	"context"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// A deletion that the log has no room for is refused: who was told that all is gone
// would find it there again.
func TestDeletionWhenFull(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, _ := in.gateway()
	phone := in.device(in.pair(g), "d1")
	phone.next("status")
	channel := iris.Lane{ChatID: ask(phone, "channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")}
	m := ask(phone, "message.send", channel, `{"text":"stays"}`).text("message_id")
	for ask(phone, "message.send", iris.Lane{}, `{"text":"wait"}`).is("message") {
	}
	for kind, payload := range map[string]string{"message.delete": messageIDs(m), "channel.delete": `{}`} {
		if f := ask(phone, kind, channel, payload); f.text("code") != "internal" || !strings.Contains(f.text("message"), "its queue is full") {
			t.Errorf("%s: %v", kind, f)
		}
	}
	if page := ask(phone, "history", channel, `{}`).payload()["messages"].([]any); len(page) != 1 {
		t.Errorf("history = %v, want what could not be deleted", page)
	}
}

// overtakenRows lets something happen when the rows of messages have been read.
type overtakenRows struct {
	*memstore.Store
	by func()
}

func (s *overtakenRows) Messages(ctx context.Context, g string, ids []string, take func(iris.Message)) error {
	err := s.Store.Messages(ctx, g, ids, take)
	if by := s.by; by != nil {
		s.by = nil
		by()
	}
	return err
}

// A message ends while its deletion is decided, which has found no row of it: it goes with
// its row, and the host is told of the text that it has by then.
func TestDeleteWhatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	s := &overtakenRows{Store: memstore.New()}
	e := inMemory(t, s)
	w := newWorld(t, s, e.logged)
	w.event("turn.start", "tn", `{"source":"user"}`)
	w.host.event(0, "send", "tn", `{"message_id":"a1","text":"xyzzysecret ▉","streaming":true}`)
	w.phone.next("message.start")
	s.by = func() {
		w.event("edit", "tn", `{"message_id":"a1","text":"xyzzysecret.","final":true}`)
		w.event("answer", "tn", `{"text":"xyzzysecret."}`)
		w.event("turn.end", "tn", `{"outcome":"completed"}`)
		e.there("xyzzysecret")
	}
	w.answered(w.ask("message.delete", iris.Lane{}, messageIDs("a1")), "message.deleted")
	if s.by != nil {
		t.Fatal("nothing was overtaken")
	}
	e.gone("xyzzysecret")
	told := w.toldByHash(map[string]string{"a1": "xyzzysecret."})["a1"]
	if ts, _ := told["ts"].(float64); told["role"] != "assistant" || ts == 0 {
		t.Errorf("the host is told of %v, want an assistant's message and when it began", told)
	}
	w.once("message.deleted", 1)
}

// A thread has its name from its first message, and keeps it while that is there.
func TestThreadKeepsItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	first := w.ask("message.send", iris.Lane{}, `{"text":"water the garden","auto_thread":true}`)
	thread := iris.Lane{ChatID: lane, ThreadID: first["thread_id"].(string)}
	again := w.ask("message.send", thread, `{"text":"water the garden"}`)
	name := func() string {
		rows, err := w.store.Channels(t.Context(), w.g)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range rows {
			if c.Lane == thread {
				return c.Name
			}
		}
		t.Fatalf("no thread among %v", rows)
		return ""
	}
	for _, c := range []struct {
		deleted frame
		named   bool
	}{{again, true}, {first, false}} {
		w.answered(w.ask("message.delete", thread, messageIDs(c.deleted.text("message_id"))), "message.deleted")
		if got := name(); (got == "water the garden") != c.named {
			t.Errorf("the thread is called %q after the deletion of %v", got, c.deleted)
		}
	}
}

// What deletes and what steers counts as a message: each is work for the log, and the host.
func TestLimitOfWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New(), limited)
	_, _, phone, _ := attached(in, in)
	for f := (frame{}); !f.is("error"); {
		f = ask(phone, "message.delete", iris.Lane{}, messageIDs("m_none"))
	}
	for kind, payload := range map[string]string{
		"message.delete": messageIDs("m_none"), "channel.delete": `{}`, "agent.steer": `{"text":"x"}`, "message.send": `{"text":"x"}`,
	} {
		if f := ask(phone, kind, iris.Lane{ChatID: lane}, payload); f.text("code") != "rate_limited" {
			t.Errorf("%s: %v, want rate_limited", kind, f)
		}
	}
}
