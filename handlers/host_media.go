package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// Bounds of what moves over a host's link.
const (
	maxPutAhead = 4  // chunks of a put that wait for the store; then the host has to wait
	maxGets     = 16 // gets that wait for the one under way
)

// errNoMedia says that media is off.
var errNoMedia = iris.Errorf(iris.CodeUnsupported, "this gateway keeps no media")

// hostPut is a medium that the host brings (host-link.md, "Media"). The session's
// reader feeds it, a goroutine of its own gives it to the store: a slow store
// does not hold up the host's other frames until maxPutAhead is full.
type hostPut struct {
	frame  link.MediaPut
	chunks chan *chunk   // closed by the reader when no more will come
	ended  bool          // chunks is closed; owned by the reader
	broken error         // why the rest never comes; set before chunks is closed
	over   chan struct{} // closed once it has been answered
}

// handleMedia does what a frame about media asks for. One that is malformed is
// answered, too: the host waits.
func (h *hostSession) handleMedia(ctx context.Context, kind string, data []byte) error {
	switch kind {
	case link.TypeMediaPut:
		f, err := link.Decode[link.MediaPut](data)
		h.endPut(iris.Errorf(iris.CodeUnsupported, "another media.put began before the end of this one"))
		if err != nil {
			h.ackPut(mediaID(data), err)
			return err
		}
		h.mediaPut(ctx, f)
	case link.TypeMediaPutEnd:
		f, err := link.Decode[link.MediaPutEnd](data)
		if err != nil {
			return err
		}
		if h.put != nil && h.put.frame.MediaID == f.MediaID {
			h.endPut(nil)
		}
	case link.TypeMediaGet:
		f, err := link.Decode[link.MediaGet](data)
		if err != nil {
			h.refuseGet(mediaID(data), err)
			return err
		}
		h.mediaGet(f)
	}
	return nil
}

// mediaID is what a frame that cannot be read is about, if even that can be told.
func mediaID(data []byte) string {
	f, _ := link.Decode[struct {
		MediaID string `json:"media_id"`
	}](data)
	return f.MediaID
}

// putting reports whether bytes are wanted.
func (h *hostSession) putting() bool { return h.put != nil && !h.put.ended }

// mediaPut begins a put, once the one before has been answered.
func (h *hostSession) mediaPut(ctx context.Context, f link.MediaPut) {
	if h.put != nil {
		select {
		case <-h.put.over:
		case <-ctx.Done():
		}
	}
	p := &hostPut{frame: f, chunks: make(chan *chunk, maxPutAhead), over: make(chan struct{})}
	h.put = p
	h.wait.Go(func() { h.runPut(ctx, p) })
}

// mediaBytes takes a binary frame. Those that belong to no put, or to one that
// was answered already, are swallowed.
func (h *hostSession) mediaBytes(ctx context.Context, frame io.Reader) error {
	for more := true; more; {
		c := newChunk()
		var err error
		if more, err = c.fill(frame); err != nil {
			return err
		}
		if !h.putting() || c.n == 0 {
			c.free()
			continue
		}
		select {
		case h.put.chunks <- c:
		case <-h.put.over:
			c.free()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// endPut says that no more bytes will come: all have, if broken is nil.
func (h *hostSession) endPut(broken error) {
	if h.putting() {
		h.put.ended, h.put.broken = true, broken
		close(h.put.chunks)
	}
}

// runPut takes a medium and says what became of it.
func (h *hostSession) runPut(ctx context.Context, p *hostPut) {
	defer close(p.over)
	err := h.store(ctx, p)
	if errors.Is(err, errCut) {
		return // nobody waits for an answer
	}
	if err != nil {
		h.log.Warn("media of the host not taken", "media", printable(p.frame.MediaID), "err", err)
	}
	h.ackPut(p.frame.MediaID, err)
}

// errCut says that the connection ended in the middle of a put.
var errCut = errors.New("the connection has ended")

// ackPut says that a medium was taken, or why not.
func (h *hostSession) ackPut(id string, err error) {
	ack := link.MediaPutAck{MediaID: id, OK: err == nil}
	if err != nil {
		e := public(err)
		ack.Code, ack.Message = e.Code, e.Message
	}
	h.socket.Send(string(link.Encode(link.TypeMediaPutAck, ack)))
}

// store streams a put into the store. What came of one that is cut, or that the
// store cannot take now, is kept for its next attempt.
func (h *hostSession) store(ctx context.Context, p *hostPut) error {
	media := h.server.cfg.Media
	if media == nil {
		return errNoMedia
	}
	f := p.frame
	upload, err := media.BeginUpload(ctx, h.gateway.ID, iris.HostUpload(f.MediaID), iris.Media{
		ID: f.MediaID, Kind: f.Kind, MIME: f.Mime, Size: f.Size, Filename: f.Filename,
	}, f.Resume)
	if err != nil {
		return err
	}
	if f.Resume {
		ready := link.MediaPutReady{MediaID: f.MediaID, Offset: upload.Offset()}
		h.socket.Send(string(link.Encode(link.TypeMediaPutReady, ready)))
	}
	if err = fill(ctx, upload, p); err == nil {
		return nil
	}
	leave := upload.Suspend
	if isPublic(err) { // what came is not what was announced
		leave = upload.Abort
	}
	if err := leave(); err != nil {
		h.log.Warn("media: leave an upload", "err", err)
	}
	return err
}

// fill gives the bytes of a put to its upload.
func fill(ctx context.Context, upload iris.Upload, p *hostPut) error {
	for chunk := range p.chunks {
		_, err := upload.Write(chunk.bytes())
		chunk.free()
		if err != nil {
			return err
		}
	}
	if p.broken != nil {
		return p.broken
	}
	_, err := upload.Finish(ctx, p.frame.SHA256)
	return err
}

// mediaGet queues a get.
func (h *hostSession) mediaGet(f link.MediaGet) {
	select {
	case h.gets <- f:
	default:
		h.refuseGet(f.MediaID, iris.Errorf(iris.CodeRateLimited, "%d media.get wait already: wait for media.get.end", maxGets))
	}
}

// refuseGet answers a get that is not served.
func (h *hostSession) refuseGet(id string, err error) {
	e := public(err)
	end := link.MediaGetEnd{MediaID: id, Code: e.Code, Message: e.Message}
	h.socket.Send(string(link.Encode(link.TypeMediaGetEnd, end)))
}

// serveGets answers the gets one after the other.
func (h *hostSession) serveGets(ctx context.Context) {
	w := &window{ping: h.ws.Ping, run: h.wait.Go, stretch: minStretch}
	for {
		select {
		case f := <-h.gets:
			if err := h.serveGet(ctx, f, w); err != nil && ctx.Err() == nil {
				h.log.Warn("media for the host not sent", "media", printable(f.MediaID), "err", err)
				h.refuseGet(f.MediaID, err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// serveGet brings a medium to the host. Its error is still to be told.
func (h *hostSession) serveGet(ctx context.Context, f link.MediaGet, w *window) error {
	if h.server.cfg.Media == nil {
		return errNoMedia
	}
	m, bytes, err := h.server.cfg.Media.OpenMedia(ctx, h.gateway.ID, f.MediaID, f.Offset, -1)
	if err != nil {
		return err
	}
	defer bytes.Close()
	start := link.MediaGetStart{MediaID: m.ID, Size: m.Size, Mime: m.MIME, SHA256: m.SHA256}
	h.socket.Send(string(link.Encode(link.TypeMediaGetStart, start)))
	if err := sendMedia(ctx, h.ws, h.socket, bytes, w); err != nil {
		return err
	}
	h.socket.Send(string(link.Encode(link.TypeMediaGetEnd, link.MediaGetEnd{MediaID: f.MediaID, OK: true})))
	return nil
}

// described returns a media event with what the store knows of its medium, which
// it has looked at. A medium that it does not have is an [iris.Error]: then the
// event can never be taken.
func (h *hostSession) described(ctx context.Context, ev link.Event) (link.Event, error) {
	if ev.Kind != link.KindMedia {
		return ev, nil
	}
	if h.server.cfg.Media == nil {
		return ev, errNoMedia
	}
	b, err := link.Decode[link.Media](ev.Body)
	if err != nil {
		return ev, err
	}
	m, err := h.server.cfg.Media.Media(ctx, h.gateway.ID, b.MediaID)
	if err != nil {
		return ev, err
	}
	b.Kind, b.Mime, b.Size, b.SHA256, b.Filename = m.Kind, m.MIME, m.Size, m.SHA256, m.Filename
	ev.Body, err = json.Marshal(b)
	return ev, err
}
