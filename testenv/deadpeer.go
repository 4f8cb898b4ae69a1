package testenv

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// DeadPeer lets tr reach a server in this process, by HTTP/2, whatever the
// address. cut makes the connections so far go dead, as a network does that has
// forgotten them: nothing arrives any more, and nobody says so. It works within
// testing/synctest.
func DeadPeer(t *testing.T, tr *http.Transport) (url string, cut func()) {
	ln, dial := Pipes()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Listener.Close()
	server.Listener, server.EnableHTTP2 = ln, true
	server.StartTLS()
	var generation atomic.Int32
	tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // it is this process
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &mortal{c, &generation, generation.Load()}, nil
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
