package agent

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// spool holds, in order, the events that the gateway does not have yet:
// durable ones until they are acked, live ones until they are sent or stale.
// It also knows the turns that run, because a hello names them as they were
// after the last event.
type spool struct {
	epoch string
	wake  chan struct{} // holds a token when there may be something to send

	mu       sync.Mutex
	seq      int64    // of the newest durable event
	items    []*item  // sent ones first
	sent     int      // how many of items this connection was sent
	online   bool     // live events are worth keeping
	received int64    // all inbound up to here is safe
	told     int64    // received, as the gateway was told on this connection
	took     position // newest inbound item taken
	turns    []*turn  // whose end is not acked: until then the gateway may need them anew
}

// item is an event that waits.
type item struct {
	seq   int64  // 0 for a live one
	key   string // of live ones: a newer one with the same key replaces it
	frame []byte
}

// position is the place of an inbound item.
type position struct {
	cursor int64
	item   int
}

func newSpool() *spool {
	return &spool{epoch: iris.NewID("e_"), wake: make(chan struct{}, 1), took: position{item: -1}}
}

// add appends an event of a turn; update, if not nil, changes the turn at the
// same moment. A key makes the event a live one.
func (s *spool) add(t *turn, kind, key string, body any, update func()) {
	raw, err := json.Marshal(body)
	if err != nil { // plain structs of package link, and strings
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if update != nil {
		update()
	}
	ev := link.Event{
		At: time.Now().UnixMilli(), Kind: kind, Turn: t.id,
		ChatID: t.lane.ChatID, ThreadID: t.lane.ThreadID, Body: raw,
	}
	if key == "" {
		s.seq++
		ev.Seq = s.seq
	} else if !s.online {
		return // the next hello says what it would have said
	}
	frame := link.Encode(link.TypeEvent, ev)
	if key != "" && s.replace(key, frame) {
		return
	}
	s.items = append(s.items, &item{seq: ev.Seq, key: key, frame: frame})
	s.kick()
}

// replace puts a live event in the place of an older one that is still unsent.
func (s *spool) replace(key string, frame []byte) bool {
	for _, it := range s.items[s.sent:] {
		if it.key == key {
			it.frame = frame
			return true
		}
	}
	return false
}

func (s *spool) kick() {
	select {
	case s.wake <- struct{}{}:
	default: // the writer will look anyway
	}
}

// hello describes the spool and the running turns to the gateway.
func (s *spool) hello() link.Hello {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := link.Hello{Protocol: link.Protocol, Epoch: s.epoch, LastSeq: s.seq, Received: s.received, Turns: []link.Turn{}}
	for _, t := range s.turns {
		h.Turns = append(h.Turns, t.snapshot())
	}
	return h
}

// attach begins a connection: what the gateway has is dropped, live events
// are stale, everything else is sent again.
func (s *spool) attach(ack link.HelloAck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.online = true
	s.told = s.received
	s.forget(func(it *item) bool { return it.seq <= ack.Acked }) // live ones have seq 0
	s.forgetTurns(ack.Acked)
	s.sent = 0
	s.kick()
}

// detach ends a connection.
func (s *spool) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.online = false
	s.forget(func(it *item) bool { return it.seq == 0 })
}

// acked drops the events that the gateway has.
func (s *spool) acked(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(func(it *item) bool { return it.seq > 0 && it.seq <= seq })
	s.forgetTurns(seq)
}

// forgetTurns drops what the gateway needs no more of the turns. The caller
// holds mu.
func (s *spool) forgetTurns(seq int64) {
	ended := func(end int64) bool { return end > 0 && end <= seq }
	s.turns = slices.DeleteFunc(s.turns, func(t *turn) bool { return ended(t.endSeq) })
	for _, t := range s.turns {
		t.messages = slices.DeleteFunc(t.messages, func(m message) bool { return ended(m.endSeq) })
	}
}

// forget removes items. The caller holds mu.
func (s *spool) forget(gone func(*item) bool) {
	for _, it := range s.items[:s.sent] {
		if gone(it) {
			s.sent--
		}
	}
	s.items = slices.DeleteFunc(s.items, gone)
}

// next returns the next frame to send, nil for none.
func (s *spool) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told < s.received {
		s.told = s.received
		return link.Encode(link.TypeReceived, link.Received{Cursor: s.received})
	}
	if s.sent == len(s.items) {
		return nil
	}
	it := s.items[s.sent]
	if it.seq == 0 {
		s.items = slices.Delete(s.items, s.sent, s.sent+1)
	} else {
		s.sent++
	}
	return it.frame
}

// take reports whether an inbound item is new, and notes it. With the last
// item of an entry all of the entry is safe.
func (s *spool) take(p position, items int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.cursor < s.took.cursor || p.cursor == s.took.cursor && p.item <= s.took.item {
		return false
	}
	s.took = p
	if p.item == items-1 {
		s.received = p.cursor
		s.kick()
	}
	return true
}
