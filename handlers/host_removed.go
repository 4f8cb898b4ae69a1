package handlers

import (
	"context"
	"time"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// erasureWait is how long the host of a removed gateway may be about its order.
// One that does not know it is sent away then, and comes again.
const erasureWait = 10 * time.Minute

// removedHost is one that is still to erase what it has of a removed gateway.
type removedHost struct {
	GatewayID string `json:"gateway_id"`
	Until     int64  `json:"until"` // ms since 1970: it is not waited for any longer
}

// removedHosts lists the hosts that are waited for.
func (s *Server) removedHosts(ctx context.Context) ([]removedHost, error) {
	tokens, err := s.cfg.Store.RemovedHosts(ctx)
	list := []removedHost{}
	for _, t := range tokens {
		if time.Now().Before(t.Expires) {
			list = append(list, removedHost{t.Gateway, millis(t.Expires)})
		}
	}
	return list, err
}

// orderErasure tells a host that its gateway was removed. What it still wants to
// send is of no use to anybody: it counts as taken.
func (h *hostSession) orderErasure(t iris.Token) error {
	if !time.Now().Before(t.Expires) {
		return hub.ErrRemoved
	}
	ack := link.HelloAck{GatewayID: t.Gateway, Acked: h.hello.LastSeq, Received: h.hello.Received}
	h.socket.Send(string(link.Encode(link.TypeHelloAck, ack)))
	h.socket.Send(string(link.Encode(link.TypeGatewayDelete, link.GatewayDelete{})))
	h.log.Info("host of a deleted gateway is told to erase its copies", "plugin", h.hello.Plugin)
	return nil
}

// awaitErased reads until the host confirms that it has erased all; then its
// token is gone as well.
func (h *hostSession) awaitErased(ctx context.Context, hash string) error {
	defer time.AfterFunc(erasureWait, func() { h.refuse(hub.ErrRemoved.Message) }).Stop()
	for {
		binary, data, err := h.ws.read(ctx)
		if err != nil {
			return err
		}
		if kind, err := link.Type(data); binary || err != nil || kind != link.TypeGatewayDeleted {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, openWait)
		defer cancel()
		if err := h.server.cfg.Store.DropRemovedHost(ctx, hash); err != nil {
			return err
		}
		h.log.Info("host of a deleted gateway has erased its copies")
		return hub.ErrRemoved
	}
}

// underRemoval lets a host come again that meets its gateway while that is being
// removed: a moment later its token tells it more.
func underRemoval(err error) error {
	if code := iris.ErrorCode(err); code != iris.CodeAuth && code != iris.CodeNotFound {
		return err
	}
	return &wire.CloseError{Code: wire.CloseGoingAway, Err: iris.Errorf(iris.CodeUnavailable, "%s, connect again", hub.ErrRemoved.Message)}
}
