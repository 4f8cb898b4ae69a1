package handlers_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Whatever people do on two instances, at once, both end with the same
// directory, which is that of the rows: an instance that has followed the log
// says the same as one that begins now.
func TestInstancesAgree(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	w, there, a, b := twoPhones(t, s)
	rnd := rand.New(rand.NewPCG(1, 2))
	chats, threads, messages := []string{lane}, []string{""}, []string{"m_none"}
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	for round := range 60 {
		for _, p := range []*peer{a, b} {
			switch chat := pick(chats); rnd.IntN(7) {
			case 0:
				p.send(`{"type":"channel.create","id":%d,"payload":{"name":"c%d"}}`, round, round)
			case 1:
				p.send(`{"type":"channel.create","id":%d,"chat_id":%q,"payload":{"name":"t%d","kind":"thread"}}`, round, chat, round)
			case 2:
				p.send(`{"type":"channel.rename","id":%d,"chat_id":%q,"thread_id":%q,"payload":{"name":"r%d %s"}}`, round, chat, pick(threads), round, p.name)
			case 3:
				p.send(`{"type":"channel.set_default","id":%d,"chat_id":%q}`, round, chat)
			case 4:
				p.send(`{"type":"message.send","id":%d,"chat_id":%q,"payload":{"text":"x","auto_thread":%v}}`, round, chat, round%3 == 0)
			case 5:
				p.send(`{"type":"read.receipt","id":%d,"payload":{"chat_id":%q,"message_id":%q}}`, round, chat, pick(messages))
			case 6:
				id := fmt.Sprint("p", round, p.name)
				w.prompt(wire.PickerConfirm{PickerID: id}, id)
				p.send(`{"type":"picker.select","id":%d,"payload":{"picker_id":%q,"value":"x"}}`, round, pick([]string{id, "p0phone"}))
			}
		}
		for _, p := range []*peer{a, b} {
			f := p.until("answer", func(f frame) bool { return f["id"] == float64(round) })
			if thread := f.text("thread_id"); thread != "" {
				threads = append(threads, thread)
			} else if f.is("channel.created") {
				chats = append(chats, f.text("chat_id"))
			} else if f.is("message") {
				messages = append(messages, f.text("message_id"))
			}
		}
	}
	fresh := start(t, s)
	directory := func(in *instance) []any {
		p := in.device(w.in.pair(w.g), iris.NewID("looks_on_")) // a fresh one needs no sync
		defer p.drop()
		list := p.next("hello.ack").payload()["channels"].([]any)
		pickers := 0
		for _, f := range w.collect(p) {
			if f.is("picker.confirm") {
				pickers++
			}
		}
		return append(list, pickers)
	}
	want := directory(fresh)
	if len(want) < 10 {
		t.Fatalf("only %d channels and threads", len(want))
	}
	for _, in := range []*instance{w.in, there} {
		var got []any
		for range 50 {
			if got = directory(in); reflect.DeepEqual(got, want) {
				break
			}
		}
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%d and %d channels, threads and pickers; they differ at %d", len(got), len(want), i)
			}
		}
	}
}
