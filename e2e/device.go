package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/testenv"
)

// waitLimit is how long a test waits for a frame before it fails. The longest
// honest wait is hermes' first turn: ten seconds on an idle machine, forty on one that
// does ten other things.
const waitLimit = 120 * time.Second

// Device is a phone. It keeps every frame that it ever got, in order, over all
// its connections.
type Device struct {
	Name  string // also its device_id
	gate  *Gateway
	token string

	mu      sync.Mutex
	frames  []Frame
	changed chan struct{} // closed and replaced when frames or err change
	err     error         // why the current connection ended; nil while it lives
	conn    *websocket.Conn
	nextID  int
}

// NewDevice is a phone with a token, not yet connected.
func NewDevice(g *Gateway, name, token string) *Device {
	return &Device{Name: name, gate: g, token: token, changed: make(chan struct{}), nextID: 1}
}

// Phone pairs a new phone and connects it.
func Phone(t testing.TB, g *Gateway, h Host, name string) *Device {
	t.Helper()
	d := NewDevice(g, name, g.Pair(t, h, name))
	d.Connect(t)
	return d
}

// Dial opens the socket without a word. Whatever it was connected to before is cut.
func (d *Device) Dial(t testing.TB) {
	t.Helper()
	d.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://"+d.gate.addr+"/ws", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatalf("%s: dial: %v", d.Name, err)
	}
	conn.SetReadLimit(16 << 20)
	d.mu.Lock()
	d.conn, d.err = conn, nil
	d.mu.Unlock()
	done := make(chan struct{})
	go func() { defer close(done); d.read(conn) }()
	t.Cleanup(func() { conn.CloseNow(); <-done })
}

// read takes frames until the connection ends.
func (d *Device) read(conn *websocket.Conn) {
	for {
		kind, b, err := conn.Read(context.Background())
		var f Frame
		switch {
		case err != nil:
		case kind == websocket.MessageText:
			testenv.ConfideFrame(b)
			f, err = parseFrame(b)
		default:
			f = Frame{Type: Binary, Bytes: b}
		}
		d.mu.Lock()
		if d.conn != conn { // a newer connection has taken over
			d.mu.Unlock()
			return
		}
		if err != nil {
			d.err = err
		} else {
			d.frames = append(d.frames, f)
		}
		close(d.changed)
		d.changed = make(chan struct{})
		d.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Cut drops the connection, as a phone in a tunnel does.
func (d *Device) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		d.conn.CloseNow()
		d.conn = nil
	}
}

// Connect opens the socket, says hello and syncs from where the gateway thinks it is.
func (d *Device) Connect(t testing.TB) {
	t.Helper()
	d.Dial(t)
	d.Hello(t)
	d.Request(t, "sync", "", map[string]any{})
}

// Hello says hello and returns hello.ack; the status frame that follows is awaited too.
func (d *Device) Hello(t testing.TB) Frame {
	t.Helper()
	mark := d.Mark()
	d.Write(t, d.HelloFrame())
	ack := d.Await(t, mark, "hello.ack", Is("hello.ack"))
	d.Await(t, mark, "status after hello.ack", Is("status"))
	return ack
}

// HelloFrame is the hello this phone says.
func (d *Device) HelloFrame() string {
	return fmt.Sprintf(`{"v":1,"type":"hello","payload":{"token":%q,"device_id":%q,"device_name":%q,"caps":{"min_protocol":1}}}`,
		d.token, d.Name, d.Name)
}

// Write sends a text frame as it is.
func (d *Device) Write(t testing.TB, text string) {
	t.Helper()
	if err := d.TryWrite(t, text); err != nil {
		t.Fatalf("%s: write %.80s: %v", d.Name, text, err)
	}
}

// TryWrite is Write for a connection that may be closed by the other side meanwhile.
func (d *Device) TryWrite(t testing.TB, text string) error {
	testenv.ConfideFrame([]byte(text))
	d.mu.Lock()
	conn := d.conn
	d.mu.Unlock()
	if conn == nil {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, []byte(text))
}

// Request sends a request with an id and returns its answer, also when that is an error.
func (d *Device) Request(t testing.TB, kind, chat string, payload any) Frame {
	t.Helper()
	return d.RequestIn(t, kind, chat, "", payload)
}

// RequestIn is Request in a thread.
func (d *Device) RequestIn(t testing.TB, kind, chat, thread string, payload any) Frame {
	t.Helper()
	id, mark := d.nextID, d.Mark()
	d.nextID++
	f := map[string]any{"v": 1, "id": id, "type": kind, "payload": payload}
	if chat != "" {
		f["chat_id"] = chat
	}
	if thread != "" {
		f["thread_id"] = thread
	}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	d.Write(t, string(b))
	want := fmt.Sprint(id)
	return d.Await(t, mark, fmt.Sprintf("the answer to %s", b), func(f Frame) bool { return string(f.ID) == want })
}

// Send sends a message to the default channel and returns the gateway's echo.
func (d *Device) Send(t testing.TB, text, clientID string) Frame {
	t.Helper()
	echo := d.Request(t, "message.send", DefaultChat, map[string]any{"text": text, "client_id": clientID})
	if echo.Type != "message" || echo.Body.Role != "user" || echo.Body.Text != text || echo.Body.MessageID == "" {
		t.Fatalf("%s: message.send %q was answered by %s", d.Name, text, echo)
	}
	return echo
}

// DefaultChat is the channel that every gateway has from the start.
const DefaultChat = "android:default"

// Is accepts frames of a type.
func Is(kind string) func(Frame) bool { return func(f Frame) bool { return f.Type == kind } }

// Mark is the position behind all frames so far.
func (d *Device) Mark() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.frames)
}

// Frames are the frames from a mark on.
func (d *Device) Frames(mark int) []Frame {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Frame(nil), d.frames[mark:]...)
}

// Await waits for the first frame after the mark that match accepts.
func (d *Device) Await(t testing.TB, mark int, what string, match func(Frame) bool) Frame {
	t.Helper()
	f, _ := d.AwaitNext(t, mark, what, match)
	return f
}

// AwaitNext is Await that also returns the mark behind the frame.
func (d *Device) AwaitNext(t testing.TB, mark int, what string, match func(Frame) bool) (Frame, int) {
	t.Helper()
	f, next, err := d.await(mark, match)
	if err != nil {
		t.Fatalf("%s awaited %s, but %v; it got:\n%s\nand the log has:\n%s", d.Name, what, err, list(d.Frames(mark)), d.readLog(t))
	}
	return f, next
}

// readLog is what a sync from the start brings, for a person who looks for what
// did not come: was it never made, or not delivered?
func (d *Device) readLog(t testing.TB) string {
	if !d.gate.Running() {
		return "  (the gateway does not run)"
	}
	d.Dial(t)
	mark := d.Mark()
	_ = d.TryWrite(t, d.HelloFrame())
	if _, _, err := d.await(mark, Is("hello.ack")); err != nil {
		return "  " + err.Error()
	}
	mark = d.Mark()
	_ = d.TryWrite(t, `{"v":1,"type":"sync","id":"log","payload":{"cursor":0}}`)
	_, _, err := d.await(mark, func(f Frame) bool { return string(f.ID) == `"log"` })
	if err != nil {
		return "  " + err.Error()
	}
	return list(d.Frames(mark))
}

func (d *Device) await(mark int, match func(Frame) bool) (Frame, int, error) {
	deadline := time.After(waitLimit)
	for {
		d.mu.Lock()
		fresh, changed, err := d.frames[mark:], d.changed, d.err
		d.mu.Unlock()
		for i, f := range fresh {
			if match(f) {
				return f, mark + i + 1, nil
			}
		}
		mark += len(fresh)
		if err != nil {
			return Frame{}, mark, fmt.Errorf("the connection ended: %w", err)
		}
		select {
		case <-changed:
		case <-deadline:
			return Frame{}, mark, fmt.Errorf("it did not come within %s", waitLimit)
		}
	}
}

// AwaitClose waits until the gateway has closed the connection and returns the
// close code, -1 when the connection ended without one, and the error that says it.
func (d *Device) AwaitClose(t testing.TB, mark int) (websocket.StatusCode, error) {
	t.Helper()
	_, _, err := d.await(mark, func(Frame) bool { return false })
	d.mu.Lock()
	ended := d.err
	d.mu.Unlock()
	if ended == nil {
		t.Fatalf("%s awaited the end of its connection, but %v; it got:\n%s", d.Name, err, list(d.Frames(mark)))
	}
	return websocket.CloseStatus(ended), ended
}

func list(frames []Frame) string {
	if len(frames) == 0 {
		return "  nothing"
	}
	lines := make([]string, len(frames))
	for i, f := range frames {
		lines[i] = "  " + f.String()
	}
	return strings.Join(lines, "\n")
}
