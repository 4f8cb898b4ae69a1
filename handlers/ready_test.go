package handlers_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/testenv"
)

// askedStore counts how often it is asked whether it is there.
type askedStore struct {
	*memstore.Store
	asked *atomic.Int32
	away  *atomic.Bool
}

func (s askedStore) Ready(context.Context) error {
	s.asked.Add(1)
	time.Sleep(10 * time.Millisecond)
	if s.away.Load() {
		return errors.New("away")
	}
	return nil
}

// Anybody may ask /ready, and each look at the store is billed.
func TestReadyLooksOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := askedStore{memstore.New(), new(atomic.Int32), new(atomic.Bool)}, testenv.Logger(t, testenv.Gateways)
		server := handlers.New(handlers.Config{Store: store, Hub: hub.New(hub.Config{Store: store, LogEntries: 64, Log: log}), Log: log})
		ask := func(want int) {
			t.Helper()
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					w := httptest.NewRecorder()
					if server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil)); w.Code != want {
						t.Errorf("status %d, want %d", w.Code, want)
					}
				})
			}
			all.Wait()
		}
		ask(http.StatusOK)
		if n := store.asked.Load(); n != 1 {
			t.Errorf("the store was asked %d times", n)
		}
		store.away.Store(true)
		time.Sleep(time.Second)
		ask(http.StatusServiceUnavailable)
		if n := store.asked.Load(); n != 2 {
			t.Errorf("the store was asked %d times, want 2", n)
		}
	})
}
