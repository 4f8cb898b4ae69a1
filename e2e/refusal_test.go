package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/e2e"
	"iris-gateway/testenv"
)

// refusal is a peer that does something wrong, and what it must be told.
type refusal struct {
	name  string
	do    func(t *testing.T, d *e2e.Device) // connected by Dial only
	error string                            // code of the error frame; "" for none
	code  websocket.StatusCode
}

// TestRefusals: whatever a stranger or a broken app does, it gets the error and
// close code of the device protocol, and another phone does not notice.
func TestRefusals(t *testing.T) {
	gate := e2e.NewGateway(t, gatewayBin, testenv.Firestore(t))
	gate.ShowOnFailure(t)
	t.Cleanup(gate.Stop)
	gate.Start(t)
	host := gate.CreateHost(t, "home")
	good := e2e.Phone(t, gate, host, "phone-good")
	bound := gate.Pair(t, host, "phone-bound")
	e2e.NewDevice(gate, "phone-bound", bound).Connect(t)

	t.Run("one of", func(t *testing.T) { // waits for all of them
		for _, r := range refusals(bound) {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				d := e2e.NewDevice(gate, "phone-"+strings.ReplaceAll(r.name, " ", "-"), gate.Pair(t, host, r.name))
				d.Dial(t)
				r.do(t, d)
				checkRefused(t, d, r)
			})
		}
		t.Run("host with a wrong token", func(t *testing.T) { t.Parallel(); wrongHost(t, gate) })
		t.Run("malformed frame of a known phone", func(t *testing.T) { t.Parallel(); malformed(t, e2e.Phone(t, gate, host, "phone-malformed")) })
	})

	good.Send(t, "still here", "good-1")
	if pong := good.Request(t, "ping", "", map[string]any{"ts": 17}); pong.Type != "pong" {
		t.Errorf("ping was answered by %s", pong)
	}
	gate.Terminate(t)
}

func refusals(bound string) []refusal {
	say := func(text string) func(*testing.T, *e2e.Device) {
		return func(t *testing.T, d *e2e.Device) { d.Write(t, text) }
	}
	hello := func(token string) string {
		return `{"v":1,"type":"hello","payload":{"token":"` + token + `","device_id":"somebody","device_name":"x"}}`
	}
	return []refusal{
		{"wrong token", say(hello(strings.Repeat("x", 43))), "auth", 4401},
		{"token of another device", say(hello(bound)), "auth", 4401},
		{"empty token", say(hello("")), "auth", 4401},
		{"no hello", func(*testing.T, *e2e.Device) {}, "unsupported", 4400}, // after the 10 s limit
		{"another frame before hello", say(`{"v":1,"type":"ping","payload":{"ts":1}}`), "unsupported", 4400},
		{"garbage before hello", say("\x00garbage"), "unsupported", 4400},
		{"version 2", say(`{"v":2,"type":"hello","payload":{"token":"t","device_id":"d"}}`), "unsupported", 4400},
		{"17 KiB before hello", say(strings.Repeat("x", 17<<10)), "", 1009},
		{"2 MiB after hello", func(t *testing.T, d *e2e.Device) {
			d.Hello(t)
			// The gateway may hang up before it has read all of it.
			_ = d.TryWrite(t, `{"v":1,"type":"message.send","payload":{"text":"`+strings.Repeat("x", 2<<20)+`"}}`)
		}, "", 1009},
		{"20 malformed frames", func(t *testing.T, d *e2e.Device) {
			d.Hello(t)
			for range 20 {
				_ = d.TryWrite(t, `{"v":1,"payl`)
			}
		}, "unsupported", 4408},
	}
}

func checkRefused(t *testing.T, d *e2e.Device, r refusal) {
	t.Helper()
	code, err := d.AwaitClose(t, 0)
	if code != r.code {
		t.Errorf("closed with %d (%v), want %d; frames %v", code, err, r.code, d.Frames(0))
	}
	var last e2e.Frame
	for _, f := range d.Frames(0) {
		if f.Type == "error" {
			last = f
		}
	}
	if last.Body.Code != r.error || (r.error != "" && last.Body.Message == "") {
		t.Errorf("the last error frame is %s, want code %q with a message; frames %v", last, r.error, d.Frames(0))
	}
}

// malformed: a known phone may send rubbish, it is told and stays connected.
func malformed(t *testing.T, d *e2e.Device) {
	mark := d.Mark()
	for _, text := range []string{"no json", "[1,2]", `{"v":1,"id":7}`} {
		d.Write(t, text)
	}
	if pong := d.Request(t, "ping", "", map[string]any{"ts": 1}); pong.Type != "pong" {
		t.Errorf("after malformed frames ping was answered by %s", pong)
	}
	n := 0
	for _, f := range d.Frames(mark) {
		if f.Type == "error" && f.Body.Code == "unsupported" {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d errors for 3 malformed frames: %v", n, d.Frames(mark))
	}
}

// wrongHost: the host link refuses after the upgrade, so that every client sees the code.
func wrongHost(t *testing.T, gate *e2e.Gateway) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, strings.Replace(gate.URL(), "http", "ws", 1)+"/host",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer wrong"}}})
	if err != nil {
		t.Fatalf("dial: %v; want an upgrade and then the code", err)
	}
	defer conn.CloseNow()
	var f struct{ Type, Code, Message string }
	_, b, err := conn.Read(ctx)
	if err != nil {
		t.Fatalf("closed without a word: %v", err)
	}
	if err := json.Unmarshal(b, &f); err != nil || f.Type != "error" || f.Code != "auth" || f.Message == "" {
		t.Errorf("first frame is %s, want error auth with a message", b)
	}
	_, _, err = conn.Read(ctx)
	if code := websocket.CloseStatus(err); code != 4401 {
		t.Errorf("closed with %d (%v), want 4401", code, err)
	}
}
