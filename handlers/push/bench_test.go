package push_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/push"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// What an answer costs until it is in the log and on its way to the sockets,
// with 50 devices that are away: their pushes hang, and must not delay it.
func BenchmarkCommit(b *testing.B) {
	for _, devices := range []int{0, 50} {
		b.Run(fmt.Sprintf("devices=%d", devices), func(b *testing.B) {
			store := memstore.New()
			ctx := b.Context()
			if err := store.CreateGateway(ctx, iris.Gateway{ID: gatewayID, DefaultChat: iris.DefaultChat}, iris.Token{Hash: "host"}); err != nil {
				b.Fatal(err)
			}
			for i := range devices {
				t := iris.Token{Hash: fmt.Sprint("t", i), Kind: iris.TokenDevice, Gateway: gatewayID}
				_ = store.CreateToken(ctx, t)
				if err := store.BindToken(ctx, t.Hash, iris.Device{ID: fmt.Sprint("d", i), FCMToken: fmt.Sprint("f", i)}); err != nil {
					b.Fatal(err)
				}
			}
			log := slog.New(slog.NewTextHandler(io.Discard, nil))
			hangs := newService()
			hangs.each = func(ctx context.Context, _ string) error {
				<-ctx.Done()
				return &iris.PushError{Failure: iris.PushAway}
			}
			p := push.New(push.Config{Store: store, FCM: hangs, Preview: true, Log: log})
			h := hub.New(hub.Config{Store: store, LogEntries: 2048, Log: log, Notifier: p})
			g, release, err := h.Open(ctx, gatewayID)
			if err != nil {
				b.Fatal(err)
			}
			frame := wire.Message{MessageID: "m", Role: iris.RoleAssistant, Text: strings.Repeat("some text ", 200)}
			for b.Loop() {
				done := make(chan struct{})
				_ = g.Do(func(a *hub.Actor) {
					d := hub.Draft{Notify: true}
					d.Add(lane, frame)
					a.Propose(hub.Proposal{
						Decide: func(*hub.State) (hub.Draft, error) { return d, nil },
						Done:   func(*hub.Actor, hub.Result) { close(done) },
					})
				})
				<-done
			}
			p.Close()
			release()
			_ = h.Close(context.Background())
		})
	}
}
