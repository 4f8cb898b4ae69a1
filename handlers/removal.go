package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
)

// Times of a removal.
const (
	// removalStep is how long one request goes on before it answers with 202.
	removalStep = 20 * time.Second
	// removalNotice is how long the log's last entry stays at least: the other
	// instances, which follow the log, close their sockets when they read it.
	removalNotice = 3 * time.Second
)

// handleDeleteGateway removes a gateway with everything that it has: 204 when
// nothing is left, 202 when it is to be called again. It may be called again
// after whatever happened, on any instance, and goes on.
func (s *Server) handleDeleteGateway(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 2*removalStep)
	defer cancel()
	gateway, until := r.PathValue("gateway"), time.Now().Add(removalStep)
	removal, err := s.beginRemoval(ctx, gateway)
	if err != nil {
		return err
	}
	removed, done, err := s.removeUntil(ctx, gateway, until)
	if err == nil && done {
		sleep(ctx, time.Until(removal.At.Add(removalNotice)))
		var late int // of what somebody was about to add
		late, done, err = s.removeUntil(ctx, gateway, until)
		removed += late
	}
	if err == nil && !done {
		reply(w, http.StatusAccepted, map[string]int{"removed": removed})
		return nil
	}
	if err == nil {
		err = s.cfg.Store.EndRemoval(ctx, gateway)
	}
	if err != nil {
		return err
	}
	s.log.Info("gateway deleted", "gateway", gateway)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// beginRemoval tells everybody that the gateway is over, and removes its row,
// unless that was done before. Until the row is gone the log's last entry keeps
// everybody out.
func (s *Server) beginRemoval(ctx context.Context, gateway string) (iris.Removal, error) {
	under, err := s.cfg.Store.Removals(ctx)
	if err != nil {
		return iris.Removal{}, err
	}
	if i := slices.IndexFunc(under, func(r iris.Removal) bool { return r.Gateway == gateway }); i >= 0 {
		return under[i], nil
	}
	gw, err := s.cfg.Store.Gateway(ctx, gateway)
	if err != nil {
		return iris.Removal{}, err
	}
	err = s.append(ctx, gateway, always(hub.Draft{Control: []iris.Control{{Kind: iris.GatewayRemoved}}}))
	if code := iris.ErrorCode(err); err != nil && code != iris.CodeNotFound && code != iris.CodeAuth { // these say that an earlier call has told it
		return iris.Removal{}, err
	}
	r := iris.Removal{Gateway: gateway, Name: gw.Name, At: time.Now()}
	if err := s.cfg.Store.BeginRemoval(ctx, r); iris.ErrorCode(err) != iris.CodeNotFound { // else another call was quicker
		return r, err
	}
	return r, nil
}

// removeUntil removes rows, then the bytes of media, until none are left or the
// time is up.
func (s *Server) removeUntil(ctx context.Context, gateway string, until time.Time) (removed int, done bool, err error) {
	for time.Now().Before(until) {
		n, err := s.cfg.Store.RemoveSome(ctx, gateway)
		if removed += n; err != nil {
			return removed, false, err
		}
		if n > 0 {
			continue
		}
		if s.cfg.Media == nil {
			return removed, true, nil
		}
		if err := s.cfg.Media.DeleteMediaObjects(ctx, gateway); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return removed, false, nil
			}
			return removed, false, err
		}
		return removed, true, nil
	}
	return removed, false, nil
}
