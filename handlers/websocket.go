package handlers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// conn is the WebSocket of a peer; hub.Socket writes to it.
type conn struct {
	*websocket.Conn
	raw     net.Conn // below it
	closing atomic.Bool
}

// closeWait bounds how long the peer may take to answer a close frame.
const closeWait = time.Second

// maxReason is how long a close reason may be; a longer one would send no
// close frame at all.
const maxReason = 123

// Write implements hub.Conn.
func (c *conn) Write(ctx context.Context, frame []byte) error {
	return c.Conn.Write(ctx, websocket.MessageText, frame)
}

// WriteBinary implements hub.Conn.
func (c *conn) WriteBinary(ctx context.Context, frame []byte) error {
	return c.Conn.Write(ctx, websocket.MessageBinary, frame)
}

// Close implements hub.Conn. The library waits up to 5 s for a silent peer, and
// its CloseNow does nothing meanwhile: what is below is closed.
func (c *conn) Close(code int, reason string) {
	c.closing.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Conn.Close(websocket.StatusCode(code), short(reason))
	}()
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		_ = c.raw.Close()
		<-done
	}
}

func short(reason string) string {
	for i := range reason {
		if i > maxReason-4 {
			return reason[:i] + "…"
		}
	}
	return reason
}

// accept upgrades a request. Any origin may connect: the token is what counts,
// and no cookie is used.
func accept(w http.ResponseWriter, r *http.Request, limit int64) (*conn, error) {
	below := &hijacker{ResponseWriter: w}
	ws, err := websocket.Accept(below, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, fmt.Errorf("accept WebSocket: %w", err)
	}
	ws.SetReadLimit(limit)
	return &conn{Conn: ws, raw: below.raw}, nil
}

// hijacker keeps the connection that a WebSocket is made of.
type hijacker struct {
	http.ResponseWriter
	raw net.Conn
}

// Hijack implements [http.Hijacker].
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.raw = raw
	return raw, rw, err
}

// read returns the next frame. What is too large ends the connection with 1009.
func (c *conn) read(ctx context.Context) (binary bool, data []byte, err error) {
	binary, r, err := c.reader(ctx)
	if err != nil {
		return false, nil, err
	}
	data, err = io.ReadAll(r)
	return binary, data, err
}

// reader returns a reader of the next frame, which must be read to its end.
func (c *conn) reader(ctx context.Context) (binary bool, r io.Reader, err error) {
	kind, r, err := c.Reader(ctx)
	if err != nil || kind == websocket.MessageText {
		return false, &frameReader{c, r, math.MaxInt}, err
	}
	return true, &frameReader{c, r, wire.MaxBinaryFrame}, nil
}

// frameReader reads a frame.
type frameReader struct {
	conn *conn
	r    io.Reader
	left int // bytes that are allowed
}

// Read implements io.Reader. It fails when the frame is too large, and once the
// gateway closes the connection: the library (v1.8.15) then takes the rest of
// the frame for itself, and what comes is the middle of another one.
func (f *frameReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if f.conn.closing.Load() {
		return 0, net.ErrClosed
	}
	if f.left -= n; f.left < 0 {
		return 0, &wire.CloseError{Code: wire.CloseTooBig, Err: iris.Errorf(iris.CodeUnsupported,
			"binary frame of more than %d bytes", wire.MaxBinaryFrame)}
	}
	return n, err
}

// closeError says how a connection ends that failed with err: with the close
// code of a [wire.CloseError], else as the table of close codes says for the
// error's code.
func closeError(err error) *wire.CloseError {
	var ce *wire.CloseError
	if errors.As(err, &ce) {
		return ce
	}
	e := public(err)
	switch e.Code {
	case iris.CodeAuth, iris.CodeNotFound: // of a gateway that was deleted
		return &wire.CloseError{Code: wire.CloseAuth, Err: iris.Errorf(iris.CodeAuth, "%s", e.Message)}
	case iris.CodeRateLimited:
		return &wire.CloseError{Code: wire.CloseRateLimited, Err: e}
	case iris.CodeInternal, iris.CodeUnavailable:
		return &wire.CloseError{Code: wire.CloseSlow, Err: e}
	default:
		return &wire.CloseError{Code: wire.CloseProtocol, Err: e}
	}
}

// isReadError reports whether err says that the connection is gone, rather
// than that something on the gateway failed.
func isReadError(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) ||
		errors.Is(err, websocket.ErrMessageTooBig)
}
