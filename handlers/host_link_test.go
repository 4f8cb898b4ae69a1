package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// The host repeats what it has not heard of: it is acknowledged anew and comes once, on
// the same link and on the next.
func TestRepeatedEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	for range 2 {
		for range 2 {
			w.host.event(1, "notice", "", `{"key":"k","text":"once"}`)
			if f := w.host.next("acked"); f["seq"] != 1.0 {
				t.Errorf("acked %v, want 1", f)
			}
		}
		w.host.drop()
		w.seq = 1
		w.attachHost()
	}
	w.event("notice", "", `{"key":"k","text":"another"}`)
	w.once("notification", 2)
}

// What of the host has the wrong form is acknowledged, so that it does not come for
// ever, and people hear of it; a live event is dropped without a word.
func TestMalformedEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.host.send(`{"type":"event","seq":0,"kind":"edit","chat_id":5}`)
	w.host.send(`{"type":"event","seq":0,"kind":"edit","chat_id":%q,"body":{"message_id":5}}`, lane)
	for _, wrong := range []string{`"kind":"send","chat_id":5`, `"kind":"send","chat_id":"android:default","body":{"message_id":5}`} {
		w.seq++
		w.host.send(`{"type":"event","seq":%d,%s}`, w.seq, wrong)
		w.host.acked(w.seq)
		f := w.phone.next("notification")
		if f["chat_id"] != lane || f.text("kind") != "generic" || f.text("title") == "" || f.text("body") == "" {
			t.Errorf("notification = %v", f)
		}
	}
	w.once("notification", 2)
}

// Whatever the host says, and however much, its link goes on: each frame leaves the
// room that it took, also one that led to nothing.
func TestHostFramesLeaveRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	file := random(10)
	w.host.bring("md_1", file)
	pad := strings.Repeat("x", 512<<10)
	for i := range 10 { // 5 MiB of each
		for _, frame := range []string{
			`"type":"event","seq":0,"kind":"edit","chat_id":5`,
			`"type":"event","seq":0,"kind":"edit","chat_id":"android:default","body":{"message_id":"a1","text":"live"}`,
			`"type":"received","cursor":"x"`,
			`"type":"received","cursor":0`,
			`"type":"no.such"`,
			`"type":"media.get","media_id":"md_none"`,
			`"type":"event","seq":1,"kind":"notice","chat_id":"android:default","body":{"key":"repeated","text":"x"}`,
			fmt.Sprintf(`"type":"event","seq":%d,"kind":"media","chat_id":"android:default","body":{"message_id":"m%d","media_id":"md_1","kind":"document","mime":"text/plain","size":%d,"filename":"f","sha256":%q}`,
				i+2, i, len(file), hashOf(file)),
		} {
			w.host.send(`{%s,"pad":%q}`, frame, pad)
		}
	}
	w.seq = 11
	w.event("notice", "", `{"key":"k","text":"goes on"}`)
	w.phone.until("goes on", func(f frame) bool { return f.text("body") == "goes on" })
}

// A person's message is marked as read when the host has it, in its lane, once: as far as
// the host has come, whether it says so or has said so on a link that was cut. What it has
// does not come again, also when it lost its disk.
func TestReceipts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.event("turn.start", "tn", `{"source":"user"}`)
	thread := iris.Lane{ChatID: lane, ThreadID: w.ask("channel.create", iris.Lane{ChatID: lane}, `{"name":"t","kind":"thread"}`).text("thread_id")}
	type sent struct {
		id     string
		cursor int64
	}
	next := func(id string) sent {
		t.Helper()
		in := w.host.next("inbound")
		if got := in["body"].(map[string]any)["message_id"]; got != id {
			t.Errorf("the host gets %v, want %s", in, id)
		}
		return sent{id, int64(in["cursor"].(float64))}
	}
	say := func(l iris.Lane) sent { return next(w.ask("message.send", l, `{"text":"x"}`).text("message_id")) }
	receipt := func(of sent, l iris.Lane) {
		t.Helper()
		f := w.phone.next("read.receipt")
		if in, _ := f["thread_id"].(string); f.text("message_id") != of.id || in != l.ThreadID {
			t.Errorf("read.receipt = %v, want that of %s in %q", f, of.id, l.ThreadID)
		}
	}
	again := func(in *instance, epoch string, received int64) frame {
		w.host.drop()
		host, ack := in.host(w.hostToken, epoch, w.seq, received, `{"turn":"tn","chat_id":"android:default"}`)
		w.host = host
		return ack
	}
	received := func(s sent) { w.host.send(`{"type":"received","cursor":%d}`, s.cursor) }

	first, second := say(iris.Lane{}), say(thread)
	received(first)
	received(first)
	receipt(first, iris.Lane{})
	w.phone.send(`{"type":"agent.steer","payload":{"text":"left"}}`)
	steered := next(w.phone.until("what was said", func(f frame) bool { return f.text("text") == "left" }).text("message_id"))

	again(w.in, "e1", second.cursor) // its word was lost with the link
	receipt(second, thread)
	if got := next(steered.id); got != steered {
		t.Errorf("it has the place %d, want %d", got.cursor, steered.cursor)
	}
	received(steered)
	receipt(steered, iris.Lane{})

	w.seq = 0
	if ack := again(startWith(t, w.store), "e2", 0); ack["received"] != float64(steered.cursor) {
		t.Errorf("hello.ack = %v, want received %d", ack, steered.cursor)
	}
	last := say(iris.Lane{})
	received(last)
	receipt(last, iris.Lane{})
	w.once("read.receipt", 4)
}

// What is deleted before the host has it is not marked as read: the receipt would name
// what is gone.
func TestNoReceiptOfDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	channel := iris.Lane{ChatID: w.ask("channel.create", iris.Lane{}, `{"name":"c"}`).text("chat_id")}
	say := func(l iris.Lane) (id string, cursor any) {
		id = w.ask("message.send", l, `{"text":"x"}`).text("message_id")
		return id, w.host.next("inbound")["cursor"]
	}
	deleted, _ := say(iris.Lane{})
	_, _ = say(channel)
	kept, cursor := say(iris.Lane{})
	w.answered(w.ask("message.delete", iris.Lane{}, messageIDs(deleted)), "message.deleted")
	w.answered(w.ask("channel.delete", channel, `{}`), "channel.deleted")
	w.host.send(`{"type":"received","cursor":%v}`, cursor)
	if f := w.phone.next("read.receipt"); f.text("message_id") != kept {
		t.Errorf("read.receipt = %v, want only that of %s", f, kept)
	}
	w.once("read.receipt", 1)
}

// overtakenToken lets something happen when a token has been looked up.
type overtakenToken struct {
	*memstore.Store
	by func()
}

func (s *overtakenToken) Token(ctx context.Context, hash string) (iris.Token, error) {
	token, err := s.Store.Token(ctx, hash)
	if by := s.by; by != nil {
		s.by = nil
		by()
	}
	return token, err
}

// A host whose token is replaced while it says hello does not stay: whoever replaced it
// has not seen its link.
func TestHostTokenReplacedAtHello(t *testing.T) {
	t.Parallel()
	s := &overtakenToken{Store: memstore.New()}
	here, there := startWith(t, s), startWith(t, s.Store)
	g, token := there.gateway()
	s.by = func() { there.admin("POST", "/admin/gateways/"+g+"/host-token", "", http.StatusOK, nil) }
	host := dial(t, "host", here.url+"/host", token)
	host.send(`{"type":"hello","protocol":1,"epoch":"e1","process":"p1"}`)
	if code := host.closeCode(); code != 4401 {
		t.Errorf("close code %d, want 4401", code)
	}
}
