package simtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/handlers/link"
)

// item is the key of one inbound item.
type item struct {
	cursor int64
	item   int
}

// event is one that the host keeps until it is acknowledged.
type event struct {
	epoch string
	seq   int64
	frame string
	kind  string // type of the frame that the log must hold for it, "" for none
	text  string // what that frame holds
	acked bool
	lost  bool // with the host's disk

	anywhere bool // it may come later than the events behind it
}

// host is the machine that runs hermes. Its fields are guarded by the world's
// mutex.
type host struct {
	w     *world
	conns []*hostConn

	epoch    int
	process  int
	seq      int64
	spool    []*event // not acknowledged
	events   []*event // all that there ever were
	received int64    // everything up to here is on the disk

	delivered map[item]bool // by any epoch: what the host has ever got
	entry     map[int64]int // items of an entry that are on the disk
	run       *script       // the turn that runs
	ending    []*script     // those whose end is not yet acknowledged
	turns     int           // so far
}

func newHost(w *world) *host {
	return &host{w: w, delivered: map[item]bool{}, entry: map[int64]int{}}
}

func (h *host) epochID() string { return fmt.Sprintf("e%d", h.epoch) }

// connect dials an instance and lives on that connection until it ends.
func (h *host) connect(in *instance, latency time.Duration) {
	h.w.mu.Lock()
	if n := len(h.conns); n > 0 && time.Since(h.conns[n-1].dialed) < redial {
		h.w.mu.Unlock()
		return
	}
	c := &hostConn{h: h, in: in, n: len(h.conns), dialed: time.Now(), out: make(chan string, 4096), epoch: h.epoch, process: h.process}
	for _, old := range h.conns { // given up, though it may seem alive to its instance
		old.muted = true
	}
	h.conns = append(h.conns, c)
	h.w.notef("%s: dial %s", c, in.name)
	h.w.mu.Unlock()
	h.w.spawn(func() { c.live(latency) })
}

// current is the connection that events go to. Call with the mutex held.
func (h *host) current() *hostConn {
	for i := len(h.conns) - 1; i >= 0; i-- {
		if c := h.conns[i]; !c.ended && !c.muted && c.epoch == h.epoch && c.process == h.process {
			return c
		}
	}
	return nil
}

// emit spools an event and sends it if there is a connection. kind and text
// say which frame of the log holds it.
func (h *host) emit(name, turn string, body any, kind, text string) *event {
	h.seq++
	e := &event{epoch: h.epochID(), seq: h.seq, kind: kind, text: text, frame: encodeEvent(h.seq, name, turn, body)}
	h.spool = append(h.spool, e)
	h.events = append(h.events, e)
	if c := h.current(); c != nil && c.welcomed {
		c.put(e.frame)
	}
	return e
}

// show sends a live event, if there is a connection.
func (h *host) show(name, turn string, body any) {
	if c := h.current(); c != nil && c.welcomed {
		c.put(encodeEvent(0, name, turn, body))
	}
}

func encodeEvent(seq int64, kind, turn string, body any) string {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(link.Encode(link.TypeEvent, link.Event{
		Seq: seq, At: time.Now().UnixMilli(), Kind: kind, ChatID: "android:default", Turn: turn, Body: b,
	}))
}

// restart is a new process of hermes: what it was doing is gone, the disk is
// not. A wiped one has lost its disk too.
func (h *host) restart(wipe bool) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	h.process++
	h.run, h.ending = nil, nil
	for _, c := range h.conns {
		c.muted = true
		if c.wire != nil && !c.ended {
			c.wire.hangUp()
		}
	}
	if wipe {
		h.epoch++
		h.seq, h.received, h.entry = 0, 0, map[int64]int{}
		for _, e := range h.spool {
			e.lost = true
		}
		h.spool = nil
	}
}

// hostConn is one connection of the host.
type hostConn struct {
	h       *host
	in      *instance
	n       int
	epoch   int
	process int
	out     chan string
	wire    *wire
	dialed  time.Time

	// Guarded by the world's mutex.
	welcomed bool
	ended    bool
	muted    bool // given up, or half open
	silent   bool // half open: it will never see its end
	code     websocket.StatusCode
	last     item // newest inbound that came on this connection
}

// String names the connection in the trace.
func (c *hostConn) String() string { return fmt.Sprintf("host/%d", c.n) }

func (c *hostConn) cut() {
	if c.wire != nil && !c.ended {
		c.wire.breakUp()
	}
}

func (c *hostConn) live(latency time.Duration) {
	ws, err := dial(c.in, "/host", hostToken, latency, func(w *wire) {
		c.h.w.mu.Lock()
		defer c.h.w.mu.Unlock()
		c.wire = w
	})
	if err == nil {
		ctx, cancel := context.WithCancel(context.Background())
		c.h.w.spawn(func() { write(ctx, ws, c.out) })
		c.h.w.mu.Lock()
		c.put(c.hello())
		c.h.w.mu.Unlock()
		err = c.read(ws)
		cancel()
		_ = ws.CloseNow()
	}
	c.h.w.mu.Lock()
	defer c.h.w.mu.Unlock()
	c.ended, c.code = true, websocket.CloseStatus(err)
	c.h.w.notef("%s: ended: %v", c, err)
	switch c.code {
	case 4400: // an instance that was frozen may say that hello came too late
		if c.welcomed {
			c.h.w.failf("%s: closed with %d", c, c.code)
		}
	case 4401, 4408, 1009:
		c.h.w.failf("%s: closed with %d", c, c.code)
	}
}

func (c *hostConn) read(ws *websocket.Conn) error {
	for {
		_, data, err := ws.Read(context.Background())
		if err != nil {
			return err
		}
		c.h.w.mu.Lock()
		if c == c.h.current() { // a process that is gone reads nothing, and one that dials anew has given up the old connection
			c.frame(data)
		}
		c.h.w.mu.Unlock()
	}
}

func (c *hostConn) put(frame string) {
	select {
	case c.out <- frame:
	default:
	}
}

func (c *hostConn) hello() string {
	turns := []link.Turn{}
	for _, s := range c.h.ending {
		t := s.turn()
		t.Ended = s.end.seq
		turns = append(turns, t)
	}
	if c.h.run != nil {
		turns = append(turns, c.h.run.turn())
	}
	return string(link.Encode(link.TypeHello, link.Hello{
		Turns:    turns,
		Protocol: link.Protocol, Epoch: c.h.epochID(), Process: fmt.Sprintf("p%d", c.h.process),
		LastSeq: c.h.seq, Received: c.h.received, Plugin: "0.1.0", Commands: []link.Command{},
		Agent: link.Agent{Name: "hermes-agent", Version: "0.19.0", Model: "m", Streaming: true},
	}))
}

func (c *hostConn) frame(data []byte) {
	h := c.h
	h.w.notef("%s: got %s", c, data)
	var f struct {
		Type   string
		Acked  int64
		Seq    int64
		Cursor int64
		Item   int
		Items  int
	}
	if err := json.Unmarshal(data, &f); err != nil {
		h.w.failf("%s: %v in %s", c, err, data)
		return
	}
	switch f.Type {
	case link.TypeHelloAck:
		c.welcomed = true
		again := h.spool // every second time all that it had not been told of before
		h.forget(f.Acked)
		if c.n%2 == 0 {
			again = h.spool
		}
		for _, e := range again {
			c.put(e.frame)
		}
	case link.TypeAcked:
		h.forget(f.Seq)
	case link.TypeInbound:
		c.inbound(item{f.Cursor, f.Item}, f.Items)
	}
}

// forget takes an acknowledgement: those events are in the log.
func (h *host) forget(seq int64) {
	if seq > h.seq {
		h.w.failf("event %d was acknowledged, the newest is %d", seq, h.seq)
	}
	if mark := h.w.log.entries[h.w.log.head()-1].Host; mark.Epoch == h.epochID() && mark.Seq < seq {
		h.w.failf("event %d was acknowledged, the log says %d", seq, mark.Seq)
	}
	for len(h.spool) > 0 && h.spool[0].seq <= seq {
		e := h.spool[0]
		h.spool = h.spool[1:]
		e.acked = true
		h.ending = slices.DeleteFunc(h.ending, func(s *script) bool { return s.end == e })
		if e.anywhere {
			continue
		}
		if n, _ := h.w.log.count(e.kind, e.text); e.kind != "" && n != 1 {
			h.w.failf("event %s/%d was acknowledged, and its %s (%s) is %d times in the log", e.epoch, e.seq, e.kind, e.text, n)
		}
	}
}

// inbound takes an item onto the disk.
func (c *hostConn) inbound(it item, items int) {
	h := c.h
	if it.cursor < c.last.cursor || it.cursor == c.last.cursor && it.item <= c.last.item && c.last.cursor > 0 {
		h.w.failf("%s: inbound %v after %v", c, it, c.last)
	}
	c.last = it
	h.delivered[it] = true
	if it.cursor > h.received {
		h.missing(c, it)
		if it.item == h.entry[it.cursor] {
			h.entry[it.cursor]++
		}
		if h.entry[it.cursor] == items {
			h.received = it.cursor
		}
	}
	if it.item == items-1 {
		c.put(string(link.Encode(link.TypeReceived, link.Received{Cursor: it.cursor})))
	}
}

// missing checks that no inbound was left out in front of an item.
func (h *host) missing(c *hostConn, it item) {
	for cursor := h.received + 1; cursor < it.cursor; cursor++ {
		if n := len(h.w.log.entries[cursor-1].Inbound); n > h.entry[cursor] && !h.wiped(cursor) {
			h.w.failf("%s: inbound %v came, but of entry %d only %d of %d", c, it, cursor, h.entry[cursor], n)
		}
	}
}

// wiped reports whether an older disk of the host had everything up to cursor,
// and the log knew it.
func (h *host) wiped(cursor int64) bool {
	for i := range h.w.log.entries[cursor-1].Inbound {
		if !h.delivered[item{cursor, i}] {
			return false
		}
	}
	return h.epoch > 0
}
