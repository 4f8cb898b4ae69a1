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
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := s.cfg.Store.Ready(ctx); err != nil {
		s.logOf(r.Context()).Warn("store is not ready", "err", err)
		s.replyError(w, r, iris.Errorf(iris.CodeUnavailable, "the store does not answer"))
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": "ready"})
}
