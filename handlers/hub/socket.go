package hub

import (
	"context"
	"errors"
	"sync"
	"time"

	"iris-gateway/handlers/wire"
)

// Conn is the connection behind a socket: a WebSocket, or a pipe in tests.
type Conn interface {
	// Write sends one text frame. It returns when the frame has been handed
	// to the connection, or an error after which the connection is dead.
	Write(ctx context.Context, frame []byte) error
	// WriteBinary sends one binary frame, like Write.
	WriteBinary(ctx context.Context, frame []byte) error
	// Close ends the connection with a code and a reason. It does not block
	// for more than a second.
	Close(code int, reason string)
}

// Bounds of what waits for a peer that reads slowly (protocol.md, "Close
// codes", 1013).
const (
	maxQueueFrames = 1024
	maxQueueBytes  = 4 << 20
	writeTimeout   = 20 * time.Second
	binaryTimeout  = time.Minute // they are large, and their peer may be slow
	closingTimeout = time.Second // each write once the socket is closed, that under way too
)

// errClosing says that nothing more goes over a socket.
var errClosing = errors.New("the socket is being closed")

// tooSlow is the reason of 1013.
const tooSlow = "too slow: connect again and sync"

// Socket is the sending half of a connection: a bounded queue and the
// goroutine that empties it. A slow peer never blocks a sender, but one of media.
type Socket struct {
	conn    Conn
	metrics *Metrics
	ctx     context.Context // ends when the socket is dead
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the goroutine has ended
	turn    chan struct{} // holds a token while somebody writes: the goroutine, or a sender of media

	mu      sync.Mutex
	queue   []*outgoing
	bytes   int                  // of what is in the queue and not dropped
	frames  int                  // the same, counted
	live    map[string]*outgoing // unsent live frames by key
	wake    chan struct{}        // has room for one
	room    chan struct{}        // closed and replaced when the queue has been emptied
	closing *closing
	cut     context.CancelFunc // ends the write that is under way
	written func(mark int64)   // told of each mark that was written
}

type outgoing struct {
	frame   string
	key     string // of a live frame
	mark    int64  // cursor that is complete once this has been written
	dropped bool   // a newer live frame took its place
}

type closing struct {
	code   int
	reason string
}

func newSocket(ctx context.Context, conn Conn, m *Metrics, written func(mark int64)) *Socket {
	ctx, cancel := context.WithCancel(ctx)
	s := &Socket{
		conn: conn, ctx: ctx, cancel: cancel, ended: make(chan struct{}), written: written, metrics: m,
		turn: make(chan struct{}, 1), live: map[string]*outgoing{}, wake: make(chan struct{}, 1), room: make(chan struct{}),
	}
	go s.run()
	return s
}

// Context ends when the socket has been closed, by either side.
func (s *Socket) Context() context.Context { return s.ctx }

// Wait returns when the socket's goroutine has ended.
func (s *Socket) Wait() { <-s.ended }

// Send queues a frame that must not be lost. A queue that is full of them
// closes the socket with 1013: sync brings what is missing.
func (s *Socket) Send(frame string) { s.put(&outgoing{frame: frame}) }

// SendBinary writes bytes of a medium once all that was queued before has been
// written: other frames go in between, and the peer is as slow as it likes. The
// caller writes them itself: a goroutine that has to wake for each chunk costs more
// than the gateway's whole work on it. It returns an error if ctx or the socket ends
// first.
func (s *Socket) SendBinary(ctx context.Context, data []byte) error {
	if err := s.WaitIdle(ctx); err != nil || len(data) == 0 {
		return err
	}
	if s.closes() {
		return errClosing
	}
	if err := s.write(binaryTimeout, true, data); err != nil {
		s.Close(wire.CloseSlow, tooSlow)
		return err
	}
	return nil
}

// Mark says that with the frames so far the peer has everything up to cursor.
func (s *Socket) Mark(cursor int64) { s.put(&outgoing{mark: cursor}) }

// SendLive queues a frame that may be dropped, or replaced by a newer one of
// the same key. A new frame goes behind everything that waits.
func (s *Socket) SendLive(frame, key string) { s.put(&outgoing{frame: frame, key: key}) }

func (s *Socket) put(o *outgoing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing != nil {
		return
	}
	if old := s.live[o.key]; o.key != "" && old != nil {
		s.drop(old)
		s.metrics.LiveMerged.Inc()
	}
	if s.frames >= maxQueueFrames || s.bytes+len(o.frame) > maxQueueBytes {
		if o.key == "" {
			s.queue = nil
			s.metrics.SlowConsumers.Inc()
			s.shut(wire.CloseSlow, tooSlow)
		} else {
			s.metrics.LiveDropped.Inc()
		}
		return
	}
	s.queue = append(s.queue, o)
	if len(o.frame) > 0 {
		s.frames++
		s.bytes += len(o.frame)
	}
	if o.key != "" {
		s.live[o.key] = o
	}
	s.signal()
}

// drop takes a live frame out of the queue.
func (s *Socket) drop(o *outgoing) {
	o.dropped = true
	s.frames--
	s.bytes -= len(o.frame)
	o.frame = ""
	delete(s.live, o.key)
}

// WaitIdle returns when everything queued has been written: flow control for
// replays. It returns an error if ctx or the socket ends first.
func (s *Socket) WaitIdle(ctx context.Context) error {
	for {
		s.mu.Lock()
		idle, room := s.frames == 0, s.room
		s.mu.Unlock()
		if idle {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// Close ends the socket after what is queued has been sent, with the code and
// a short reason. The first call counts.
func (s *Socket) Close(code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut(code, reason)
}

// closes reports whether the socket is closed, or will be: its peer may know, and
// have a newer connection.
func (s *Socket) closes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing != nil
}

func (s *Socket) shut(code int, reason string) {
	if s.closing == nil {
		s.closing = &closing{code, reason}
		if s.cut != nil {
			time.AfterFunc(closingTimeout, s.cut)
		}
		s.signal()
	}
}

func (s *Socket) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next takes what is to be sent now: nil when nothing waits, and then whether
// the socket is to be closed.
func (s *Socket) next() (*outgoing, *closing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		o := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		if o.dropped {
			continue
		}
		if s.live[o.key] == o {
			delete(s.live, o.key)
		}
		return o, s.closing
	}
	close(s.room)
	s.room = make(chan struct{})
	return nil, s.closing
}

// sent takes a frame that has been written off the books.
func (s *Socket) sent(o *outgoing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(o.frame) > 0 {
		s.frames--
		s.bytes -= len(o.frame)
	}
}

func (s *Socket) run() {
	defer close(s.ended)
	defer s.cancel()
	for {
		o, end := s.next()
		switch {
		case o != nil:
			if !s.send(o) {
				s.Close(wire.CloseSlow, "")
				s.end(wire.CloseSlow, tooSlow)
				return
			}
			s.sent(o)
		case end != nil:
			s.end(end.code, end.reason)
			return
		default:
			select {
			case <-s.wake:
			case <-s.ctx.Done():
				s.Close(wire.CloseGoingAway, "")
				s.end(wire.CloseGoingAway, "")
				return
			}
		}
	}
}

// end closes the connection behind the bytes that are being written.
func (s *Socket) end(code int, reason string) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.conn.Close(code, reason)
}

// send writes a frame; it reports whether the connection is still good.
func (s *Socket) send(o *outgoing) bool {
	if len(o.frame) > 0 && s.write(writeTimeout, false, []byte(o.frame)) != nil {
		return false
	}
	if o.mark != 0 && s.written != nil {
		s.written(o.mark)
	}
	return true
}

// write writes a frame when it is its turn: only then its time begins.
func (s *Socket) write(timeout time.Duration, binary bool, data []byte) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	ctx, cancel := s.writing(timeout)
	defer cancel()
	if binary {
		return s.conn.WriteBinary(ctx, data)
	}
	return s.conn.Write(ctx, data)
}

// writing returns the context of a write. A socket that is closed, now or in the
// middle of it, waits no longer than closingTimeout.
func (s *Socket) writing(timeout time.Duration) (context.Context, context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing != nil {
		timeout = closingTimeout
	}
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	s.cut = cancel
	return ctx, cancel
}
