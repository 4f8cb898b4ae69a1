package server_test

import (
	"encoding/hex"
	"net"
	"strings"
	"testing"
	"time"

	"iris-gateway/server"
	"iris-gateway/testenv/fakefcm"
)

// A receiver gets spans of what a gateway does, and the metrics; nothing in
// them says who somebody is or what was said.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	otlp, fcm := startReceiver(t), fakefcm.Start()
	t.Cleanup(fcm.Close)
	cfg := memory()
	cfg.OTLPEndpoint, cfg.Push, cfg.FCMEndpoint, cfg.Log = otlp.url+"/", server.PushFCM, fcm.URL, server.LogJSON
	g := start(t, cfg)
	var made struct {
		ID   string `json:"gateway_id"`
		Host string `json:"host_token"`
	}
	g.post("/admin/gateways", goodToken, `{"name":"secret-name"}`, &made)
	var pairing struct{ Token string }
	g.post("/admin/gateways/"+made.ID+"/devices", goodToken, `{"name":"secret-phone"}`, &pairing)
	g.exchange("/host", made.Host, "hello.ack", `{"type":"hello","protocol":1,"epoch":"e","process":"p","last_seq":0,"received":0,
		"agent":{"name":"a","version":"1","model":"m","streaming":true},"plugin":"1","commands":[],"turns":[]}`)
	g.exchange("/ws", "", "message",
		`{"v":1,"type":"hello","payload":{"token":"`+pairing.Token+`","device_id":"secret-device","fcm_token":"secret-fcm"}}`,
		`{"v":1,"type":"message.send","id":"1","payload":{"text":"secret text"}}`)
	g.post("/host/send", made.Host, `{"message_id":"m1","chat_id":"android:default","text":"secret answer"}`, nil)
	fcm.Wait("secret-fcm", 1, patience)
	g.end()

	if text := g.log.String(); strings.Contains(text, "could not be sent") {
		t.Errorf("all was sent, and the log says it was not:\n%s", text)
	}
	for _, name := range []string{"POST /admin/gateways", "POST /host/send", "device.open", "host.open", "log.commit", "push.send"} {
		if len(otlp.named(name)) == 0 {
			t.Errorf("no span %q", name)
		}
	}
	otlp.mu.Lock()
	defer otlp.mu.Unlock()
	for _, name := range []string{"iris_log_entries_total", "iris_pushes_total", "iris_log_commit_seconds", "go_goroutines"} {
		if !otlp.metrics[name] {
			t.Errorf("no metric %q in %v", name, otlp.metrics)
		}
	}
	for _, secret := range []string{"secret", goodToken, made.Host, pairing.Token} {
		if strings.Contains(string(otlp.text), secret) {
			t.Errorf("%q was sent to the receiver", secret)
		}
	}
	for _, s := range otlp.spans { // what is logged can be found by its trace
		if s.Name == "device.open" && !strings.Contains(g.log.String(), `"logging.googleapis.com/trace":"`+hex.EncodeToString(s.TraceId)) {
			t.Errorf("no line with the trace of %s in\n%s", s.Name, g.log)
		}
	}
}

// A receiver that takes no connection, or takes it and is silent, costs nothing
// but a warning: a gateway starts, works, and ends in time.
func TestTelemetryAway(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, addr := range map[string]string{"silent": silent.Addr().String(), "closed": "127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			cfg := memory()
			cfg.OTLPEndpoint = "http://" + addr
			g := start(t, cfg)
			g.post("/admin/gateways", goodToken, `{"name":"home"}`, nil)
			if took := g.end(); took > 8*time.Second {
				t.Errorf("ended after %v", took)
			}
			if !strings.Contains(g.log.String(), "level=WARN") {
				t.Errorf("nobody is told:\n%s", g.log)
			}
		})
	}
}
