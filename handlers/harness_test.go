package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/handlers/hub"
	"iris-gateway/iris"
	"iris-gateway/testenv"
)

const (
	adminToken = "an-admin-token-that-is-long-enough-for-tests"
	patience   = time.Minute // after which a test gives up waiting: a machine may be busy with much else
	lane       = iris.DefaultChat
)

// instance is a gateway process: its own hub and sockets over a store that it
// may share with others.
type instance struct {
	t      testing.TB
	server *handlers.Server
	url    string
	stop   func()
	kill   func()
}

func start(t testing.TB, store *memstore.Store) *instance {
	t.Helper()
	return startWith(t, store)
}

// store is what an instance needs.
type store interface {
	handlers.Store
	hub.Store
}

// slowStore takes its time for each commit, as a real one does.
type slowStore struct {
	*memstore.Store
	delay time.Duration
}

func (s slowStore) Append(ctx context.Context, g string, c iris.Commit) error {
	time.Sleep(s.delay)
	return s.Store.Append(ctx, g, c)
}

func startWith(t testing.TB, store store, options ...func(*handlers.Config)) *instance {
	t.Helper()
	var to io.Writer = testenv.Log(t, testenv.Gateways, "handlers")
	if testing.Verbose() {
		to = io.MultiWriter(to, t.Output())
	}
	log := slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := hub.New(hub.Config{Store: store, LogEntries: 64, Log: log})
	cfg := handlers.Config{Store: store, Hub: h, AdminToken: adminToken, MaxSockets: 2000, Log: log}
	if m, ok := store.(handlers.MediaStore); ok {
		cfg.Media, cfg.MediaMaxBytes = m, 64<<20
	}
	for _, option := range options {
		option(&cfg)
	}
	s := handlers.New(cfg)
	web := httptest.NewServer(testenv.Confiding(s))
	in := &instance{t: t, server: s, url: web.URL}
	stopped := false
	in.kill = func() { // nothing that it has begun comes to an end
		stopped = true
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Drain(ctx)
		web.Close()
	}
	in.stop = func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Drain(ctx); err != nil {
			t.Errorf("drain: %v", err)
		}
		web.Close()
	}
	t.Cleanup(in.stop)
	return in
}

// admin makes an admin call and decodes the answer into out.
func (in *instance) admin(method, path, body string, status int, out any) {
	in.t.Helper()
	req, err := http.NewRequestWithContext(in.t.Context(), method, in.url+path, strings.NewReader(body))
	if err != nil {
		in.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	in.answer(req, status, out)
}

// answer makes a call and decodes the answer into out.
func (in *instance) answer(req *http.Request, status int, out any) {
	in.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		in.t.Fatal(err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	if res.StatusCode != status {
		in.t.Fatalf("%s %s: status %d %s, want %d", req.Method, req.URL.Path, res.StatusCode, data, status)
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			in.t.Fatalf("%s %s: %v in %s", req.Method, req.URL.Path, err, data)
		}
	}
}

// gateway makes a gateway and returns its id and host token.
func (in *instance) gateway() (id, hostToken string) {
	var made struct {
		GatewayID string `json:"gateway_id"`
		HostToken string `json:"host_token"`
	}
	in.admin("POST", "/admin/gateways", `{"name":"home"}`, http.StatusCreated, &made)
	return made.GatewayID, made.HostToken
}

// attached makes a gateway, and connects its host to the first instance and a phone
// to the second one, which may be the same.
func attached(first, second *instance) (g, hostToken string, phone, host *peer) {
	first.t.Helper()
	g, hostToken = first.gateway()
	phone = second.device(first.pair(g), "d1")
	phone.next("status")
	host, _ = first.host(hostToken, "e1", 0, 0, "")
	return g, hostToken, phone, host
}

// pair returns a fresh device token.
func (in *instance) pair(gateway string) string {
	var made struct{ Token string }
	in.admin("POST", "/admin/gateways/"+gateway+"/devices", `{"name":"phone"}`, http.StatusCreated, &made)
	return made.Token
}

// frame is any JSON frame.
type frame map[string]any

func (f frame) payload() map[string]any { p, _ := f["payload"].(map[string]any); return p }
func (f frame) is(kind string) bool     { return f["type"] == kind }
func (f frame) text(key string) string  { s, _ := f.payload()[key].(string); return s }

// peer is a WebSocket client: a device or a host.
type peer struct {
	t      testing.TB
	name   string
	ws     *websocket.Conn
	frames chan frame
	device bool       // its frames must fit the published schemas
	closed chan error // the read error that ended the connection
}

func dial(t testing.TB, name, url, bearer string) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	opts := &websocket.DialOptions{HTTPHeader: http.Header{}}
	if bearer != "" {
		opts.HTTPHeader.Set("Authorization", "Bearer "+bearer)
	}
	ws, _, err := websocket.Dial(ctx, url, opts)
	if err != nil {
		t.Fatalf("%s: dial: %v", name, err)
	}
	ws.SetReadLimit(16 << 20)
	p := &peer{t: t, name: name, ws: ws, frames: make(chan frame, 4096), closed: make(chan error, 1), device: strings.HasSuffix(url, "/ws")}
	go p.read()
	t.Cleanup(func() { _ = ws.CloseNow() })
	return p
}

func (p *peer) read() {
	defer close(p.frames)
	for {
		kind, data, err := p.ws.Read(context.Background())
		if err != nil {
			p.closed <- err
			return
		}
		if kind == websocket.MessageBinary {
			p.frames <- frame{"type": "binary", "bytes": chunk(data)}
			continue
		}
		var f frame
		if err := json.Unmarshal(data, &f); err != nil {
			p.closed <- fmt.Errorf("frame is not JSON: %w", err)
			return
		}
		if err := fits(data, f["type"]); p.device && err != nil {
			p.closed <- fmt.Errorf("frame does not fit its schema: %w in %.500s", err, data)
			return
		}
		p.frames <- f
	}
}

// chunk is the bytes of a binary frame, which nobody wants to read in a log.
type chunk []byte

func (c chunk) String() string { return fmt.Sprintf("%d bytes", len(c)) }

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	data := fmt.Appendf(nil, format, args...)
	if err := p.ws.Write(ctx, websocket.MessageText, data); err != nil {
		p.t.Fatalf("%s: write: %v", p.name, err)
	}
}

// next returns the next frame of a type; the frames before it are dropped.
func (p *peer) next(kind string) frame {
	p.t.Helper()
	return p.until(kind, func(f frame) bool { return f.is(kind) })
}

// both waits for a frame of each type, in any order.
func (p *peer) both(a, b string) {
	p.t.Helper()
	seen := map[any]bool{}
	p.until(a+" and "+b, func(f frame) bool {
		seen[f["type"]] = true
		return seen[a] && seen[b]
	})
}

// until returns the first frame that matches; the frames before it are dropped.
func (p *peer) until(what string, match func(frame) bool) frame {
	p.t.Helper()
	var seen []string
	timeout := time.After(patience)
	for {
		select {
		case f, ok := <-p.frames:
			if !ok {
				p.t.Fatalf("%s: connection ended (%v) while waiting for %s; came: %v", p.name, <-p.closed, what, seen)
			}
			if match(f) {
				return f
			}
			if !f.is("binary") {
				seen = append(seen, fmt.Sprint(f))
			}
		case <-timeout:
			p.t.Fatalf("%s: no %s within %v; came: %v", p.name, what, patience, seen)
		}
	}
}

// closeCode waits for the end of the connection.
func (p *peer) closeCode() websocket.StatusCode {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case _, ok := <-p.frames:
			if !ok {
				return websocket.CloseStatus(<-p.closed)
			}
		case <-timeout:
			p.t.Fatalf("%s: connection not closed within %v", p.name, patience)
		}
	}
}

// drop cuts the connection without a word.
func (p *peer) drop() { _ = p.ws.CloseNow() }

func (in *instance) socket(name string) *peer {
	in.t.Helper()
	return dial(in.t, name, in.url+"/ws", "")
}

// device connects a device and says hello.
func (in *instance) device(token, id string) *peer {
	in.t.Helper()
	p := in.socket(id)
	p.send(`{"v":1,"type":"hello","id":"h","payload":{"token":%q,"device_id":%q,"device_name":"Phone"}}`, token, id)
	return p
}

// host connects a host, says hello, and returns it with the hello.ack.
func (in *instance) host(token, epoch string, lastSeq, received int64, turns string) (*peer, frame) {
	in.t.Helper()
	p := dial(in.t, "host", in.url+"/host", token)
	p.send(`{"type":"hello","protocol":1,"epoch":%q,"process":"p1","last_seq":%d,"received":%d,
		"agent":{"name":"hermes-agent","version":"0.19.0","model":"m","streaming":true},"plugin":"0.1.0","commands":[],"turns":[%s]}`,
		epoch, lastSeq, received, turns)
	return p, p.next("hello.ack")
}

// event sends an event of the default lane; seq 0 is a live one.
func (p *peer) event(seq int64, kind, turn, body string) {
	p.t.Helper()
	p.send(`{"type":"event","seq":%d,"at":%d,"kind":%q,"chat_id":%q,"thread_id":null,"turn":%q,"body":%s}`,
		seq, time.Now().UnixMilli(), kind, lane, turn, body)
}

// acked waits until the host may forget its events up to seq.
func (p *peer) acked(seq int64) {
	p.t.Helper()
	p.until(fmt.Sprintf("acked %d", seq), func(f frame) bool { return f.is("acked") && f["seq"].(float64) >= float64(seq) })
}
