package chaos

import (
	"context"
	"sync"
	"testing"
	"time"

	"iris-gateway/cloudstore"
	"iris-gateway/iris"
)

// observer keeps the whole log of a gateway: what the ring has dropped since is
// known to nobody else.
type observer struct {
	t       testing.TB
	store   *cloudstore.Store
	gateway string

	mu      sync.Mutex
	entries []iris.Entry // cursor 1 first
}

// look is how long it looks away: far less than the ring needs to go round.
const look = 20 * time.Millisecond

// run reads the log until ctx ends.
func (o *observer) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := o.read(ctx); err != nil && ctx.Err() == nil {
			o.t.Errorf("observer: %v", err)
			return
		}
		wait(ctx.Done(), look)
	}
}

// read takes what is new.
func (o *observer) read(ctx context.Context) error {
	fresh, err := o.store.Entries(ctx, o.gateway, o.head(), 500)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range fresh {
		if want := int64(len(o.entries)) + 1; e.Cursor != want {
			o.t.Fatalf("the log has entry %d where the observer looked for %d: a hole, or the observer was too slow", e.Cursor, want)
		}
		o.entries = append(o.entries, e)
	}
	return nil
}

func (o *observer) head() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int64(len(o.entries))
}

// log returns the entries so far.
func (o *observer) log() []iris.Entry {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.entries[:len(o.entries):len(o.entries)]
}
