package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// twoPhones are devices of one gateway on two instances over one store.
func twoPhones(t *testing.T, s store) (w *world, there *instance, a, b *peer) {
	t.Helper()
	w = newWorld(t, s)
	there = startWith(t, s)
	a = w.phone
	b = there.device(w.in.pair(w.g), "b")
	b.next("status")
	return w, there, a, b
}

// answers sends a request from both at once and returns both answers, and what
// each got in front of its own.
func answers(w *world, a, b *peer, format string, argsA, argsB []any) (fa, fb frame, before map[*peer][]frame) {
	w.Helper()
	a.send(format, argsA...)
	b.send(format, argsB...)
	before = map[*peer][]frame{}
	answer := func(p *peer) frame {
		return p.until("answer", func(f frame) bool {
			before[p] = append(before[p], f)
			return f["id"] == 77.0
		})
	}
	return answer(a), answer(b), before
}

// Both answer one picker: the first wins, the other is told so, and both see
// the picker go. The host gets one answer.
func TestBothAnswerPicker(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { t.Parallel(); bothAnswer(t, memstore.New()) })
	t.Run("firestore", func(t *testing.T) { t.Parallel(); bothAnswer(t, firestore(t)) })
}

func bothAnswer(t *testing.T, s store) {
	w, _, a, b := twoPhones(t, s)
	for i := range 10 {
		id := fmt.Sprint("p", i)
		w.prompt(wire.PickerConfirm{PickerID: id}, id)
		a.next("picker.confirm")
		b.next("picker.confirm")
		fa, fb, before := answers(w, a, b, `{"type":"picker.select","id":77,"payload":{"picker_id":%q,"value":%q}}`, []any{id, "a"}, []any{id, "b"})
		won, lost, loser := fa, fb, b
		if fa.is("error") {
			won, lost, loser = fb, fa, a
		}
		if !won.is("picker.closed") || lost.text("code") != "not_found" {
			t.Fatalf("answers %v and %v, want one winner and a not_found", fa, fb)
		}
		closed := func(f frame) bool {
			return f.is("picker.closed") && f["id"] == nil && f.text("picker_id") == id && f.text("value") == won.text("value")
		}
		if !slices.ContainsFunc(before[loser], closed) { // mostly it comes in front of the error
			loser.until("picker.closed of the winner", closed)
		}
		in := w.host.until("answer", func(f frame) bool { return f["kind"] == "answer" })
		if body := in["body"].(map[string]any); body["prompt_id"] != id || body["value"] != won.text("value") {
			t.Errorf("the host gets %v, the winner was %v", in, won)
		}
	}
	if open, err := w.store.Pickers(t.Context(), w.g); err != nil || len(open) != 0 {
		t.Errorf("open pickers %v, %v", open, err)
	}
}

// Both rename one channel: both are answered, and both end with the same name.
func TestBothRename(t *testing.T) {
	t.Parallel()
	w, there, a, b := twoPhones(t, memstore.New())
	for i := range 5 {
		answers(w, a, b, `{"type":"channel.rename","id":77,"chat_id":"android:default","payload":{"name":%q}}`,
			[]any{fmt.Sprint("a", i)}, []any{fmt.Sprint("b", i)})
	}
	rows, err := w.store.Channels(t.Context(), w.g)
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]*instance{"here": w.in, "there": there} {
		waitFor(t, name, func() bool {
			p := in.device(w.in.pair(w.g), "looks on "+name)
			defer p.drop()
			list := p.next("hello.ack").payload()["channels"].([]any)
			return list[0].(map[string]any)["name"] == rows[0].Name
		})
	}
}

// One deletes the channel that the other writes to. (The deletion itself has an
// issue of its own: here another instance does it.)
func TestDeletedWhileWriting(t *testing.T) {
	t.Parallel()
	w, _, a, b := twoPhones(t, memstore.New())
	a.send(`{"type":"channel.create","id":1,"payload":{"name":"gone"}}`)
	chat := a.next("channel.created").text("chat_id")
	b.next("channel.created")
	w.append(nil, wire.Encode(iris.Lane{ChatID: chat}, wire.ChannelDeleted{ChatID: chat}))
	a.next("channel.deleted")
	b.next("channel.deleted")
	for _, send := range []string{
		`{"type":"message.send","id":77,"chat_id":%q,"payload":{"text":"x"}}`,
		`{"type":"channel.rename","id":77,"chat_id":%q,"payload":{"name":"x"}}`,
		`{"type":"channel.set_default","id":77,"chat_id":%q}`,
		`{"type":"channel.create","id":77,"chat_id":%q,"payload":{"name":"x","kind":"thread"}}`,
		`{"type":"agent.stop","id":77,"chat_id":%q}`,
		`{"type":"agent.steer","id":77,"chat_id":%q,"payload":{"text":"x"}}`,
		`{"type":"read.receipt","id":77,"chat_id":%q,"payload":{"message_id":"x"}}`,
		`{"type":"history","id":77,"chat_id":%q}`,
	} {
		fa, fb, _ := answers(w, a, b, send, []any{chat}, []any{chat})
		for _, f := range []frame{fa, fb} {
			if f.text("code") != "not_found" {
				t.Errorf("%s: %v, want not_found", send, f)
			}
		}
	}
}

// Both make a channel of the same name, and both begin a thread: each gets its
// own, and every instance knows all of them.
func TestBothCreate(t *testing.T) {
	t.Parallel()
	w, there, a, b := twoPhones(t, memstore.New())
	answers(w, a, b, `{"type":"channel.create","id":77,"payload":{"name":"same"}}`, nil, nil)
	fa, fb, _ := answers(w, a, b, `{"type":"message.send","id":77,"payload":{"text":"begin","auto_thread":true}}`, nil, nil)
	if fa["thread_id"] == nil || fa["thread_id"] == fb["thread_id"] {
		t.Errorf("threads %v and %v", fa, fb)
	}
	for name, in := range map[string]*instance{"here": w.in, "there": there} {
		waitFor(t, name, func() bool {
			p := in.device(w.in.pair(w.g), "looks on "+name)
			defer p.drop()
			return len(p.next("hello.ack").payload()["channels"].([]any)) == 5
		})
	}
}

// A device that is revoked loses its connection on another instance within a
// second, and its token works nowhere.
func TestRevokedElsewhere(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) store{
		"memory":    func(testing.TB) store { return memstore.New() },
		"firestore": firestore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			here, there := startWith(t, s), startWith(t, s)
			g, _ := here.gateway()
			token, bystander := here.pair(g), there.device(here.pair(g), "d2")
			bystander.next("status")
			phone := there.device(token, "a/b c")
			phone.next("status")
			phone.send(`{"type":"fcm.register","id":1,"payload":{"fcm_token":"f"}}`)
			phone.next("ack")
			began := time.Now()
			here.admin("DELETE", "/admin/gateways/"+g+"/devices/a%2Fb%20c", "", http.StatusNoContent, nil)
			if f := phone.next("error"); f.text("code") != "auth" {
				t.Errorf("error = %v, want auth", f)
			}
			if code := phone.closeCode(); code != 4401 {
				t.Errorf("close code %d, want 4401", code)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("took %v, want a second at most", took)
			}
			for _, in := range []*instance{here, there} {
				for _, id := range []string{"a/b c", "another"} {
					if code := in.device(token, id).closeCode(); code != 4401 {
						t.Errorf("close code %d for a revoked token, want 4401", code)
					}
				}
			}
			here.admin("DELETE", "/admin/gateways/"+g+"/devices/a%2Fb%20c", "", http.StatusNotFound, nil)
			bystander.send(`{"type":"ping","id":1}`)
			bystander.next("pong")
			again := there.device(here.pair(g), "a/b c") // pairing again works, as a new device
			again.next("status")
			var list struct {
				Devices []struct {
					DeviceID string `json:"device_id"`
					Push     string
				}
			}
			here.admin("GET", "/admin/gateways/"+g+"/devices", "", http.StatusOK, &list)
			if i := slices.IndexFunc(list.Devices, func(d struct {
				DeviceID string `json:"device_id"`
				Push     string
			}) bool {
				return d.DeviceID == "a/b c" && d.Push == "none"
			}); i < 0 {
				t.Errorf("devices = %+v", list)
			}
		})
	}
}

// waitFor waits until something is true.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
