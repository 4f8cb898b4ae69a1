package cloudstore

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/testenv"
)

// A connection to FCM that went silently is given up: pushes are tried again on
// it, and would wait for the kernel, a quarter of an hour.
func TestFCMDeadConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := fcmTransport()
		url, cut := testenv.DeadPeer(t, transport)
		call := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := transport.RoundTrip(req)
			if err == nil {
				res.Body.Close()
			}
			return err
		}
		if err := call(); err != nil {
			t.Fatal(err)
		}
		cut()
		for began := time.Now(); call() != nil; {
			time.Sleep(time.Second)
			if time.Since(began) > time.Minute {
				t.Fatal("calls still go to the dead connection")
			}
		}
	})
}
