package handlers

import (
	"context"
	"io"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// maxPulls is how many pulls may wait on a connection.
const maxPulls = 64

// handleMediaPull asks for bytes of a medium. The pulls of a connection are
// served one after the other.
func (d *deviceSession) handleMediaPull(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.MediaPullRequest](req)
	if err != nil {
		return err
	}
	if d.server.cfg.Media == nil {
		return errNoMedia
	}
	if d.pulls == nil {
		d.pulls = make(chan pull, maxPulls)
		d.wait.Go(func() { d.servePulls(ctx) })
	}
	select {
	case d.pulls <- pull{req, p}:
		return nil
	default:
		return iris.Errorf(iris.CodeRateLimited, "%d pulls wait on this connection already", maxPulls)
	}
}

// pull is a request for bytes.
type pull struct {
	req wire.Request
	wire.MediaPullRequest
}

func (d *deviceSession) servePulls(ctx context.Context) {
	w := &window{ping: d.ws.Ping, run: d.wait.Go, stretch: minStretch}
	for {
		select {
		case p := <-d.pulls:
			if err := d.servePull(ctx, p, w); err != nil {
				d.reply(p.req.ID, err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// servePull sends the header, the bytes and the end. Its error is the answer
// instead of all that.
func (d *deviceSession) servePull(ctx context.Context, p pull, w *window) error {
	length := p.Length
	if length == 0 {
		length = -1
	}
	m, r, err := d.server.cfg.Media.OpenMedia(ctx, d.gateway.ID, p.MediaID, p.Offset, length)
	if err != nil {
		return err
	}
	defer r.Close()
	d.answer(p.req, iris.Lane{}, wire.MediaPull{
		MediaID: m.ID, Kind: m.Kind, Mime: m.MIME, Size: m.Size, Filename: m.Filename, SHA256: m.SHA256, Offset: p.Offset,
	})
	err = sendMedia(ctx, d.ws, d.socket, r, w)
	if err != nil && ctx.Err() == nil {
		d.log.Error("medium could not be sent", "media", m.ID, "err", err)
	}
	d.answer(p.req, iris.Lane{}, wire.MediaPullEnd{OK: err == nil})
	return nil
}

// sendMedia sends bytes as binary frames, a chunk in memory at a time: the next ones
// wait in the connection to the store, and the ones before in that to the peer.
func sendMedia(ctx context.Context, ws *conn, socket *hub.Socket, r io.Reader, w *window) error {
	c := newChunk()
	defer c.free()
	for more := true; more; {
		c.n = 0
		var err error
		if more, err = c.fill(r); err != nil {
			return err
		}
		if err := w.pass(ctx, c.n); err != nil {
			_ = ws.CloseNow() // it takes nothing, or is gone
			return err
		}
		if err := socket.SendBinary(ctx, c.bytes()); err != nil {
			return err
		}
	}
	return nil
}
