package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"iris-gateway/handlers/wire"
)

// pipe is a connection whose reader takes a frame only when it is asked to.
type pipe struct {
	take   chan struct{} // one value lets one frame pass
	frames []string
	code   int
	reason string
}

func newPipe() *pipe { return &pipe{take: make(chan struct{}, 1<<16)} }

func (p *pipe) Write(ctx context.Context, frame []byte) error {
	select {
	case <-p.take:
		p.frames = append(p.frames, string(frame))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipe) WriteBinary(ctx context.Context, frame []byte) error { return p.Write(ctx, frame) }

func (p *pipe) Close(code int, reason string) { p.code, p.reason = code, reason }

// read lets n frames pass and returns all that have come since the last read.
func (p *pipe) read(n int) []string {
	for range n {
		p.take <- struct{}{}
	}
	synctest.Wait()
	got := p.frames
	p.frames = nil
	return got
}

func testSocket(t *testing.T, test func(t *testing.T, s *Socket, p *pipe, marks *[]int64)) {
	synctest.Test(t, func(t *testing.T) {
		p, marks := newPipe(), &[]int64{}
		ctx, cancel := context.WithCancel(t.Context())
		s := newSocket(ctx, p, NewMetrics(nil), func(m int64) { *marks = append(*marks, m) })
		test(t, s, p, marks)
		cancel()
		s.Wait()
	})
}

// Live frames of one subject are merged to the newest, which goes behind the
// terminal frames that were queued before it; terminal ones all come, in order.
func TestSocketMergesLiveFrames(t *testing.T) {
	testSocket(t, func(t *testing.T, s *Socket, p *pipe, marks *[]int64) {
		s.Send("first")
		synctest.Wait() // it is being written now
		s.SendLive("a1", "a")
		s.SendLive("b1", "b")
		s.SendLive("a2", "a")
		s.Send("terminal")
		s.Mark(7)
		s.SendLive("a3", "a")
		if len(*marks) != 0 {
			t.Errorf("marks %v before anything was written", *marks)
		}
		want := []string{"first", "b1", "terminal", "a3"}
		if got := p.read(10); !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
		if !slices.Equal(*marks, []int64{7}) {
			t.Errorf("marks %v, want 7", *marks)
		}
	})
}

// A queue that is full of terminal frames closes the connection with 1013;
// live ones are dropped instead.
func TestSocketTooSlow(t *testing.T) {
	testSocket(t, func(t *testing.T, s *Socket, p *pipe, _ *[]int64) {
		for i := range maxQueueFrames {
			s.Send(fmt.Sprint(i))
		}
		s.SendLive("dropped", "key")
		synctest.Wait()
		if s.Context().Err() != nil {
			t.Fatal("closed though nothing was lost")
		}
		s.Send("one too many")
		s.Send("nobody gets this")
		got := p.read(1)
		s.Wait()
		if p.code != wire.CloseSlow || len(p.reason) == 0 {
			t.Errorf("closed with %d %q, want 1013", p.code, p.reason)
		}
		if len(got) > 1 {
			t.Errorf("%d frames were sent after the end", len(got)-1)
		}
	})
	testSocket(t, func(t *testing.T, s *Socket, p *pipe, _ *[]int64) {
		for range 5 {
			s.Send(strings.Repeat("x", maxQueueBytes/4))
		}
		p.read(1)
		s.Wait()
		if p.code != wire.CloseSlow {
			t.Errorf("closed with %d after too many bytes, want 1013", p.code)
		}
	})
}

// A peer that takes nothing is cut after a while.
func TestSocketStalled(t *testing.T) {
	testSocket(t, func(t *testing.T, s *Socket, p *pipe, _ *[]int64) {
		s.Send("never read")
		time.Sleep(writeTimeout + time.Second)
		synctest.Wait()
		if s.Context().Err() == nil || p.code != wire.CloseSlow {
			t.Errorf("stalled socket: context %v, code %d; want an end with 1013", s.Context().Err(), p.code)
		}
	})
}

// A peer that takes nothing does not hold up the end of the socket: neither text
// nor bytes that were being written when it was closed.
func TestSocketClosedWhileStalled(t *testing.T) {
	for name, send := range map[string]func(s *Socket){
		"text":  func(s *Socket) { s.Send("never read") },
		"bytes": func(s *Socket) { go func() { _ = s.SendBinary(s.Context(), []byte("never read")) }() },
	} {
		testSocket(t, func(t *testing.T, s *Socket, _ *pipe, _ *[]int64) {
			send(s)
			synctest.Wait() // it is being written now
			s.Close(wire.CloseGoingAway, "")
			began := time.Now()
			s.Wait()
			if took := time.Since(began); took > closingTimeout {
				t.Errorf("%s: closed after %v, want %v at most", name, took, closingTimeout)
			}
		})
	}
}

// What was queued before Close still goes out.
func TestSocketCloseFlushes(t *testing.T) {
	testSocket(t, func(t *testing.T, s *Socket, p *pipe, _ *[]int64) {
		s.Send("error frame")
		s.Close(wire.CloseAuth, "why")
		s.Close(wire.CloseGoingAway, "the first call counts")
		if got := p.read(5); !slices.Equal(got, []string{"error frame"}) {
			t.Errorf("sent %v, want the error frame", got)
		}
		if p.code != wire.CloseAuth || p.reason != "why" {
			t.Errorf("closed with %d %q", p.code, p.reason)
		}
	})
}

// WaitIdle waits for the queue, and for nothing any more once the socket ends.
func TestSocketWaitIdle(t *testing.T) {
	testSocket(t, func(t *testing.T, s *Socket, p *pipe, _ *[]int64) {
		s.Send("a")
		done := make(chan error, 1)
		go func() { done <- s.WaitIdle(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("idle (%v) though a frame waits", err)
		default:
		}
		p.read(1)
		if err := <-done; err != nil {
			t.Errorf("WaitIdle: %v", err)
		}
		s.Send("b")
		go func() { done <- s.WaitIdle(t.Context()) }()
		s.Close(wire.CloseGoingAway, "")
		time.Sleep(2 * time.Second)
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("WaitIdle on a dead socket: %v", err)
		}
	})
}

// Bytes of a medium are written one chunk at a time: what comes meanwhile waits
// for one chunk at most, however slow the peer is.
func TestBinaryBetweenFrames(t *testing.T) {
	testSocket(t, func(t *testing.T, s *Socket, p *pipe, _ *[]int64) {
		sent := make(chan error)
		go func() {
			for _, chunk := range []string{"b0", "b1", "b2", "b3"} {
				if err := s.SendBinary(t.Context(), []byte(chunk)); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		synctest.Wait()
		s.Send("chat1")
		s.Send("chat2")
		if got := p.read(3); !slices.Equal(got, []string{"b0", "chat1", "chat2"}) {
			t.Errorf("got %v", got)
		}
		if got := p.read(1); !slices.Equal(got, []string{"b1"}) {
			t.Errorf("got %v", got)
		}
		s.Send("chat3")
		if got := p.read(2); !slices.Equal(got, []string{"b2", "chat3"}) {
			t.Errorf("got %v", got)
		}
		if got := p.read(1); !slices.Equal(got, []string{"b3"}) {
			t.Errorf("got %v", got)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	})
}

// A socket that ends sets whoever sends a medium free.
func TestBinaryEnds(t *testing.T) {
	testSocket(t, func(t *testing.T, s *Socket, p *pipe, _ *[]int64) {
		sent := make(chan error)
		go func() {
			for {
				if err := s.SendBinary(t.Context(), []byte("b")); err != nil {
					sent <- err
					return
				}
			}
		}()
		synctest.Wait()
		s.Close(wire.CloseGoingAway, "bye")
		if err := <-sent; err == nil {
			t.Error("no error")
		}
		s.Wait()
		if p.code == 0 {
			t.Error("not closed")
		}
	})
}
