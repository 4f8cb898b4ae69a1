package simtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// How a connection of a device behaves after hello.ack.
const (
	syncFromDone = iota // sync from its last sync.done.cursor
	syncFromAck         // sync without cursor
	syncNever
	syncLate  // after the two seconds in which live frames are held
	syncTwice // the second time from further back
	syncAbroad
	syncModes
)

// device is a phone. Its fields are guarded by the world's mutex.
type device struct {
	w     *world
	name  string
	conns []*deviceConn // all that were ever dialed

	received int64           // everything up to here was received; -1 before the first connection
	done     int64           // cursor of the last sync.done, -1 before the first
	stopped  map[string]bool // messages whose end was seen
	sends    []*sending
	requests int
}

// sending is a message of a person.
type sending struct {
	client   string
	text     string
	answered string // message_id
	dropped  bool   // refused for good
}

func newDevice(w *world, i int) *device {
	return &device{
		w: w, name: fmt.Sprintf("d%d", i), received: -1, done: -1,
		stopped: map[string]bool{},
	}
}

func (d *device) token() string { return secret + d.name }

// connect dials an instance and lives on that connection until it ends.
func (d *device) connect(in *instance, mode int, latency time.Duration) {
	c := &deviceConn{d: d, in: in, mode: mode, out: make(chan string, 1024), requests: map[string]*sending{}, dialed: time.Now()}
	d.w.mu.Lock()
	if d.received < 0 && d.dialing() { // a phone pairs once
		d.w.mu.Unlock()
		return
	}
	c.n, c.before = len(d.conns), d.w.log.head()
	d.conns = append(d.conns, c)
	c.stopped = maps.Clone(d.stopped)
	d.w.notef("%s: dial %s, mode %d", c, in.name, mode)
	d.w.mu.Unlock()
	d.w.spawn(func() { c.live(latency) })
}

// current is the newest connection that is open. Call with w.mu held.
func (d *device) current() *deviceConn {
	for i := len(d.conns) - 1; i >= 0; i-- {
		if c := d.conns[i]; c.welcomed && !c.ended && !c.muted {
			return c
		}
	}
	return nil
}

// send lets a person write something, now or once there is a connection.
func (d *device) send(text string) {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	s := &sending{client: fmt.Sprintf("c%d", len(d.sends)), text: text}
	d.sends = append(d.sends, s)
	if c := d.current(); c != nil {
		c.send(s)
	}
}

// deviceConn is one connection of a device.
type deviceConn struct {
	d       *device
	in      *instance
	n       int
	mode    int
	out     chan string
	wire    *wire
	dialed  time.Time
	greeted time.Time // hello.ack
	before  int64     // head of the log when it was dialed

	// Guarded by the world's mutex.
	welcomed bool
	ended    bool
	endedAt  time.Time
	stalled  time.Time // reads nothing before
	muted    bool      // half open: it will never see its end
	code     websocket.StatusCode
	status   string
	requests map[string]*sending // by request id
	stopped  map[string]bool     // messages whose end was seen, here or before
	check    checker
}

// String names the connection in the trace.
func (c *deviceConn) String() string { return fmt.Sprintf("%s/%d", c.d.name, c.n) }

// live is the connection from dial to end.
func (c *deviceConn) live(latency time.Duration) {
	ws, err := dial(c.in, "/ws", "", latency, func(w *wire) {
		c.d.w.mu.Lock()
		defer c.d.w.mu.Unlock()
		c.wire = w
	})
	if err == nil {
		ctx, cancel := context.WithCancel(context.Background())
		c.d.w.spawn(func() { write(ctx, ws, c.out) })
		c.put(`{"v":1,"type":"hello","id":"h","payload":{"token":%q,"device_id":%q,"device_name":%q}}`, c.d.token(), c.d.name, secret)
		err = c.read(ws)
		cancel()
		_ = ws.CloseNow()
	}
	c.d.w.mu.Lock()
	defer c.d.w.mu.Unlock()
	c.ended, c.endedAt, c.code = true, time.Now(), websocket.CloseStatus(err)
	c.d.w.notef("%s: ended: %v", c, err)
	c.check.end()
	c.d.lost(c)
	if now := c.d.current(); now != nil { // an older one is left: what went with this one goes that way
		now.sendAgain()
	}
}

// sendAgain repeats what has not been answered.
func (c *deviceConn) sendAgain() {
	for _, s := range c.d.sends {
		if s.answered == "" && !s.dropped {
			c.send(s)
		}
	}
}

// redial is how long after a dial the next one comes at the earliest. Within it
// the clocks of the instances do not say which connection is the newer one, but
// an instance that closed one itself must know.
const redial = 600 * time.Millisecond

// lost looks at how a connection ended. Call with the world's mutex held.
func (d *device) lost(c *deviceConn) {
	switch c.code {
	case 4400: // an instance that was frozen may say that hello came too late
		if c.welcomed {
			d.w.failf("%s: closed with %d", c, c.code)
		}
	case 4401, 4408, 4429, 1009:
		d.w.failf("%s: closed with %d", c, c.code)
	case 4409:
		for _, other := range d.conns {
			if other != c && (!other.ended || other.endedAt.After(c.dialed) || other.code < 1001 && c.dialed.Sub(other.dialed) < redial) {
				return
			}
		}
		d.w.failf("%s: superseded, but there was no other connection", c)
	}
}

func (c *deviceConn) read(ws *websocket.Conn) error {
	for {
		_, data, err := ws.Read(context.Background())
		if err != nil {
			return err
		}
		c.d.w.mu.Lock()
		c.frame(string(data))
		c.d.w.mu.Unlock()
	}
}

// put queues a frame for the gateway.
func (c *deviceConn) put(format string, args ...any) {
	select {
	case c.out <- fmt.Sprintf(format, args...):
	default: // the writer is gone
	}
}

// send sends or repeats a message.
func (c *deviceConn) send(s *sending) {
	c.d.requests++
	id := fmt.Sprintf("m%d", c.d.requests)
	c.requests[id] = s
	chat := `"chat_id":"android:default",`
	if c.d.requests%2 == 0 {
		chat = "" // the default one all the same
	}
	c.put(`{"v":1,"type":"message.send","id":%q,%s"payload":{"text":%q,"client_id":%q}}`, id, chat, s.text, s.client)
}

// sync asks for a replay, from a cursor or (negative) without one.
func (c *deviceConn) sync(cursor int64) {
	from, payload := cursor, fmt.Sprintf(`{"cursor":%d}`, cursor)
	if cursor < 0 {
		from, payload = c.check.acked, "{}"
	}
	c.check.asked = append(c.check.asked, from)
	c.put(`{"v":1,"type":"sync","id":"s","payload":%s}`, payload)
}

// frame takes a frame from the gateway. The world's mutex is held.
func (c *deviceConn) frame(raw string) {
	var f struct {
		Type    string
		ID      string
		Cursor  int64
		Payload json.RawMessage
	}
	if err := json.Unmarshal([]byte(raw), &f); err != nil {
		c.d.w.failf("%s: frame %q: %v", c, raw, err)
		return
	}
	c.d.w.notef("%s: got %s", c, raw)
	switch f.Type {
	case "hello.ack":
		var p struct {
			Cursor int64 `json:"sync_cursor"`
		}
		c.decode(f.Payload, &p)
		c.hello(p.Cursor)
	case "status":
		var p struct{ State string }
		c.decode(f.Payload, &p)
		c.status = p.State
	case "sync.done":
		var p struct {
			Cursor   int64
			Complete bool
		}
		c.decode(f.Payload, &p)
		c.check.syncDone(p.Cursor, p.Complete)
	case "error":
		c.refused(f.ID, raw)
	case "message.start", "message.update", "tool.progress", "typing", "typing.stop":
		var p struct {
			MessageID string `json:"message_id"`
		}
		c.decode(f.Payload, &p)
		if c.stopped[p.MessageID] {
			c.d.w.failf("%s: %s after the end of its message: %s", c, f.Type, raw)
		}
		c.check.started(f.Type, p.MessageID)
	default:
		c.answered(f.ID, f.Payload)
		c.check.terminal(f.Type, raw, f.Cursor, f.ID != "")
	}
}

func (c *deviceConn) decode(data []byte, into any) {
	if err := json.Unmarshal(data, into); err != nil {
		c.d.w.failf("%s: payload %s: %v", c, data, err)
	}
}

// hello takes hello.ack: what was not answered is sent again, and missing
// frames are asked for.
func (c *deviceConn) hello(cursor int64) {
	c.welcomed, c.greeted = true, time.Now()
	c.check.hello(c, cursor)
	c.sendAgain()
	switch c.mode {
	case syncFromDone:
		c.sync(c.d.done)
	case syncFromAck:
		c.sync(-1)
	case syncTwice:
		c.sync(c.d.done)
		c.sync(max(0, c.check.acked-5))
	case syncAbroad:
		c.sync(c.d.w.log.head() + 1000)
	case syncLate:
		c.d.w.spawn(func() {
			time.Sleep(3 * time.Second)
			c.d.w.mu.Lock()
			defer c.d.w.mu.Unlock()
			c.sync(c.d.done)
		})
	}
}

// answered takes the answer of a message: then it is in the log.
func (c *deviceConn) answered(id string, payload []byte) {
	s := c.requests[id]
	if s == nil {
		return
	}
	delete(c.requests, id)
	var p struct {
		MessageID string `json:"message_id"`
		Text      string
	}
	c.decode(payload, &p)
	if p.Text != s.text || s.answered != "" && s.answered != p.MessageID {
		c.d.w.failf("%s: message %q (%s) answered with %s", c, s.text, s.answered, payload)
	}
	s.answered = p.MessageID
	if n, _ := c.d.w.log.count("message", p.MessageID); n != 1 {
		c.d.w.failf("%s: message %s was answered, and is %d times in the log", c, p.MessageID, n)
	}
}

// refused takes an error. A message that was refused may be sent again, but
// for one that the database rejects.
func (c *deviceConn) refused(id, raw string) {
	s := c.requests[id]
	if s == nil {
		return
	}
	delete(c.requests, id)
	if s.dropped = s.text == poison; s.dropped {
		return
	}
	c.d.w.spawn(func() {
		time.Sleep(time.Second)
		c.d.w.mu.Lock()
		defer c.d.w.mu.Unlock()
		if now := c.d.current(); now != nil && s.answered == "" {
			now.send(s)
		}
	})
}

// dial opens a WebSocket to an instance.
func dial(in *instance, path, bearer string, latency time.Duration, opened func(*wire)) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	header := http.Header{}
	if bearer != "" {
		header.Set("Authorization", "Bearer "+bearer)
	}
	ws, _, err := websocket.Dial(ctx, "ws://sim"+path, &websocket.DialOptions{
		HTTPHeader: header, HTTPClient: &http.Client{Transport: transport{in, latency, opened}},
	})
	if err == nil {
		ws.SetReadLimit(16 << 20)
	}
	return ws, err
}

// write empties a queue into a connection.
func write(ctx context.Context, ws *websocket.Conn, out <-chan string) {
	for {
		select {
		case frame := <-out:
			if ws.Write(ctx, websocket.MessageText, []byte(frame)) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
