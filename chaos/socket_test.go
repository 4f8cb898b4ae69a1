package chaos

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/testenv"
)

const dialLimit = 3 * time.Second

// socket is a WebSocket through an instance's front proxy.
type socket struct {
	*websocket.Conn
	in      *instance
	local   net.Addr
	closing atomic.Bool
}

// dial opens a WebSocket to an instance.
func dial(ctx context.Context, in *instance, path, bearer string) (*socket, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	s := &socket{in: in}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				s.local = c.LocalAddr()
			}
			return c, err
		},
	}
	opts := &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{}}
	if bearer != "" {
		opts.HTTPHeader.Set("Authorization", "Bearer "+bearer)
	}
	ws, _, err := websocket.Dial(ctx, "ws://"+in.front.addr()+path, opts)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(16 << 20)
	s.Conn = ws
	return s, nil
}

// Close says goodbye. What a reader gets meanwhile may be the middle of a frame:
// the library takes some of it for itself (handlers.TestFrameWhileClosing).
func (s *socket) Close(code websocket.StatusCode, reason string) error {
	s.closing.Store(true)
	return s.Conn.Close(code, reason)
}

// Read returns the next frame, until the socket is being closed.
func (s *socket) Read(ctx context.Context) (websocket.MessageType, []byte, error) {
	kind, data, err := s.Conn.Read(ctx)
	if s.closing.Load() {
		return kind, nil, net.ErrClosed
	}
	testenv.ConfideFrame(data)
	return kind, data, err
}

// vanish drops the connection so that the gateway does not learn of it.
func (s *socket) vanish() {
	s.in.front.vanish(s.local)
	_ = s.CloseNow()
}

// send writes one text frame. It may block for a second at most: a peer that
// does not read is a reason to go elsewhere.
func (s *socket) send(frame []byte) error {
	testenv.ConfideFrame(frame)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.Write(ctx, websocket.MessageText, frame)
}
