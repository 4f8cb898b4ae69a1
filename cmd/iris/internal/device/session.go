package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Times of a connection.
const (
	dialTimeout  = 15 * time.Second
	writeTimeout = 10 * time.Second
	pingEvery    = 25 * time.Second
	pingTimeout  = 20 * time.Second
	closeTimeout = time.Second
)

// maxFrame bounds a frame from the gateway: a page of history is the largest.
const maxFrame = 32 << 20

// connect runs one connection to its end. accepted says whether the gateway
// took the hello.
func (c *Client) connect(ctx context.Context) (accepted bool, err error) {
	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := dial(dialCtx, c.cfg.URL)
	if err != nil {
		return false, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxFrame)
	ack, err := c.hello(dialCtx, conn)
	if err != nil {
		return false, err
	}
	// Detached from ctx: a read whose context ends kills the connection without
	// a close code, and the gateway would wait for us. watch ends it instead.
	session, end := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	c.begin(live{conn, session})
	c.seen.connected()
	c.cfg.Handle(Connected{Ack: ack})
	if err := c.requestSync(); err != nil {
		return true, err
	}
	wg.Go(func() { c.write(session, conn) })
	wg.Go(func() { ping(session, conn) })
	wg.Go(func() { watch(ctx, session, conn) })
	return true, c.read(session, conn)
}

// dial opens the WebSocket; its errors are for people.
func dial(ctx context.Context, url string) (*websocket.Conn, error) {
	conn, resp, err := websocket.Dial(ctx, url, nil)
	if err == nil {
		return conn, nil
	}
	if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, answerError(resp)
	}
	if ctx.Err() != nil {
		return nil, errors.New("the gateway does not answer")
	}
	return nil, fmt.Errorf("the gateway cannot be reached: %w", root(err))
}

// answerError is why the gateway, or whoever sits at its address, did not
// upgrade to a WebSocket.
func answerError(resp *http.Response) error {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if resp.Body != nil {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, 1024)) // what Dial keeps
		_ = json.Unmarshal(data, &body)
	}
	if body.Error.Message != "" {
		return errors.New(body.Error.Message)
	}
	return fmt.Errorf("no Iris gateway there: it answers %s", resp.Status)
}

// root is the innermost error: the outer ones only say which function failed.
func root(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// hello introduces the device and waits for the answer.
func (c *Client) hello(ctx context.Context, conn *websocket.Conn) (wire.HelloAck, error) {
	frame, err := encode("hello", wire.TypeHello, iris.Lane{}, wire.Hello{
		Token: c.cfg.Token, DeviceID: c.cfg.DeviceID, DeviceName: c.cfg.DeviceName,
		Caps: wire.DeviceCaps{MinProtocol: wire.Version, Media: true, Push: "none"},
	})
	if err != nil {
		return wire.HelloAck{}, err
	}
	if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return wire.HelloAck{}, err
	}
	var said string
	for {
		f, err := readFrame(ctx, conn)
		if err != nil {
			return wire.HelloAck{}, closeError(err, said)
		}
		switch f.Type {
		case wire.HelloAck{}.FrameType():
			return Payload[wire.HelloAck](f)
		case wire.Error{}.FrameType():
			e, err := Payload[wire.Error](f)
			if err != nil {
				return wire.HelloAck{}, err
			}
			said = e.Message // the close code that follows says what to do
		}
	}
}

// begin makes the state of a new connection.
func (c *Client) begin(l live) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = l
	c.session++
	c.ready = false
	c.requests = nil
}

// requestSync asks for what was missed since the last sync.
func (c *Client) requestSync() error {
	var req struct {
		Cursor *int64 `json:"cursor,omitempty"`
	}
	if c.synced {
		req.Cursor = &c.cursor
	}
	id, err := c.Request(wire.TypeSync, iris.Lane{}, req)
	c.syncing = id
	return err
}

// watch closes the connection properly when ctx ends before the session.
func watch(ctx, session context.Context, conn *websocket.Conn) {
	select {
	case <-session.Done():
	case <-ctx.Done():
		kill := time.AfterFunc(closeTimeout, func() { _ = conn.CloseNow() })
		defer kill.Stop()
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
}

// ping finds out about a connection that died silently.
func ping(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pctx, cancel := context.WithTimeout(ctx, pingTimeout)
		err := conn.Ping(pctx)
		cancel()
		if err != nil {
			_ = conn.CloseNow() // the reader notices
			return
		}
	}
}

// readFrame reads the next frame. A binary one has no type, and its bytes are Raw.
func readFrame(ctx context.Context, conn *websocket.Conn) (Frame, error) {
	kind, data, err := conn.Read(ctx)
	if err != nil {
		return Frame{}, err
	}
	if kind == websocket.MessageBinary {
		return Frame{Raw: data}, nil
	}
	return decode(data)
}

// closeError turns the end of a connection into words; said is what the
// gateway's last error frame said.
func closeError(err error, said string) error {
	var closed websocket.CloseError
	if !errors.As(err, &closed) {
		return errors.New("the connection broke")
	}
	e := &CloseError{Code: int(closed.Code), Message: said}
	if e.Message == "" {
		e.Message = closed.Reason
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("the gateway closed the connection (%d)", e.Code)
	}
	return e
}
