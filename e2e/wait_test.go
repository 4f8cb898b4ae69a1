package e2e_test

import (
	"testing"
	"time"
)

// await waits for an event that a channel's closing stands for.
func await(t *testing.T, event <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(120 * time.Second):
		t.Fatalf("awaited that %s; it did not within two minutes", what)
	}
}
