package e2e

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Tunnel is the network between a host and its gateway. It lets so many bytes
// through in each direction and then none until Free: what is in the middle of
// something stays there.
type Tunnel struct {
	listener net.Listener
	gate     *Gateway
	stuck    chan struct{} // closed when a direction has reached its limit
	once     sync.Once
	free     chan struct{} // closed by Free
	freed    sync.Once

	mu          sync.Mutex
	left        [2]int64 // bytes to the gateway, from the gateway
	connections sync.WaitGroup
}

// NewTunnel returns a tunnel to the gateway, which may be started again meanwhile.
// It ends with the test.
func NewTunnel(t testing.TB, gate *Gateway, toGateway, fromGateway int64) *Tunnel {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tn := &Tunnel{
		listener: l, gate: gate, stuck: make(chan struct{}), free: make(chan struct{}), left: [2]int64{toGateway, fromGateway},
	}
	tn.connections.Go(tn.accept)
	t.Cleanup(func() {
		tn.Free()
		_ = l.Close()
		tn.connections.Wait()
	})
	return tn
}

// URL is where a host dials the gateway through the tunnel.
func (tn *Tunnel) URL() string { return "http://" + tn.listener.Addr().String() }

// AwaitStuck waits until one direction has let through all that it may.
func (tn *Tunnel) AwaitStuck(t testing.TB) {
	t.Helper()
	select {
	case <-tn.stuck:
	case <-time.After(waitLimit):
		t.Fatalf("the tunnel was not full after %s: %d and %d bytes are left", waitLimit, tn.left[0], tn.left[1])
	}
}

// Free breaks what is stuck, and lets everything through from now on.
func (tn *Tunnel) Free() { tn.freed.Do(func() { close(tn.free) }) }

func (tn *Tunnel) accept() {
	for {
		host, err := tn.listener.Accept()
		if err != nil {
			return
		}
		tn.connections.Go(func() { tn.connect(host) })
	}
}

// connect carries one connection to its end.
func (tn *Tunnel) connect(host net.Conn) {
	defer host.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var d net.Dialer
	gate, err := d.DialContext(ctx, "tcp", tn.gate.addr)
	if err != nil {
		return
	}
	defer gate.Close()
	ended := make(chan struct{}, 2)
	go func() { tn.carry(gate, host, 0); ended <- struct{}{} }()
	go func() { tn.carry(host, gate, 1); ended <- struct{}{} }()
	<-ended
	host.Close()
	gate.Close()
	<-ended
}

// carry copies one direction until it ends, or is stuck and then freed.
func (tn *Tunnel) carry(to io.Writer, from io.Reader, direction int) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || !tn.pass(direction, int64(n)) {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// pass reports whether n more bytes may go. Those that are too many wait until the
// tunnel is free, and are lost with their connection.
func (tn *Tunnel) pass(direction int, n int64) bool {
	select {
	case <-tn.free:
		return true
	default:
	}
	tn.mu.Lock()
	tn.left[direction] -= n
	room := tn.left[direction] >= 0
	tn.mu.Unlock()
	if !room {
		tn.once.Do(func() { close(tn.stuck) })
		<-tn.free
	}
	return room
}
