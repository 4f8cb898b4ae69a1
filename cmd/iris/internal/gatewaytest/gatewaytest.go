// Package gatewaytest runs a gateway inside a test: the real handlers over the
// memory store, on a real port, with a network that can be cut.
package gatewaytest

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/cmd/iris/internal/admin"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

// Gateway is a running gateway with one owner's gateway made in it.
type Gateway struct {
	Addr      string // host:port; stays over restarts
	Admin     *admin.Client
	ID        string
	HostToken string
	Store     *memstore.Store // what it keeps, media too

	t     testing.TB
	log   *slog.Logger
	token string

	mu    sync.Mutex
	conns map[net.Conn]bool
	stop  func()
}

// Start starts a gateway that ends with the test.
func Start(t testing.TB) *Gateway {
	t.Helper()
	g := &Gateway{t: t, log: testenv.Logger(t, testenv.CommandLine), token: iris.NewToken(), Store: memstore.New(), conns: map[net.Conn]bool{}}
	g.start("127.0.0.1:0")
	t.Cleanup(func() { g.stop() })
	client, err := admin.New("http://"+g.Addr, g.token)
	if err != nil {
		t.Fatal(err)
	}
	g.Admin = client
	made, err := client.CreateGateway(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	g.ID, g.HostToken = made.GatewayID, made.HostToken
	return g
}

// Token is the operator's.
func (g *Gateway) Token() string { return g.token }

// Pair returns a fresh device token.
func (g *Gateway) Pair() string {
	g.t.Helper()
	p, err := g.Admin.Pair(g.t.Context(), g.ID, "device")
	if err != nil {
		g.t.Fatal(err)
	}
	return p.Token
}

// Restart ends the gateway as SIGTERM does, and starts another one on the same
// address and store.
func (g *Gateway) Restart() {
	g.stop()
	g.start(g.Addr)
}

// Stop ends the gateway until Restart.
func (g *Gateway) Stop() {
	g.stop()
	g.stop = func() {}
}

// Cut breaks every connection there is, without a word to anybody.
func (g *Gateway) Cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		_ = c.Close()
	}
	clear(g.conns)
}

func (g *Gateway) start(addr string) {
	g.t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.Addr = ln.Addr().String()
	srv := handlers.New(handlers.Config{
		Store: g.Store, Hub: hub.New(hub.Config{Store: g.Store, LogEntries: 2048, Log: g.log}),
		Media: g.Store, MediaMaxBytes: g.Store.Limits.MaxBytes,
		AdminToken: g.token, MaxSockets: 100, Log: g.log,
	})
	hs := &http.Server{Handler: testenv.Confiding(srv)}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(&listener{ln, g}) }()
	g.stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := errors.Join(srv.Drain(ctx), hs.Shutdown(ctx)); err != nil {
			g.t.Errorf("gateway does not stop: %v", err)
		}
		<-served
	}
}

// listener remembers the connections that it accepts.
type listener struct {
	net.Listener
	g *Gateway
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.g.mu.Lock()
		l.g.conns[c] = true
		l.g.mu.Unlock()
	}
	return c, err
}
