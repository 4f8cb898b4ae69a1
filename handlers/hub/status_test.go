package hub_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/turn"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// told keeps the frames that a socket was told; it never stalls.
type told struct {
	mu     sync.Mutex
	frames []string
}

func (c *told) Write(_ context.Context, frame []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames = append(c.frames, string(frame))
	return nil
}

// WriteBinary implements hub.Conn; nobody sends media here.
func (*told) WriteBinary(context.Context, []byte) error { return nil }

func (c *told) Close(int, string) {}

// statuses returns the states that were told since the last call.
func (c *told) statuses() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var states []string
	for _, f := range c.frames {
		for _, state := range []string{"online", "degraded"} {
			if strings.Contains(f, `"status"`) && strings.Contains(f, state) {
				states = append(states, state)
			}
		}
	}
	c.frames = nil
	return strings.Join(states, " ")
}

// A host that is attached in the log, but takes no message, does not count as
// online for ever: it may have died together with its instance.
func TestSilentHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		store := memstore.New()
		gw := iris.Gateway{ID: "g", DefaultChat: iris.DefaultChat}
		if err := store.CreateGateway(ctx, gw, iris.Token{Hash: "h", Kind: iris.TokenHost, Gateway: "g"}); err != nil {
			t.Fatal(err)
		}
		if err := store.CreateToken(ctx, iris.Token{Hash: "d", Kind: iris.TokenDevice, Gateway: "g"}); err != nil {
			t.Fatal(err)
		}
		if err := store.BindToken(ctx, "d", iris.Device{ID: "d1"}); err != nil {
			t.Fatal(err)
		}
		h := hub.New(hub.Config{Store: store, LogEntries: 64, Log: testenv.Logger(t, testenv.Gateways)})
		g, release, err := h.Open(ctx, "g")
		if err != nil {
			t.Fatal(err)
		}
		phone, host := &told{}, &told{}
		hostLink := iris.Link{ID: "l_host", At: time.Now()}
		do := func(f func(a *hub.Actor)) {
			t.Helper()
			if err := g.Call(ctx, f); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		d := &hub.Device{ID: "d1", Link: iris.Link{ID: "l_d", At: time.Now()}, Socket: h.NewSocket(ctx, phone, nil)}
		do(func(a *hub.Actor) { a.Attach(d, "", true, func(*hub.Actor, int64, error) {}) })
		hs := &hub.Host{
			Link: hostLink, Socket: h.NewSocket(ctx, host, nil), Sent: func(int64, string) {},
			Snapshot: func() []turn.Frame { return nil }, Open: func() []link.Turn { return nil },
		}
		do(func(a *hub.Actor) { a.AttachHost(hs, iris.Host{}, "e1", func(*hub.Actor, iris.HostMark, error) {}) })
		if got := phone.statuses(); got != "online" {
			t.Fatalf("statuses %q after the host came, want online", got)
		}

		send := func() {
			do(func(a *hub.Actor) {
				a.Propose(hub.Proposal{Decide: func(*hub.State) (hub.Draft, error) {
					item := link.EncodeItem(link.Item{Kind: link.InboundMessage, ChatID: iris.DefaultChat, Body: link.Message{}})
					return hub.Draft{Inbound: []string{item}}, nil
				}})
			})
		}
		received := func() { do(func(a *hub.Actor) { a.Received(a.State().LastInbound) }) }
		send()
		received()
		time.Sleep(time.Minute)
		if got := phone.statuses(); got != "" {
			t.Errorf("statuses %q though the host took its message", got)
		}
		send()
		time.Sleep(time.Minute)
		if got := phone.statuses(); got != "degraded" {
			t.Errorf("statuses %q of a host that takes nothing, want degraded", got)
		}
		received()
		if got := phone.statuses(); got != "online" {
			t.Errorf("statuses %q after it took the message, want online", got)
		}
		d.Socket.Close(1001, "")
		hs.Socket.Close(1001, "")
		release()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
