package simtest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// pipeRoom is how much of a direction waits in the network before a writer
// blocks.
const pipeRoom = 8 << 10

// wire is one connection in memory: two directions with a latency.
type wire struct {
	latency time.Duration
	frozen  func() time.Time // the instance does nothing before this time

	mu      sync.Mutex
	toHost  stream // towards the gateway
	toPeer  stream // towards device or host
	cut     bool
	silent  bool          // what is written vanishes, and nobody is told
	stalled time.Time     // the peer reads nothing before this time
	changed chan struct{} // closed and replaced when anything has changed
}

// stream is what is under way in one direction.
type stream struct {
	chunks []chunk
	size   int
	ended  bool // the writer has closed its end
}

type chunk struct {
	data []byte
	at   time.Time // when it arrives
}

func newWire(latency time.Duration, frozen func() time.Time) *wire {
	return &wire{latency: latency, frozen: frozen, changed: make(chan struct{})}
}

// end is one end of a wire.
type end struct {
	w       *wire
	gateway bool
}

func (e end) in() *stream {
	if e.gateway {
		return &e.w.toHost
	}
	return &e.w.toPeer
}

func (e end) out() *stream { return end{e.w, !e.gateway}.in() }

func (w *wire) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// breakUp cuts the wire: what is under way is lost, both ends see an error.
func (w *wire) breakUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut, w.toHost.chunks, w.toPeer.chunks = true, nil, nil
	w.tell()
}

// hangUp ends the peer's end: the gateway still gets what is under way.
func (w *wire) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.toHost.ended, w.toPeer.ended, w.toPeer.chunks = true, true, nil
	w.tell()
}

// mute makes the wire swallow everything from now on: half open.
func (w *wire) mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent, w.toHost.chunks, w.toPeer.chunks = true, nil, nil
}

// stall makes the peer read nothing before a time.
func (w *wire) stall(until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled = until
}

// Read implements net.Conn.
func (e end) Read(p []byte) (int, error) {
	for {
		e.w.mu.Lock()
		n, wait, err := e.tryRead(p)
		changed := e.w.changed
		e.w.mu.Unlock()
		if n > 0 || err != nil {
			return n, err
		}
		if wait <= 0 {
			<-changed
			continue
		}
		t := time.NewTimer(wait)
		select {
		case <-changed:
		case <-t.C:
		}
		t.Stop()
	}
}

// tryRead reads what has arrived, or says how long to wait for what is under
// way, 0 for a change.
func (e end) tryRead(p []byte) (n int, wait time.Duration, err error) {
	s := e.in()
	switch {
	case e.w.cut:
		return 0, 0, io.EOF
	case len(s.chunks) == 0 && s.ended:
		return 0, 0, io.EOF
	case len(s.chunks) == 0:
		return 0, 0, nil
	}
	at := s.chunks[0].at
	if f := e.w.frozen(); f.After(at) {
		at = f
	}
	if !e.gateway && e.w.stalled.After(at) {
		at = e.w.stalled
	}
	if wait = time.Until(at); wait > 0 {
		return 0, wait, nil
	}
	n = copy(p, s.chunks[0].data)
	s.chunks[0].data = s.chunks[0].data[n:]
	if len(s.chunks[0].data) == 0 {
		s.chunks = s.chunks[1:]
	}
	s.size -= n
	e.w.tell()
	return n, 0, nil
}

// Write implements net.Conn.
func (e end) Write(p []byte) (int, error) {
	for {
		e.w.mu.Lock()
		s, changed := e.out(), e.w.changed
		switch {
		case e.w.cut || s.ended:
			e.w.mu.Unlock()
			return 0, io.ErrClosedPipe
		case e.w.silent:
			e.w.mu.Unlock()
			return len(p), nil
		case s.size < pipeRoom:
			s.chunks = append(s.chunks, chunk{bytes.Clone(p), time.Now().Add(e.w.latency)})
			s.size += len(p)
			e.w.tell()
			e.w.mu.Unlock()
			return len(p), nil
		}
		e.w.mu.Unlock()
		<-changed
	}
}

// Close implements net.Conn: the other end reads what is under way, then EOF.
func (e end) Close() error {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.out().ended = true
	e.in().ended, e.in().chunks = true, nil
	e.w.tell()
	return nil
}

type address struct{}

func (address) Network() string { return "sim" }
func (address) String() string  { return "sim" }

// The rest of net.Conn, which the WebSocket library does not depend on.

func (end) LocalAddr() net.Addr              { return address{} }
func (end) RemoteAddr() net.Addr             { return address{} }
func (end) SetDeadline(time.Time) error      { return nil }
func (end) SetReadDeadline(time.Time) error  { return nil }
func (end) SetWriteDeadline(time.Time) error { return nil }

var errUnreachable = errors.New("instance is not reachable")

// transport hands requests to an instance's real handlers, without a listener.
type transport struct {
	in      *instance
	latency time.Duration
	opened  func(*wire)
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := newWire(t.latency, t.in.frozen)
	if !t.in.enter(w) {
		return nil, errUnreachable
	}
	t.opened(w)
	answered := make(chan *httptest.ResponseRecorder, 1)
	rw := &upgrade{ResponseRecorder: httptest.NewRecorder(), conn: end{w, true}, answered: answered}
	go func() {
		defer t.in.leave(w)
		t.in.server.ServeHTTP(rw, r)
		rw.once.Do(func() { answered <- rw.ResponseRecorder })
	}()
	res := (<-answered).Result()
	if res.StatusCode == http.StatusSwitchingProtocols {
		res.Body = end{w, false}
	}
	return res, nil
}

// upgrade is a ResponseWriter whose connection can be taken over.
type upgrade struct {
	*httptest.ResponseRecorder
	conn     net.Conn
	once     sync.Once
	answered chan *httptest.ResponseRecorder
}

// Hijack implements http.Hijacker.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	u.once.Do(func() { u.answered <- u.ResponseRecorder })
	return u.conn, bufio.NewReadWriter(bufio.NewReader(u.conn), bufio.NewWriter(u.conn)), nil
}
