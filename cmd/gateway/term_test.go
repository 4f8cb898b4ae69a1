package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/testenv"
	"iris-gateway/testenv/fakefcm"
)

// termLimit is how long a gateway may take to end: Cloud Run kills after 10 s.
const termLimit = 8 * time.Second

// A gateway ends in time, and with 0, when all around it is as slow as can be:
// phones that sleep and answer nothing, a push service and a receiver of traces
// that take connections and are silent.
func TestTermAmongTheSilent(t *testing.T) {
	t.Parallel()
	fcm := fakefcm.Start()
	t.Cleanup(fcm.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	p := launch(t, gateway(t, "PORT=0", "IRIS_ADDR=127.0.0.1", "IRIS_STORE=memory", "IRIS_ADMIN_TOKEN="+adminToken,
		"IRIS_RATE_LIMITS=off", "IRIS_FCM_ENDPOINT="+fcm.URL, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+silent.Addr().String()))
	g, host := p.create(t)
	fcm.Answer("the-pocket", "hang")
	p.connect(t, p.pair(t, g), "pocket", "the-pocket").CloseNow()
	for i := range 40 {
		p.connect(t, p.pair(t, g), fmt.Sprint("sleeping-", i), "")
	}
	var posting sync.WaitGroup
	defer posting.Wait()
	posting.Go(func() { p.deliver(t, host) }) // waits for its push
	if len(fcm.Wait("the-pocket", 1, patience)) == 0 {
		t.Fatal("no push")
	}
	p.term(t)
}

// Somebody has connected and has not said what he wants: nobody waits for him.
func TestTermWithMuteClient(t *testing.T) {
	t.Parallel()
	p := launch(t, gateway(t, "PORT=0", "IRIS_ADDR=127.0.0.1", "IRIS_STORE=memory", "IRIS_ADMIN_TOKEN="+adminToken, "IRIS_PUSH=off"))
	mute, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mute.Close() })
	p.create(t) // so the mute one has been accepted
	p.term(t)
}

// term ends the process as Cloud Run does.
func (p *process) term(t testing.TB) {
	t.Helper()
	began := time.Now()
	p.Signal(syscall.SIGTERM)
	if !p.Wait(termLimit) {
		t.Fatalf("still runs after %v", termLimit)
	}
	t.Logf("ended after %v", time.Since(began).Round(time.Millisecond))
	if code := p.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// create makes a gateway and returns its id and host token.
func (p *process) create(t testing.TB) (id, hostToken string) {
	t.Helper()
	made := p.call(t, "/admin/gateways")
	return made["gateway_id"], made["host_token"]
}

// pair returns a device token.
func (p *process) pair(t testing.TB, gateway string) string {
	t.Helper()
	return p.call(t, "/admin/gateways/"+gateway+"/devices")["token"]
}

// connect connects a device and waits for hello.ack.
func (p *process) connect(t testing.TB, token, id, fcm string) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), "ws://"+p.addr+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	frame := fmt.Sprintf(`{"v":1,"type":"hello","payload":{"token":%q,"device_id":%q,"fcm_token":%q}}`, token, id, fcm)
	testenv.ConfideFrame([]byte(frame))
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		t.Fatal(err)
	}
	_, data, err := ws.Read(t.Context())
	var f struct{ Type string }
	if err != nil || json.Unmarshal(data, &f) != nil || f.Type != "hello.ack" {
		t.Fatalf("%s %v", data, err)
	}
	return ws
}

// deliver is a job that says something; what becomes of it does not matter.
func (p *process) deliver(t testing.TB, hostToken string) {
	const body = `{"message_id":"m1","chat_id":"android:default","text":"a job has something to say"}`
	testenv.ConfideFrame([]byte(body))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.addr+"/host/send", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+hostToken)
	if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
		res.Body.Close()
	}
}
