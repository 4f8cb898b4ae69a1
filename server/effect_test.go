package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/server"
	"iris-gateway/testenv"
	"iris-gateway/testenv/fakefcm"
)

// get makes a request as operator and decodes the answer, unless into is nil.
func (g *gateway) get(url string, into any) string {
	g.Helper()
	return g.call(http.MethodGet, url, goodToken, "", into)
}

// An operator is told what a gateway stands on, as it was set.
func TestStatus(t *testing.T) {
	t.Parallel()
	fcm := fakefcm.Start()
	t.Cleanup(fcm.Close)
	ntfy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ntfy.Close() // nobody answers there
	checks := func(fcm, ntfy string) []string {
		return []string{"store ok memory, nothing is kept", "bucket off the store is in memory", "fcm " + fcm, "ntfy " + ntfy}
	}
	for name, tt := range map[string]struct {
		set  func(*server.Config)
		want []string
	}{
		"off":              {func(*server.Config) {}, checks("off IRIS_PUSH is off", "off IRIS_NTFY_URL is not set")},
		"memory":           {func(c *server.Config) { c.Push = server.PushFCM }, checks("off the store is in memory or an emulator", "off IRIS_NTFY_URL is not set")},
		"off, an endpoint": {func(c *server.Config) { c.FCMEndpoint = fcm.URL }, checks("off IRIS_PUSH is off", "off IRIS_NTFY_URL is not set")},
		"on":               {func(c *server.Config) { c.Push, c.FCMEndpoint = server.PushFCM, fcm.URL }, checks("ok", "off IRIS_NTFY_URL is not set")},
		"ntfy away":        {func(c *server.Config) { c.NtfyURL = "http://" + ntfy.Addr().String() }, checks("off IRIS_PUSH is off", "failed")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := memory()
			cfg.PublicURL = "https://iris.example.org"
			tt.set(&cfg)
			g := start(t, cfg)
			var got struct {
				Version    string
				PublicURL  string `json:"public_url"`
				MaxSockets int    `json:"max_sockets"`
				Checks     []struct{ Name, State, Detail string }
			}
			g.get("http://"+g.addr+"/admin/status", &got)
			if got.Version != server.Version() || got.PublicURL != cfg.PublicURL || got.MaxSockets != cfg.MaxSockets.N {
				t.Errorf("status %+v", got)
			}
			if len(got.Checks) != len(tt.want) {
				t.Fatalf("checks %+v, want %v", got.Checks, tt.want)
			}
			for i, c := range got.Checks {
				if line := c.Name + " " + c.State + " " + c.Detail; !strings.HasPrefix(line, tt.want[i]) {
					t.Errorf("check %q, want %q", line, tt.want[i])
				}
			}
			if text := g.log.String(); strings.Contains(text, "telemetry") {
				t.Errorf("something is sent somewhere:\n%s", text)
			}
			g.end()
		})
	}
}

// What a pairing names: the address that was set, else that of the request, whose
// X-Forwarded-Proto counts on Cloud Run only.
func TestPairingAddress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		public, service, want string
	}{
		"set":       {"https://iris.example.org", "", "wss://iris.example.org/ws"},
		"Cloud Run": {"", "iris", "wss://"},
		"elsewhere": {"", "", "ws://"},
	} {
		cfg := memory()
		cfg.PublicURL, cfg.Service = tt.public, tt.service
		g := start(t, cfg)
		var made struct {
			ID string `json:"gateway_id"`
		}
		g.post("/admin/gateways", goodToken, `{"name":"home"}`, &made)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.addr+"/admin/gateways/"+made.ID+"/devices", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+goodToken)
		req.Header.Set("X-Forwarded-Proto", "https")
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		testenv.ConfideFrame(data)
		if want := `iris://pair?url=` + strings.NewReplacer(":", "%3A", "/", "%2F").Replace(tt.want); !strings.Contains(string(data), want) {
			t.Errorf("%s: %s, want %s", name, data, want)
		}
		g.end()
	}
}

// Without previews a push says that there is something, and nothing of it.
func TestPushPreview(t *testing.T) {
	t.Parallel()
	fcm := fakefcm.Start()
	t.Cleanup(fcm.Close)
	for preview, want := range map[string]bool{"": true, "true": true, "false": false} {
		cfg := memory()
		cfg.Push, cfg.FCMEndpoint, cfg.PushPreview = server.PushFCM, fcm.URL, preview
		g := start(t, cfg)
		device := "fcm-of-" + preview + "-previews"
		g.talk(device)
		calls := fcm.Wait(device, 1, patience)
		if len(calls) == 0 {
			t.Fatalf("preview %q: no push", preview)
		}
		told := false
		for _, value := range calls[0].Data {
			told = told || strings.Contains(value, "forty-two")
		}
		if told != want {
			t.Errorf("preview %q: the push tells of it: %v, want %v", preview, told, want)
		}
		g.end()
	}
}

// talk makes a gateway with a host and a device with an FCM token, which is away
// when the agent answers.
func (g *gateway) talk(fcm string) (id string) {
	g.Helper()
	var made struct {
		ID   string `json:"gateway_id"`
		Host string `json:"host_token"`
	}
	g.post("/admin/gateways", goodToken, `{"name":"home"}`, &made)
	var pairing struct{ Token string }
	g.post("/admin/gateways/"+made.ID+"/devices", goodToken, `{"name":"phone"}`, &pairing)
	g.exchange("/ws", "", "status", `{"v":1,"type":"hello","payload":{"token":"`+pairing.Token+`","device_id":"d1","fcm_token":"`+fcm+`"}}`)
	awaitText(g.T, `"attached":false`, func() string { return g.get("http://"+g.addr+"/admin/gateways/"+made.ID+"/devices", nil) })
	const said = `{"message_id":"m1","chat_id":"android:default","text":"forty-two, says the oracle"}`
	testenv.ConfideFrame([]byte(said))
	g.post("/host/send", made.Host, said, nil)
	return made.ID
}

// A device can be sent a push where pushes are on; where none are, that is said.
func TestPushTest(t *testing.T) {
	t.Parallel()
	fcm := fakefcm.Start()
	t.Cleanup(fcm.Close)
	for push, want := range map[string]string{server.PushFCM: "sent fcm", server.Off: "none push is off on this gateway"} {
		cfg := memory()
		cfg.Push, cfg.FCMEndpoint = push, fcm.URL
		g := start(t, cfg)
		var got struct{ Outcome, Detail string }
		g.post("/admin/gateways/"+g.talk("fcm-that-is-"+push)+"/devices/d1/push-test", goodToken, "", &got)
		if got.Outcome+" "+got.Detail != want {
			t.Errorf("push is %s: %+v, want %q", push, got, want)
		}
		g.end()
	}
}

// A device is told how large a medium may be, or that there are none.
func TestMediaAreTold(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 1 << 20} {
		cfg := memory()
		cfg.MediaMaxBytes = server.Number(most)
		g := start(t, cfg)
		var made struct {
			ID string `json:"gateway_id"`
		}
		g.post("/admin/gateways", goodToken, `{"name":"home"}`, &made)
		var pairing struct{ Token string }
		g.post("/admin/gateways/"+made.ID+"/devices", goodToken, `{"name":"phone"}`, &pairing)
		var ack struct {
			Payload struct {
				Caps struct {
					Media bool
					Most  int `json:"media_max_bytes"`
				} `json:"server_caps"`
			}
		}
		frame := g.exchange("/ws", "", "hello.ack", `{"v":1,"type":"hello","payload":{"token":"`+pairing.Token+`","device_id":"d1"}}`)
		if err := json.Unmarshal(frame, &ack); err != nil || ack.Payload.Caps.Media != (most > 0) || ack.Payload.Caps.Most != most {
			t.Errorf("%d bytes at most: %+v, %v", most, ack, err)
		}
		g.end()
	}
}

// Limits limit where they are on.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]websocket.StatusCode{server.On: 4429, server.Off: 4401} {
		cfg := memory()
		cfg.RateLimits = set
		g := start(t, cfg)
		var last websocket.StatusCode
		for range 11 {
			ws, _, err := websocket.Dial(t.Context(), "ws://"+g.addr+"/ws", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"hello","payload":{"token":"no","device_id":"d"}}`)); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, _, err = ws.Read(t.Context())
			}
			last = websocket.CloseStatus(err)
			ws.CloseNow()
		}
		if last != want {
			t.Errorf("limits are %s: the last of 11 failed hellos is closed with %d, want %d", set, last, want)
		}
		g.end()
	}
}

// Metrics are told at their own address until the end, and have what the parts count.
func TestMetrics(t *testing.T) {
	t.Parallel()
	fcm := fakefcm.Start()
	t.Cleanup(fcm.Close)
	cfg := memory()
	cfg.MetricsAddr, cfg.Push, cfg.FCMEndpoint = "127.0.0.1:0", server.PushFCM, fcm.URL
	var stdout bytes.Buffer
	g := startTo(t, cfg, &stdout)
	var line struct{ Metrics string }
	if err := json.Unmarshal(stdout.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	g.talk("fcm-of-metrics")
	fcm.Wait("fcm-of-metrics", 1, patience)
	for _, want := range []string{"\niris_log_entries_total", "\niris_pushes_total{outcome=\"sent\",service=\"fcm\"} 1\n", "\nprocess_open_fds "} {
		awaitText(t, want, func() string { return g.get("http://"+line.Metrics+"/metrics", nil) })
	}
	if n := strings.Count(g.get("http://"+line.Metrics+"/metrics", nil), "\niris_log_entries_total 0\n"); n != 0 {
		t.Error("no log entry is counted")
	}
	g.end()
	if conn, err := net.Dial("tcp", line.Metrics); err == nil {
		conn.Close()
		t.Error("the metrics have not ended with the gateway")
	}
}

// awaitText waits until what is read holds a text: nothing announces that a
// counter has moved, or that a device has gone.
func awaitText(t *testing.T, want string, read func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got := read()
		if strings.Contains(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %q in\n%s", want, got)
		}
	}
}

// What is connected when a gateway ends is told to come again; who has connected
// and says nothing is cut.
func TestDrain(t *testing.T) {
	t.Parallel()
	g := start(t, memory())
	mute, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	var made struct {
		ID string `json:"gateway_id"`
	}
	g.post("/admin/gateways", goodToken, `{"name":"home"}`, &made)
	var pairing struct{ Token string }
	g.post("/admin/gateways/"+made.ID+"/devices", goodToken, `{"name":"phone"}`, &pairing)
	ws, _, err := websocket.Dial(t.Context(), "ws://"+g.addr+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	hello := `{"v":1,"type":"hello","payload":{"token":"` + pairing.Token + `","device_id":"d1"}}`
	testenv.ConfideFrame([]byte(hello))
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(hello)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ws.Read(t.Context()); err != nil { // hello.ack
		t.Fatal(err)
	}
	closed := make(chan websocket.StatusCode, 1)
	go func() {
		var err error
		for err == nil {
			_, _, err = ws.Read(t.Context())
		}
		closed <- websocket.CloseStatus(err)
	}()
	if took := g.end(); took > 8*time.Second {
		t.Errorf("ended after %v", took)
	}
	if code := <-closed; code != websocket.StatusGoingAway {
		t.Errorf("the device's socket was closed with %d", code)
	}
	if !strings.Contains(g.log.String(), "connections are cut") {
		t.Errorf("nobody was cut:\n%s", g.log)
	}
}

// broken is a standard output that nobody reads any more.
type broken struct{}

var errBroken = errors.New("nobody reads")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// What else keeps a gateway from starting.
func TestRunCannotStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, tt := range map[string]struct {
		set    func(*server.Config)
		stdout io.Writer
		want   string
	}{
		"metrics on a taken port": {func(c *server.Config) { c.MetricsAddr = taken.Addr().String() }, nil, "IRIS_METRICS_ADDR=" + taken.Addr().String()},
		"no standard output":      {func(*server.Config) {}, broken{}, "stdout: " + errBroken.Error()},
	} {
		cfg := memory()
		tt.set(&cfg)
		opts := server.Options{Log: testenv.Logger(t, testenv.Gateways), Stdout: tt.stdout, Listening: func(string) { t.Errorf("%s: it starts", name) }}
		if err := server.Run(t.Context(), cfg, opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Run = %v", name, err)
		}
	}
}
