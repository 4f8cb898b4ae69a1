// Package memstore is the store of Iris in memory: the same methods, refusals
// and order as package cloudstore, nothing kept after the process. It serves
// `iris dev`, the fast tests and the simulations.
//
// It does no I/O and waits only on channels, so it may be used inside a
// testing/synctest bubble (make the store inside the bubble). It has no faults
// of its own: a test that wants a lost answer or a late snapshot wraps it.
//
// storetest holds it to the same contract as the real store.
package memstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"iris-gateway/cloudstore/internal/media"
	"iris-gateway/iris"
)

// Store keeps everything in maps under one mutex. All values are copied on the
// way in and out.
type Store struct {
	// Now is the server's clock, which stamps entries. Set it before the
	// first use; time.Now when left alone.
	Now func() time.Time

	// The media. Its limits, and its Retention, which is that of messages too,
	// are set before the first use.
	*media.Library

	mu       sync.Mutex
	gateways map[string]*gateway
	tokens   map[string]iris.Token
	objects  map[string]object // of the bucket
	removals map[string]iris.Removal
	writes   int // of media's rows
}

// defaultLimits are those of server/config.go, but for the quota: memory is small.
var defaultLimits = iris.MediaLimits{MaxBytes: 64 << 20, Quota: 512 << 20}

// gateway is everything below gateways/{g}. As in Firestore it can exist
// without its own row.
type gateway struct {
	row      *iris.Gateway // nil without a row
	entries  []*iris.Entry // sorted by cursor; see insert; an entry is never changed in place
	added    chan struct{} // closed and replaced when an entry was added
	channels map[iris.Lane]iris.Channel
	messages map[string]iris.Message
	devices  map[string]iris.Device
	pickers  map[string]iris.Picker // the open ones
	media    map[string]media.Row

	deletions map[string]iris.Deletion // those that have begun

	lives       map[string]iris.Live // by turn
	liveChanged chan struct{}        // closed and replaced when a live document was changed
}

// New returns an empty store.
func New() *Store {
	s := &Store{
		Now:      time.Now,
		gateways: map[string]*gateway{},
		tokens:   map[string]iris.Token{},
		objects:  map[string]object{},
		removals: map[string]iris.Removal{},
	}
	s.Library = &media.Library{
		Rows: mediaRows{s}, Bucket: bucket{s}, Limits: defaultLimits, Now: func() time.Time { return s.Now() },
	}
	return s
}

// Ready reports that the store can be used, which it always can.
func (s *Store) Ready(ctx context.Context) error { return alive(ctx) }

// Close does nothing: there is nothing to let go.
func (s *Store) Close() error { return nil }

// at returns what is below gateways/{g}, made when missing. Call with s.mu held.
func (s *Store) at(g string) *gateway {
	gw := s.gateways[g]
	if gw == nil {
		gw = &gateway{
			added:    make(chan struct{}),
			channels: map[iris.Lane]iris.Channel{},
			messages: map[string]iris.Message{},
			devices:  map[string]iris.Device{},
			pickers:  map[string]iris.Picker{},
			media:    map[string]media.Row{},

			deletions: map[string]iris.Deletion{},

			lives:       map[string]iris.Live{},
			liveChanged: make(chan struct{}),
		}
		s.gateways[g] = gw
	}
	return gw
}

// alive returns the error of an ended context, as a call to a real store would.
func alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memstore: %w", err)
	}
	return nil
}
