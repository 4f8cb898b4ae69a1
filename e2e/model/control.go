package model

import (
	"context"
	"sync"
	"time"
)

// Control is a test's hand on the answer to one message: no piece of text leaves
// before the test lets it.
type Control struct {
	marker  string
	arrived chan struct{} // closed by the first request
	once    sync.Once
	permits chan struct{} // one for each piece that may go
	open    chan struct{} // closed: all may go
	opened  sync.Once
	pace    time.Duration // each piece takes so long by itself
}

// Control takes the answers to messages that contain the marker into the test's
// hands. Only requests that come later are held.
func (s *Server) Control(marker string) *Control { return s.control(marker, 0) }

// Pace lets the answers to messages that contain the marker go by themselves, each
// piece a while after the one before.
func (s *Server) Pace(marker string, gap time.Duration) { s.control(marker, gap).Rest() }

func (s *Server) control(marker string, pace time.Duration) *Control {
	c := &Control{
		marker:  marker,
		arrived: make(chan struct{}),
		permits: make(chan struct{}, 1000),
		open:    make(chan struct{}),
		pace:    pace,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controls = append([]*Control{c}, s.controls...) // the newest wins
	return c
}

// Arrived is closed once hermes has asked for the answer.
func (c *Control) Arrived() <-chan struct{} { return c.arrived }

// Next lets one more piece go.
func (c *Control) Next() { c.permits <- struct{}{} }

// Rest lets everything go, now and later.
func (c *Control) Rest() { c.opened.Do(func() { close(c.open) }) }

func (c *Control) arrive() { c.once.Do(func() { close(c.arrived) }) }

// wait blocks until a piece may go; false when the answer was given up meanwhile.
// A nil control never holds anything.
func (c *Control) wait(ctx context.Context) bool {
	if c == nil {
		return ctx.Err() == nil
	}
	select {
	case <-c.permits:
	case <-c.open:
	case <-ctx.Done():
	}
	select {
	case <-time.After(c.pace):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
