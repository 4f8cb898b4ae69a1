package handlers

import (
	"context"
	"errors"
	"net/http"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
)

// handleRevokeDevice takes a device its token and push registration, and ends
// its connection on whichever instance holds it: that instance reads of it in
// the log (operations.md, "Tokens").
func (s *Server) handleRevokeDevice(w http.ResponseWriter, r *http.Request) error {
	ctx, gateway, id := r.Context(), r.PathValue("gateway"), r.PathValue("device")
	dev, err := s.cfg.Store.Device(ctx, gateway, id)
	if err != nil {
		return err
	}
	draft := hub.Draft{
		Control: []iris.Control{{Kind: iris.DeviceRevoked, Device: id}},
		Changes: []iris.Change{iris.DropDevice{Device: id}},
	}
	switch _, err := s.cfg.Store.Token(ctx, dev.Token); {
	case err == nil:
		draft.Changes = append(draft.Changes, iris.DropToken{Hash: dev.Token})
	case iris.ErrorCode(err) != iris.CodeAuth: // which says that it is gone already
		return err
	}
	if err := s.append(ctx, gateway, always(draft)); err != nil {
		return conflict(err)
	}
	s.logOf(r.Context()).Info("device revoked", "gateway", gateway, "device", id)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// handleRotateHostToken gives the host another token. The old one stops working,
// and its connection ends.
func (s *Server) handleRotateHostToken(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	gw, err := s.cfg.Store.Gateway(ctx, r.PathValue("gateway"))
	if err != nil {
		return err
	}
	token := iris.NewToken()
	fresh := iris.Token{Hash: iris.HashToken(token), Kind: iris.TokenHost, Gateway: gw.ID, Created: time.Now()}
	err = s.append(ctx, gw.ID, always(hub.Draft{
		Control: []iris.Control{{Kind: iris.HostRevoked}},
		Changes: []iris.Change{
			iris.DropToken{Hash: gw.HostToken}, iris.AddToken{Token: fresh}, iris.SetHostToken{Hash: fresh.Hash},
			iris.SetHostLink{Seen: gw.Host.Seen},
		},
	}))
	if err != nil {
		return conflict(err)
	}
	s.logOf(r.Context()).Info("host token replaced", "gateway", gw.ID)
	reply(w, http.StatusOK, map[string]string{"host_token": token})
	return nil
}

// always decides for a draft, whatever the log says.
func always(draft hub.Draft) hub.Decide {
	return func(*hub.State) (hub.Draft, error) { return draft, nil }
}

// conflict says what a refusal by a row means to an operator.
func conflict(err error) error {
	if errors.Is(err, iris.ErrRefused) {
		return iris.Errorf(iris.CodeConflict, "somebody else has just changed this: look, and try again")
	}
	return err
}

// append puts into the log of a gateway what somebody without a socket wants.
func (s *Server) append(ctx context.Context, gateway string, decide hub.Decide) error {
	g, release, err := s.cfg.Hub.Open(ctx, gateway)
	if err != nil {
		return err
	}
	defer release()
	done := make(chan error, 1)
	err = g.Do(func(a *hub.Actor) {
		a.Propose(hub.Proposal{
			Decide: decide,
			Done:   func(_ *hub.Actor, r hub.Result) { done <- r.Err },
		})
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

type pairingInfo struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	ExpiresAt int64  `json:"expires_at"` // ms since 1970
}

// handleListPairings lists the tokens that no device has used yet.
func (s *Server) handleListPairings(w http.ResponseWriter, r *http.Request) error {
	gw, err := s.cfg.Store.Gateway(r.Context(), r.PathValue("gateway"))
	if err != nil {
		return err
	}
	tokens, err := s.cfg.Store.Pairings(r.Context(), gw.ID)
	if err != nil {
		return err
	}
	list := []pairingInfo{}
	for _, t := range tokens {
		if time.Now().Before(t.Expires) {
			list = append(list, pairingInfo{ID: t.Hash, Name: t.Name, ExpiresAt: millis(t.Expires)})
		}
	}
	reply(w, http.StatusOK, map[string]any{"pairings": list})
	return nil
}

// handleDropPairing makes a token void that no device has used yet.
func (s *Server) handleDropPairing(w http.ResponseWriter, r *http.Request) error {
	if err := s.cfg.Store.DropPairing(r.Context(), r.PathValue("gateway"), r.PathValue("pairing")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
