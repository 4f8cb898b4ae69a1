package chaos

import (
	"net"
	"sync"
	"time"
)

// direction of bytes in a tunnel: up goes from the one who dialled.
type direction int

const (
	up direction = iota
	down
)

// fault is what happens to bytes that go in one direction of a tunnel.
type fault int

const (
	pass    fault = iota
	hold          // they wait; nothing is lost, and the sender feels the pressure
	swallow       // they vanish, and so does the end of the connection: half-open. For good
)

// proxy is a TCP proxy that can be told to fail.
type proxy struct {
	ln net.Listener
	wg sync.WaitGroup

	mu      sync.Mutex
	target  string // "" refuses
	tunnels map[*tunnel]struct{}
	fresh   [2]fault      // of new tunnels
	delay   time.Duration // of each piece, in each direction
	closed  bool
}

// tunnel is a connection through a proxy.
type tunnel struct {
	proxy *proxy
	ends  [2]net.Conn // the one who dialled, the target
	dead  chan struct{}
	once  sync.Once

	mu      sync.Mutex
	faults  [2]fault
	since   time.Time // when it began to swallow
	changed chan struct{}
}

func startProxy(target string) (*proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{ln: ln, target: target, tunnels: map[*tunnel]struct{}{}}
	p.wg.Go(p.accept)
	return p, nil
}

func (p *proxy) addr() string { return p.ln.Addr().String() }

// aim says where new tunnels go, "" for nowhere.
func (p *proxy) aim(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// close ends the proxy and all tunnels.
func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.ln.Close()
	p.cut(func(*tunnel) bool { return true })
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.open(c) })
	}
}

func (p *proxy) open(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", target, time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	t := &tunnel{proxy: p, ends: [2]net.Conn{client, server}, dead: make(chan struct{}), changed: make(chan struct{})}
	p.mu.Lock()
	t.faults = p.fresh
	t.since = time.Now()
	p.tunnels[t] = struct{}{}
	closed := p.closed
	p.mu.Unlock()
	if closed {
		t.cut()
	}
	p.wg.Go(func() { t.pump(up) })
	t.pump(down)
}

func (t *tunnel) pump(dir direction) {
	src, dst := t.ends[dir], t.ends[1-dir]
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 && !t.pass(dir, dst, buf[:n]) || err != nil {
			break
		}
	}
	if !t.swallows() { // else the other side does not learn of the end
		t.cut()
	}
}

// pass does with a piece what the fault demands. It reports whether the tunnel
// is still good.
func (t *tunnel) pass(dir direction, dst net.Conn, b []byte) bool {
	if d := t.proxy.pieceDelay(); d > 0 && !wait(t.dead, d) {
		return false
	}
	for {
		t.mu.Lock()
		f, changed := t.faults[dir], t.changed
		t.mu.Unlock()
		switch f {
		case swallow:
			return true
		case hold:
			select {
			case <-changed:
			case <-t.dead:
				return false
			}
		default:
			_, err := dst.Write(b)
			return err == nil
		}
	}
}

func (p *proxy) pieceDelay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

// set changes the fault of a direction. What has been swallowed cannot be
// brought back, so a tunnel that swallows never passes again.
func (t *tunnel) set(dir direction, f fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.faults[dir] == swallow {
		return
	}
	if f == swallow {
		t.since = time.Now()
	}
	t.faults[dir] = f
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *tunnel) swallows() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.faults[up] == swallow || t.faults[down] == swallow
}

// cut ends the tunnel: both ends see it.
func (t *tunnel) cut() {
	t.once.Do(func() {
		close(t.dead)
		for _, c := range t.ends {
			_ = c.Close()
		}
		t.proxy.mu.Lock()
		delete(t.proxy.tunnels, t)
		t.proxy.mu.Unlock()
	})
}

func (p *proxy) some(which func(*tunnel) bool) []*tunnel {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*tunnel
	for t := range p.tunnels {
		if which(t) {
			found = append(found, t)
		}
	}
	return found
}

// cut ends the tunnels that which names.
func (p *proxy) cut(which func(*tunnel) bool) {
	for _, t := range p.some(which) {
		t.cut()
	}
}

// fail gives a direction of all tunnels, and of new ones, a fault.
func (p *proxy) fail(dir direction, f fault) {
	p.mu.Lock()
	p.fresh[dir] = f
	p.mu.Unlock()
	for _, t := range p.some(func(*tunnel) bool { return true }) {
		t.set(dir, f)
	}
}

// slow delays every piece from now on.
func (p *proxy) slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// heal ends all faults. Tunnels that swallowed are beyond help: they are cut.
func (p *proxy) heal() {
	p.fail(up, pass)
	p.fail(down, pass)
	p.slow(0)
	p.cut((*tunnel).swallows)
}

// vanish makes the tunnel of a client half-open: the client may close it, the
// target does not learn of it until reap.
func (p *proxy) vanish(client net.Addr) {
	for _, t := range p.some(func(t *tunnel) bool { return t.ends[up].RemoteAddr().String() == client.String() }) {
		t.set(up, swallow)
		t.set(down, swallow)
	}
}

// reap cuts the tunnels that have swallowed for a time.
func (p *proxy) reap(age time.Duration) {
	p.cut(func(t *tunnel) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return (t.faults[up] == swallow || t.faults[down] == swallow) && time.Since(t.since) > age
	})
}

// wait reports whether d passed before stop was closed.
func wait(stop <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
		return false
	}
}
