package handlers_test

import (
	"context"
	"net/http"
	"reflect"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/iris"
)

// What hello.ack says of the device: a fresh one begins where the log ends, and what it
// gets from then on counts as received. Later connections begin where the device is,
// and what comes to them before a sync does not count: what lies in between would be
// lost for ever.
func TestHelloSaysWhereTheDeviceIs(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	w := newWorld(t, s)
	w.ask("message.send", iris.Lane{}, `{"text":"before it came"}`)
	token := w.in.pair(w.g)
	begins := w.head()
	connect := func() (p *peer, cursor int64) {
		p = w.in.device(token, "d")
		ack := p.next("hello.ack").payload()
		p.next("status")
		caps := map[string]any{"streaming": true, "reasoning": true, "tools": true, "media": true, "search": true, "push": "none", "pickers": true, "media_max_bytes": 64.0 * (1 << 20)}
		if !reflect.DeepEqual(ack["server_caps"], caps) {
			t.Errorf("server_caps = %v, want %v", ack["server_caps"], caps)
		}
		return p, int64(ack["sync_cursor"].(float64))
	}
	told := func(p *peer, text string) int64 {
		w.ask("message.send", iris.Lane{}, `{"text":"`+text+`"}`)
		p.until(text, func(f frame) bool { return f.text("text") == text })
		return w.head()
	}
	at := func() int64 {
		d, err := s.Device(t.Context(), w.g, "d")
		if err != nil {
			t.Fatal(err)
		}
		return d.Cursor
	}
	p, cursor := connect()
	if cursor <= begins || cursor > w.head() {
		t.Errorf("a fresh device begins at %d, want behind %d", cursor, begins)
	}
	first := told(p, "live")
	waitFor(t, "what was received is kept", func() bool { return at() >= first })
	kept := at()
	p.drop()

	p, cursor = connect()
	if cursor != kept {
		t.Errorf("it goes on at %d, want %d", cursor, kept)
	}
	told(p, "not synced")
	ask(p, "ping", iris.Lane{}, `{}`) // the gateway has asked whether it came
	p.drop()
	w.in.listed(w.g, "d", func(d deviceRow) bool { return !d.Attached })
	p, cursor = connect()
	if cursor != kept {
		t.Errorf("without a sync it goes on at %d, want %d", cursor, kept)
	}
	p.send(`{"type":"sync","id":1,"payload":{}}`)
	p.until("what was missed", func(f frame) bool { return f.text("text") == "not synced" })
	p.next("sync.done")
}

// overtakenStore lets something happen when the row of a device has been read, or is
// about to be.
type overtakenStore struct {
	*memstore.Store
	before, after func()
}

func (s *overtakenStore) Device(ctx context.Context, g, d string) (iris.Device, error) {
	before, after := s.before, s.after
	s.before, s.after = nil, nil
	if before != nil {
		before()
	}
	row, err := s.Store.Device(ctx, g, d)
	if after != nil {
		after()
	}
	return row, err
}

// A device that is revoked while it says hello does not get in, however far it has come,
// nor when another one is paired with its id meanwhile.
func TestRevokedAtHello(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ again, after bool }{
		"before its row is read": {}, "after it": {after: true}, "and paired again": {again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &overtakenStore{Store: memstore.New()}
			here, there := startWith(t, s), startWith(t, s.Store)
			g, _ := there.gateway()
			token := there.pair(g)
			here.device(token, "d1").next("status")
			revoke := func() {
				there.admin("DELETE", "/admin/gateways/"+g+"/devices/d1", "", http.StatusNoContent, nil)
				if c.again {
					there.device(there.pair(g), "d1").next("status")
				}
			}
			if s.before = revoke; c.after {
				s.before, s.after = nil, revoke
			}
			phone := here.device(token, "d1")
			if f := phone.until("an answer", func(f frame) bool { return f.is("error") || f.is("hello.ack") }); f.text("code") != "auth" {
				t.Errorf("answered with %v", f)
			}
			if code := phone.closeCode(); code != 4401 {
				t.Errorf("close code %d, want 4401", code)
			}
		})
	}
}
