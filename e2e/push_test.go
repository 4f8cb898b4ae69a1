package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/e2e"
	"iris-gateway/testenv"
	"iris-gateway/testenv/fakefcm"
)

// conn is a bare socket: it does nothing that it is not told, so that a phone
// on it answers no ping while nobody reads.
type conn struct {
	t testing.TB
	*websocket.Conn
}

func dialAs(t testing.TB, g *e2e.Gateway, path, bearer, hello string) conn {
	t.Helper()
	h := http.Header{}
	if bearer != "" {
		h.Set("Authorization", "Bearer "+bearer)
	}
	ws, _, err := websocket.Dial(t.Context(), strings.Replace(g.URL(), "http", "ws", 1)+path, &websocket.DialOptions{HTTPHeader: h})
	if err != nil {
		t.Fatalf("dial %s: %v", path, err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	c := conn{t, ws}
	c.write(hello)
	return c
}

func (c conn) write(frame string) {
	c.t.Helper()
	testenv.ConfideFrame([]byte(frame))
	if err := c.Write(c.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// until reads up to a frame of a type.
func (c conn) until(kind string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for {
		_, data, err := c.Read(ctx)
		if err != nil {
			c.t.Fatalf("awaited %s: %v", kind, err)
		}
		var f struct{ Type string }
		if json.Unmarshal(data, &f) == nil && f.Type == kind {
			return
		}
	}
}

const hostHello = `{"type":"hello","protocol":1,"epoch":"e1","process":"p1","last_seq":%d,"received":0,
	"agent":{"name":"hermes-agent","version":"0.19.0","model":"m","streaming":true},"plugin":"0.1.0","commands":[],"turns":[]}`

// TestKilledBeforePush: SIGKILL between commit and push. The next process that
// opens the gateway pushes, once.
func TestKilledBeforePush(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short")
	}
	fcm := fakefcm.Start()
	t.Cleanup(fcm.Close)
	gate := e2e.NewGateway(t, gatewayBin, testenv.Firestore(t))
	gate.Setenv("IRIS_PUSH=fcm", "IRIS_FCM_ENDPOINT="+fcm.URL)
	t.Cleanup(gate.Stop)
	gate.ShowOnFailure(t)
	gate.Start(t)
	h := gate.CreateHost(t, "home")
	phone := dialAs(t, gate, "/ws", "", fmt.Sprintf(`{"v":1,"type":"hello","payload":{"token":%q,"device_id":"phone","fcm_token":"f-phone"}}`, gate.Pair(t, h, "phone")))
	phone.until("status") // and then it is in a tunnel: its link lives, and nothing is confirmed
	host := dialAs(t, gate, "/host", h.Token, fmt.Sprintf(hostHello, 0))
	host.until("hello.ack")
	host.write(fmt.Sprintf(`{"type":"event","seq":1,"at":%d,"kind":"send","chat_id":%q,"body":{"message_id":"a1","text":"done","notify":true}}`,
		time.Now().UnixMilli(), e2e.DefaultChat))
	host.until("acked")
	gate.Kill(t)
	if calls := fcm.Calls(""); len(calls) != 0 {
		t.Fatalf("pushed before the kill, which came too late: %+v", calls)
	}

	gate.Start(t)
	host = dialAs(t, gate, "/host", h.Token, fmt.Sprintf(hostHello, 1))
	host.until("hello.ack")
	calls := fcm.Wait("f-phone", 1, time.Minute)
	if len(calls) != 1 || calls[0].Data["message_id"] != "a1" || calls[0].Data["body"] != "done" {
		t.Fatalf("after the restart it pushed %+v", calls)
	}
	host.CloseNow()
	gate.Terminate(t)
	gate.Start(t)
	dialAs(t, gate, "/host", h.Token, fmt.Sprintf(hostHello, 1)).until("hello.ack")
	time.Sleep(2 * time.Second)
	if calls := fcm.Calls(""); len(calls) != 1 {
		t.Errorf("%d pushes after another restart, want the one", len(calls))
	}
	gate.Terminate(t)
	if races := gate.Races(); races != "" {
		t.Errorf("the gateway has a %s", races)
	}
}
