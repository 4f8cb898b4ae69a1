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
	// removalPoll is how often is looked whether the host is done.
	removalPoll = 250 * time.Millisecond
)

// handleDeleteGateway removes a gateway with everything that it has: 204 when
// nothing is left, 202 when it is to be called again, 200 when all is gone here
// and only its host, which is away or at it, has still to erase its copies. It
// may be called again after whatever happened, on any instance, and goes on.
func (s *Server) handleDeleteGateway(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 2*removalStep)
	defer cancel()
	gateway, until := r.PathValue("gateway"), time.Now().Add(removalStep)
	begun, err := s.beginRemoval(ctx, gateway)
	if iris.ErrorCode(err) == iris.CodeNotFound {
		return s.replyRemoved(ctx, w, gateway, time.Now(), err)
	}
	if err != nil {
		return err
	}
	removed, done, err := s.removeUntil(ctx, gateway, until)
	if err == nil && done {
		sleep(ctx, time.Until(begun.at.Add(removalNotice)))
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
	if !begun.attached { // nobody is about to erase anything
		until = time.Now()
	}
	return s.replyRemoved(ctx, w, gateway, until, nil)
}

// replyRemoved answers that a gateway is gone, and whether its host has still to
// erase its copies, which is waited for until a time. When it need not, and
// nothing was removed by this call, absent is the answer.
func (s *Server) replyRemoved(ctx context.Context, w http.ResponseWriter, gateway string, until time.Time, absent error) error {
	for {
		waiting, err := s.removedHosts(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(waiting, func(h removedHost) bool { return h.GatewayID == gateway })
		switch {
		case i < 0 && absent != nil:
			return absent
		case i < 0:
			w.WriteHeader(http.StatusNoContent)
			return nil
		case ctx.Err() != nil || !time.Now().Before(until):
			reply(w, http.StatusOK, map[string]removedHost{"host": waiting[i]})
			return nil
		}
		sleep(ctx, removalPoll)
	}
}

// removal is one that has begun.
type removal struct {
	at       time.Time
	attached bool // its host was, just before
}

// beginRemoval tells everybody that the gateway is over, and removes its row,
// unless that was done before. Until the row is gone the log's last entry keeps
// everybody out. With it goes the right of the host's token, but that to be told.
func (s *Server) beginRemoval(ctx context.Context, gateway string) (removal, error) {
	under, err := s.cfg.Store.Removals(ctx)
	if err != nil {
		return removal{}, err
	}
	if i := slices.IndexFunc(under, func(r iris.Removal) bool { return r.Gateway == gateway }); i >= 0 {
		return removal{at: under[i].At}, nil
	}
	if _, err := s.cfg.Store.Gateway(ctx, gateway); err != nil {
		return removal{}, err
	}
	err = s.append(ctx, gateway, always(hub.Draft{Control: []iris.Control{{Kind: iris.GatewayRemoved}}}))
	if code := iris.ErrorCode(err); err != nil && code != iris.CodeNotFound && code != iris.CodeAuth { // these say that an earlier call has told it
		return removal{}, err
	}
	r := iris.Removal{Gateway: gateway, At: time.Now()}
	gw, err := s.cfg.Store.Gateway(ctx, gateway) // as it stays: before the log's end the host may have got another token
	if err == nil {
		r.Name = gw.Name
		err = s.cfg.Store.BeginRemoval(ctx, r, hostToTell(gw))
	}
	if iris.ErrorCode(err) == iris.CodeNotFound { // another call was quicker
		err = nil
	}
	return removal{at: r.At, attached: gw.Host.Link.Alive(r.At)}, err
}

// hostToTell returns the hash of the token of a gateway's host, "" if none was
// ever there.
func hostToTell(gw iris.Gateway) string {
	if gw.Host.Seen.IsZero() {
		return ""
	}
	return gw.HostToken
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
