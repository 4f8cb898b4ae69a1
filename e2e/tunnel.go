package e2e

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Tunnel is the network between a host and its gateway. Armed, it lets so many
// bytes through and then none until Free: what is in the middle of something stays
// there.
type Tunnel struct {
	listener    net.Listener
	gate        *Gateway
	connections sync.WaitGroup

	mu  sync.Mutex
	jam *jam // nil: everything goes through
}

// jam is where a tunnel gets stuck.
type jam struct {
	left  [2]int64 // bytes to the gateway, from the gateway
	stuck chan struct{}
	once  sync.Once
	free  chan struct{}
}

// NewTunnel returns a tunnel to the gateway, which may be started again meanwhile.
// It ends with the test.
func NewTunnel(t testing.TB, gate *Gateway) *Tunnel {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tn := &Tunnel{listener: l, gate: gate}
	tn.connections.Go(tn.accept)
	t.Cleanup(func() {
		tn.Free()
		_ = l.Close()
		tn.connections.Wait()
	})
	return tn
}

// Arm lets only so many bytes through from now on.
func (tn *Tunnel) Arm(toGateway, fromGateway int64) {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	tn.jam = &jam{left: [2]int64{toGateway, fromGateway}, stuck: make(chan struct{}), free: make(chan struct{})}
}

// AwaitStuck waits until one direction has let through all that it may.
func (tn *Tunnel) AwaitStuck(t testing.TB) {
	t.Helper()
	tn.mu.Lock()
	j := tn.jam
	tn.mu.Unlock()
	select {
	case <-j.stuck:
	case <-time.After(waitLimit):
		t.Fatalf("the tunnel was not full after %s: %d and %d bytes are left", waitLimit, j.left[0], j.left[1])
	}
}

// Free breaks what is stuck, and lets everything through from now on.
func (tn *Tunnel) Free() {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	if tn.jam != nil {
		close(tn.jam.free)
		tn.jam = nil
	}
}

// URL is where a host dials the gateway through the tunnel.
func (tn *Tunnel) URL() string { return "http://" + tn.listener.Addr().String() }

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
	tn.mu.Lock()
	j := tn.jam
	room := true
	if j != nil {
		j.left[direction] -= n
		room = j.left[direction] >= 0
	}
	tn.mu.Unlock()
	if !room {
		j.once.Do(func() { close(j.stuck) })
		<-j.free
	}
	return room
}
