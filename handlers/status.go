package handlers

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Check looks whether something works that the gateway stands on.
type Check struct {
	Name string // store, bucket, fcm, ntfy
	Note string // what it is, for people
	Off  string // why it is not used, for people; "" if it is
	Do   func(ctx context.Context) error
}

// checkTimeout bounds each check of a status.
const checkTimeout = 8 * time.Second

type checkInfo struct {
	Name   string `json:"name"`
	State  string `json:"state"`  // ok, off or failed
	Detail string `json:"detail"` // what it is, or why it is off or failed
	Millis int64  `json:"ms"`     // how long the check took
}

// handleStatus tells an operator how the instance is: `iris doctor` asks it
// (docs/operations.md).
func (s *Server) handleStatus(w http.ResponseWriter, r *http.Request) error {
	s.mu.Lock()
	sockets := s.count
	s.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{
		"version": s.cfg.Version, "time": time.Now().UnixMilli(), "public_url": s.cfg.PublicURL,
		"sockets": sockets, "max_sockets": s.cfg.MaxSockets, "checks": runChecks(r.Context(), s.cfg.Checks),
	})
	return nil
}

// runChecks runs all checks at once.
func runChecks(ctx context.Context, checks []Check) []checkInfo {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	infos := make([]checkInfo, len(checks))
	var wait sync.WaitGroup
	for i, c := range checks {
		infos[i] = checkInfo{Name: c.Name, State: "off", Detail: c.Off}
		if c.Off != "" {
			continue
		}
		wait.Go(func() {
			began := time.Now()
			infos[i].State, infos[i].Detail = "ok", c.Note
			if err := c.Do(ctx); err != nil {
				infos[i].State, infos[i].Detail = "failed", err.Error()
			}
			infos[i].Millis = time.Since(began).Milliseconds()
		})
	}
	wait.Wait()
	return infos
}
