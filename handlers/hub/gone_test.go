package hub_test

import (
	"context"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// gatedStore holds commits back until the gate is opened.
type gatedStore struct {
	*memstore.Store
	gate chan struct{}
}

func (s gatedStore) Append(ctx context.Context, g string, c iris.Commit) error {
	<-s.gate
	return s.Store.Append(ctx, g, c)
}

// A connection ends, or is being closed, while its attachment is on the way, and
// another instance is first. It is not attached any more: the device may have a
// newer one by now.
func TestEndedConnectionIsNotAttached(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*hub.Actor, *hub.Device){
		"ended":   func(a *hub.Actor, d *hub.Device) { a.Detach(d) },
		"closing": func(_ *hub.Actor, d *hub.Device) { d.Socket.Close(1001, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testNotAttached(t, end)
		})
	}
}

func testNotAttached(t *testing.T, end func(*hub.Actor, *hub.Device)) {
	ctx := t.Context()
	store := gatedStore{memstore.New(), make(chan struct{})}
	if err := store.CreateGateway(ctx, iris.Gateway{ID: "g", DefaultChat: iris.DefaultChat}, iris.Token{Hash: "h", Kind: iris.TokenHost, Gateway: "g"}); err != nil {
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
	d := &hub.Device{ID: "d1", Link: iris.Link{ID: "l", At: time.Now()}, Socket: h.NewSocket(ctx, &told{}, nil)}
	attached := make(chan error, 1)
	for _, f := range []func(a *hub.Actor){
		func(a *hub.Actor) { a.Attach(d, "", true, func(_ *hub.Actor, _ int64, err error) { attached <- err }) },
		func(a *hub.Actor) { end(a, d) },
	} {
		if err := g.Call(ctx, f); err != nil {
			t.Fatal(err)
		}
	}
	other := iris.Commit{Entry: iris.Entry{Cursor: 2, Writer: "other", Batch: 1, First: 1}, Guard: 1}
	if err := store.Store.Append(ctx, "g", other); err != nil {
		t.Fatal(err)
	}
	close(store.gate)
	if err := <-attached; err == nil {
		t.Error("it was attached")
	}
	d.Socket.Close(1001, "")
	release()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
}
