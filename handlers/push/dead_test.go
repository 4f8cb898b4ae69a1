package push

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// A connection to the service that went silently is given up: pushes are tried
// again on it, and would wait for the kernel, a quarter of an hour.
func TestNtfyDeadConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := NewNtfy("https://ntfy.example")
		_, cut := testenv.DeadPeer(t, n.http.Transport.(*http.Transport))
		send := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), sendTimeout)
			defer cancel()
			return n.Send(ctx, "topic", iris.Push{})
		}
		if err := send(); err != nil {
			t.Fatal(err)
		}
		cut()
		began := time.Now()
		for tries := 0; send() != nil; tries++ {
			time.Sleep(backoff(tries))
			if time.Since(began) > time.Minute {
				t.Fatal("pushes still go to the dead connection")
			}
		}
	})
}
