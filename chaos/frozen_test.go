package chaos

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/testenv"
)

// TestHelloWhileFrozen: an instance gets no turn for longer than a hello may
// take. The hello that came meanwhile is read: a device that was closed with
// 4400 would give up for ever.
func TestHelloWhileFrozen(t *testing.T) {
	in := newInstance(t, "instance", testenv.Firestore(t), 16)
	if err := in.start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), settleTime)
	defer cancel()
	s, err := dial(ctx, in, "/ws", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.CloseNow()
	in.p.Signal(syscall.SIGSTOP)
	err = s.send([]byte(`{"v":1,"type":"hello","id":1,"payload":{"token":"unknown","device_id":"d"}}`))
	wait(ctx.Done(), 11*time.Second)
	in.p.Signal(syscall.SIGCONT)
	for err == nil {
		_, _, err = s.Read(ctx)
	}
	var closed websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != 4401 {
		t.Errorf("the connection ended with %v, want 4401 for the token", err)
	}
	in.terminate(true)
}
