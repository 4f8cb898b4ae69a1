package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iris-gateway/server"
	"iris-gateway/testenv"
)

func TestMain(m *testing.M) {
	// Google's packages start this one when they are imported.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

const patience = 30 * time.Second

func memory() server.Config {
	return server.Config{
		Addr: "127.0.0.1", Store: server.StoreMemory, AdminToken: goodToken, Push: server.Off,
		LogEntries: server.Number(64), RateLimits: server.Off, MaxSockets: server.Number(10), Log: server.LogText,
		MediaMaxBytes: server.Number(1 << 20), MediaQuota: server.Number(1 << 30),
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var stdout bytes.Buffer
	listening := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, memory(), server.Options{
			Stdout: &stdout, Log: testenv.Logger(t, testenv.Gateways), Listening: func(addr string) { listening <- addr },
		})
	}()
	var addr string
	select {
	case addr = <-listening:
	case err := <-ended:
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/health": 200, "/ready": 200, "/admin/gateways": 401, "/nothing": 404} {
		resp, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s: %s, want %d", path, resp.Status, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Run = %v", err)
		}
	case <-time.After(patience):
		t.Fatal("does not end")
	}
	var line struct{ Message, Addr, Version string }
	if err := json.Unmarshal(stdout.Bytes(), &line); err != nil || line.Message != "listening" || line.Addr != addr || line.Version != server.Version() {
		t.Errorf("stdout %q: %v", stdout.String(), err)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := memory()
	port.Port = server.Number(taken.Addr().(*net.TCPAddr).Port)
	token := memory()
	token.AdminToken = "short"
	for name, tt := range map[string]struct {
		cfg  server.Config
		want string
	}{
		"port in use":  {port, "address already in use"},
		"bad settings": {token, "IRIS_ADMIN_TOKEN: has 5 characters"},
	} {
		err := server.Run(t.Context(), tt.cfg, server.Options{Log: testenv.Logger(t, testenv.Gateways)})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Run = %v", name, err)
		}
	}
}
