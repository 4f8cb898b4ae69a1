package testenv

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// DeadPeer lets tr reach a server in this process, by HTTP/2, whatever the
// address. cut makes the connections so far go dead, as a network does that has
// forgotten them: nothing arrives any more, and nobody says so. It works within
// testing/synctest.
func DeadPeer(t *testing.T, tr *http.Transport) (url string, cut func()) {
	ended := make(chan struct{})
	ln := pipeListener{make(chan net.Conn), ended, sync.OnceFunc(func() { close(ended) })}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Listener.Close()
	server.Listener, server.EnableHTTP2 = ln, true
	server.StartTLS()
	var generation atomic.Int32
	tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // it is this process
	tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		select {
		case ln.conns <- there:
			return &mortal{here, &generation, generation.Load()}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	return "https://peer.example", func() { generation.Add(1) }
}

// mortal is a connection that takes everything and passes nothing on, once a
// newer generation has come.
type mortal struct {
	net.Conn
	newest *atomic.Int32
	born   int32
}

// Write implements [net.Conn].
func (m *mortal) Write(p []byte) (int, error) {
	if m.newest.Load() != m.born {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

// pipeListener accepts the connections that it is given.
type pipeListener struct {
	conns chan net.Conn
	ended <-chan struct{}
	end   func()
}

// Accept implements [net.Listener].
func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l pipeListener) Close() error { l.end(); return nil }

// Addr implements [net.Listener].
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }
