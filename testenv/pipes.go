package testenv

import (
	"context"
	"net"
	"sync"
)

// Pipes returns a network in memory, for servers within testing/synctest: what
// is dialed, whatever the address, the listener accepts.
func Pipes() (net.Listener, func(ctx context.Context, network, addr string) (net.Conn, error)) {
	ended := make(chan struct{})
	ln := pipeListener{make(chan net.Conn), ended, sync.OnceFunc(func() { close(ended) })}
	return ln, func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		select {
		case ln.conns <- there:
			return here, nil
		case <-ended:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
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
