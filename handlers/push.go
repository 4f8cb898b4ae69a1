package handlers

import (
	"context"
	"net/http"
	"slices"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
)

// handlePushTest sends one push to a device and tells what the service answered.
func (s *Server) handlePushTest(w http.ResponseWriter, r *http.Request) error {
	gateway := r.PathValue("gateway")
	if _, err := s.cfg.Store.Gateway(r.Context(), gateway); err != nil {
		return err
	}
	dev, err := s.cfg.Store.Device(r.Context(), gateway, r.PathValue("device"))
	if err != nil {
		return err
	}
	outcome, detail := s.cfg.Push.Test(r.Context(), gateway, dev)
	reply(w, http.StatusOK, map[string]string{"outcome": outcome, "detail": detail})
	return nil
}

// pushWait is how long a request waits for its pushes: those to devices that
// seem connected are due after 8 s, and the plugin gives up after 15.
const pushWait = 10 * time.Second

// settlePushes waits for the pushes of what a request committed to its gateway.
func (s *Server) settlePushes(r *http.Request) {
	if s.cfg.Push == nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), pushWait)
	defer cancel()
	s.cfg.Push.Settle(ctx, r.PathValue("gateway"))
}

// unregister removes a registration that the service does not know any more,
// unless the device has registered another one meanwhile (protocol.md, "Push
// registration").
func (s *Server) unregister(ctx context.Context, gateway, device, token string) error {
	none := ""
	return s.append(ctx, gateway, func(st *hub.State) (hub.Draft, error) {
		if slices.Contains(st.Registered(iris.HashToken(token)), device) {
			return register(st, device, &none, nil)
		}
		return hub.Draft{}, nil
	})
}

// pushOutcome is what became of the last push to a device, as operators see it:
// "" if there was none.
func pushOutcome(p iris.PushState) string {
	switch {
	case p.Outcome == "" || p.Detail == "":
		return string(p.Outcome)
	case p.Outcome == iris.PushSent:
		return string(p.Outcome) + " by " + p.Detail
	default:
		return string(p.Outcome) + " (" + p.Detail + ")"
	}
}
