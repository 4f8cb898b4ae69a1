package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// host is a simulated hermes with its plugin: a spool of events that it repeats
// until they are acked, inbound that it takes once, and an agent that answers.
type host struct {
	t         testing.TB
	token     string
	instances []*instance
	rng       *rand.Rand // of the connection
	agent     *rand.Rand
	restarts  bool // the host process dies too, and loses its disk

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced
	epoch    string
	process  string
	life     int // of the process: a turn of an earlier one is dead
	seq      int64
	items    []item // events that the gateway does not have, sent ones first
	sent     int    // of items, on this connection
	online   bool
	received int64 // all inbound up to here is safe
	told     int64 // received, as told on this connection
	took     place
	queue    []link.Message // messages whose turn has not begun
	turn     *link.Turn     // that runs, as a hello names it
	ended    []link.Turn    // whose end is not acked: the gateway may still need what a hello tells of them
	calls    int            // tool calls of all turns

	plans  []plan    // what was emitted, in order
	acks   []acked   // what was acknowledged
	inbox  []arrival // what came, in order, without repetitions
	deaths int
	links  int // that were accepted
	diary  []byte
}

// item is an event that waits: live ones have seq 0.
type item struct {
	seq   int64
	frame []byte
}

// place is where an inbound item stands in the log.
type place struct {
	cursor int64
	item   int
}

func (p place) before(o place) bool {
	return p.cursor < o.cursor || p.cursor == o.cursor && p.item < o.item
}

// acked is an acknowledgement: events of the epoch up to seq are safe.
type acked struct {
	epoch string
	seq   int64
}

// arrival is an inbound item as it came.
type arrival struct {
	epoch string
	place
	text string // as it stands in the log
}

func newHost(t testing.TB, token string, instances []*instance, rng, agent *rand.Rand, restarts bool) *host {
	return &host{
		t: t, token: token, instances: instances, rng: rng, agent: agent, restarts: restarts,
		changed: make(chan struct{}), epoch: iris.NewID("e_"), process: iris.NewID("p_"), took: place{item: -1},
	}
}

// remember writes down what happened, for those who look for the reason of a failure. The
// caller holds the mutex.
func (h *host) remember(format string, args ...any) {
	h.diary = fmt.Appendf(h.diary, "%s "+format+"\n", append([]any{time.Now().UTC().Format("15:04:05.000")}, args...)...)
}

// note wakes everybody who waits. The caller holds the mutex.
func (h *host) note() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// run keeps a connection until ctx ends. Until calm is closed it also breaks
// its connections.
func (h *host) run(ctx context.Context, calm <-chan struct{}) {
	for ctx.Err() == nil {
		h.connect(ctx, calm)
		wait(ctx.Done(), between(h.rng, 10*time.Millisecond, 100*time.Millisecond))
	}
}

// connect holds one connection to its end.
func (h *host) connect(ctx context.Context, calm <-chan struct{}) {
	s, err := dial(ctx, h.instances[h.rng.IntN(len(h.instances))], "/host", h.token)
	if err != nil {
		return
	}
	defer s.CloseNow()
	h.mu.Lock()
	hello, life, f := h.hello(), h.life, h.fate()
	h.remember("hello to %s, last_seq %d, turns %+v", s.in.name, hello.LastSeq, hello.Turns)
	h.mu.Unlock()
	if s.send(link.Encode(link.TypeHello, hello)) != nil || !h.welcomed(ctx, s, life, f.welcome) {
		return
	}
	defer h.offline()
	session, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	wg.Go(func() { h.write(session, s) })
	wg.Go(func() { h.breakLink(session, s, f, calm) })
	h.read(s, f.patience, calm)
}

// welcomed waits for hello.ack and begins to send.
func (h *host) welcomed(ctx context.Context, s *socket, life int, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, data, err := s.Read(ctx)
	if err != nil {
		return false
	}
	ack, err := link.Decode[link.HelloAck](data)
	if kind, _ := link.Type(data); err != nil || kind != link.TypeHelloAck {
		h.t.Logf("the host got %s instead of hello.ack", data)
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if life != h.life {
		return false
	}
	h.links++
	h.remember("attached to %s, acked %d", s.in.name, ack.Acked)
	h.online, h.told, h.sent = true, h.received, 0
	h.ack(ack.Acked)
	return true
}

func (h *host) offline() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.online = false
	h.remember("offline")
	h.forget(func(i item) bool { return i.seq == 0 })
}

// hello describes the host. The caller holds the mutex.
func (h *host) hello() link.Hello {
	hello := link.Hello{
		Protocol: link.Protocol, Epoch: h.epoch, Process: h.process, LastSeq: h.seq, Received: h.received,
		Agent: link.Agent{Name: "chaos", Version: "1", Model: "m", Streaming: true}, Plugin: "1",
		Commands: []link.Command{}, Turns: []link.Turn{},
	}
	hello.Turns = append(hello.Turns, h.ended...)
	if h.turn != nil {
		t := *h.turn
		t.Messages, t.Tools = slices.Clone(t.Messages), slices.Clone(t.Tools)
		hello.Turns = append(hello.Turns, t)
	}
	return hello
}

// fate is what becomes of a connection of the host, drawn when it begins.
type fate struct {
	welcome, patience time.Duration // how long it waits for hello.ack, and for anything later
	after             time.Duration // then it breaks
	dies, disk        bool          // the host's process with it, and its disk
	how               int
}

func (h *host) fate() fate {
	return fate{
		welcome:  between(h.rng, 500*time.Millisecond, 4*time.Second),
		patience: between(h.rng, 500*time.Millisecond, 4*time.Second),
		after:    between(h.rng, 200*time.Millisecond, 5*time.Second),
		dies:     h.restarts && h.rng.IntN(3) == 0,
		disk:     h.rng.IntN(4) == 0,
		how:      h.rng.IntN(3),
	}
}

// breakLink ends the connection some time: properly, by a cut, or half-open.
func (h *host) breakLink(ctx context.Context, s *socket, f fate, calm <-chan struct{}) {
	select {
	case <-ctx.Done():
		_ = s.CloseNow()
		return
	case <-calm:
		<-ctx.Done()
		_ = s.CloseNow()
		return
	case <-time.After(f.after):
	}
	if f.dies {
		h.die(f.disk)
	}
	switch f.how {
	case 0:
		s.vanish()
	case 1:
		_ = s.Close(websocket.StatusNormalClosure, "")
	default:
		_ = s.CloseNow()
	}
}

// write sends what waits until the session ends.
func (h *host) write(ctx context.Context, s *socket) {
	for {
		h.mu.Lock()
		frame, changed := h.next(), h.changed
		h.mu.Unlock()
		if frame == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return
			}
		}
		if s.send(frame) != nil {
			_ = s.CloseNow()
			return
		}
	}
}

// next returns the next frame to send, nil for none. The caller holds the mutex.
func (h *host) next() []byte {
	if h.told < h.received {
		h.told = h.received
		return link.Encode(link.TypeReceived, link.Received{Cursor: h.received})
	}
	if h.sent == len(h.items) {
		return nil
	}
	i := h.items[h.sent]
	if i.seq == 0 {
		h.items = slices.Delete(h.items, h.sent, h.sent+1)
	} else {
		h.sent++
	}
	return i.frame
}

// read takes frames until the connection ends. A host that hears nothing for
// the time of its patience goes elsewhere: the real one pings.
func (h *host) read(s *socket, patience time.Duration, calm <-chan struct{}) {
	last := place{item: -1}
	for {
		if closed(calm) {
			patience = settleTime
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, data, err := s.Read(ctx)
		cancel()
		if err != nil {
			return
		}
		switch kind, _ := link.Type(data); kind {
		case link.TypeAcked:
			a, err := link.Decode[link.Acked](data)
			if err != nil {
				h.t.Errorf("acked: %v", err)
			}
			h.mu.Lock()
			h.ack(a.Seq)
			h.mu.Unlock()
		case link.TypeInbound:
			last = h.take(data, last)
		}
	}
}

// ack forgets the events that the gateway has. The caller holds the mutex.
func (h *host) ack(seq int64) {
	if seq > h.seq {
		h.t.Errorf("event %d of epoch %s is acked, the newest is %d", seq, h.epoch, h.seq)
	}
	h.acks = append(h.acks, acked{h.epoch, seq})
	h.remember("acked %d", seq)
	h.forget(func(i item) bool { return i.seq > 0 && i.seq <= seq })
	h.ended = slices.DeleteFunc(h.ended, func(t link.Turn) bool { return t.Ended <= seq })
	h.note()
}

// forget removes items. The caller holds the mutex.
func (h *host) forget(gone func(item) bool) {
	for _, i := range h.items[:h.sent] {
		if gone(i) {
			h.sent--
		}
	}
	h.items = slices.DeleteFunc(h.items, gone)
}

// take keeps an inbound item, unless it came before. On one connection items
// come in order.
func (h *host) take(data []byte, last place) place {
	in, err := link.Decode[link.Inbound](data)
	if err != nil {
		h.t.Errorf("inbound: %v in %s", err, data)
		return last
	}
	at := place{in.Cursor, in.Item}
	if !last.before(at) {
		h.t.Errorf("inbound %v came after %v on one connection", at, last)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.took.before(at) {
		return at
	}
	h.took = at
	if in.Item == in.Items-1 {
		h.received = in.Cursor
	}
	h.inbox = append(h.inbox, arrival{h.epoch, at, itemText(h.t, data)})
	var m link.Message
	if err := json.Unmarshal(in.Body, &m); err != nil {
		h.t.Errorf("inbound: %v in %s", err, data)
	}
	h.queue = append(h.queue, m)
	h.note()
	return at
}

// itemText is an inbound item as the log keeps it.
func itemText(t testing.TB, data []byte) string {
	var i struct {
		Kind     string          `json:"kind"`
		ChatID   string          `json:"chat_id"`
		ThreadID string          `json:"thread_id,omitempty"`
		Body     json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(data, &i); err != nil {
		t.Errorf("inbound: %v", err)
	}
	return link.EncodeItem(link.Item{Kind: i.Kind, ChatID: i.ChatID, ThreadID: i.ThreadID, Body: i.Body})
}

// die ends the host's process: its turn is lost, what waits stays. Without its
// disk it forgets everything.
func (h *host) die(disk bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.life++
	h.deaths++
	h.process = iris.NewID("p_")
	h.turn, h.ended = nil, nil
	if disk {
		h.epoch, h.seq, h.items, h.sent = iris.NewID("e_"), 0, nil, 0
		h.received, h.told, h.took, h.queue = 0, 0, place{item: -1}, nil
	}
	h.note()
}

// idle reports whether nothing is left to do.
func (h *host) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.queue) == 0 && h.turn == nil && len(h.items) == 0 && h.told == h.received && h.online
}
