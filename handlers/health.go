package handlers

import (
	"context"
	"net/http"
	"time"

	"iris-gateway/iris"
)

// handleHealth says that the process runs.
func (s *Server) handleHealth(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

// handleReady says whether sockets are welcome: the store answers, and the
// instance is not going away.
func (s *Server) handleReady(w http.ResponseWriter, r *http.Request) {
	if s.draining() {
		s.replyError(w, r, iris.Errorf(iris.CodeUnavailable, "this instance is going away"))
		return
	}
	if err := s.ready.ask(r.Context(), s.cfg.Store.Ready); err != nil {
		s.logOf(r.Context()).Warn("store is not ready", "err", err)
		s.replyError(w, r, iris.Errorf(iris.CodeUnavailable, "the store does not answer"))
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": "ready"})
}

// How long a look at the store may take, and how long what it found counts.
const (
	readyWait = 5 * time.Second
	readyFor  = time.Second
)

// readiness is what the last look at the store found. Anybody may ask, and each
// look is billed: there is one a second at most.
type readiness struct {
	look  chan struct{} // has room for one: who looks
	at    time.Time     // of the last look
	found error
}

func newReadiness() readiness { return readiness{look: make(chan struct{}, 1)} }

// ask returns what is known, or looks.
func (r *readiness) ask(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	select {
	case r.look <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.look }()
	if !r.at.IsZero() && time.Since(r.at) < readyFor {
		return r.found
	}
	// Detached: others get what it finds, also if this one has gone.
	looking, stop := context.WithTimeout(context.WithoutCancel(ctx), readyWait)
	defer stop()
	r.found = ready(looking)
	r.at = time.Now()
	return r.found
}
