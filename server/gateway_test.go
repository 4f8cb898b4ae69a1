package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/server"
	"iris-gateway/testenv"
)

// gateway is one that runs in this process.
type gateway struct {
	*testing.T
	addr  string
	stop  context.CancelFunc
	ended chan error
	log   *output
}

// start starts a gateway, which ends with the test if it has not before.
func start(t *testing.T, cfg server.Config) *gateway {
	t.Helper()
	return startTo(t, cfg, nil)
}

// startTo is start with a standard output.
func startTo(t *testing.T, cfg server.Config, stdout io.Writer) *gateway {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	g := &gateway{T: t, stop: stop, ended: make(chan error, 1), log: &output{file: testenv.Log(t, testenv.Gateways, "server")}}
	testenv.Confide(goodToken)
	listening := make(chan string, 1)
	go func() {
		g.ended <- server.Run(ctx, cfg, server.Options{
			Stdout: stdout, Log: server.NewLogger(g.log, cfg, slog.LevelDebug), Listening: func(addr string) { listening <- addr },
		})
	}()
	t.Cleanup(stop)
	select {
	case g.addr = <-listening:
	case err := <-g.ended:
		t.Fatal(err)
	}
	return g
}

// end ends the gateway as SIGTERM does, and returns how long that took.
func (g *gateway) end() time.Duration {
	g.Helper()
	began := time.Now()
	g.stop()
	select {
	case err := <-g.ended:
		if err != nil {
			g.Errorf("Run = %v", err)
		}
	case <-time.After(patience):
		g.Fatal("does not end")
	}
	return time.Since(began)
}

// post makes a request with a token and decodes the answer, unless into is nil.
func (g *gateway) post(path, token, body string, into any) {
	g.Helper()
	testenv.ConfideFrame([]byte(g.call(http.MethodPost, "http://"+g.addr+path, token, body, into)))
}

// call makes a request with a token, decodes the answer, unless into is nil, and
// returns it.
func (g *gateway) call(method, url, token, body string, into any) string {
	g.Helper()
	req, err := http.NewRequestWithContext(g.Context(), method, url, strings.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		g.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		g.Fatalf("%s %s: %s %s %v", method, url, resp.Status, data, err)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			g.Fatalf("%s %s: %v in %s", method, url, err, data)
		}
	}
	return string(data)
}

// exchange opens a socket, sends frames, and reads until a frame of a type has
// come, which it returns.
func (g *gateway) exchange(path, token, until string, frames ...string) []byte {
	g.Helper()
	ws, _, err := websocket.Dial(g.Context(), "ws://"+g.addr+path, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		g.Fatal(err)
	}
	defer ws.CloseNow()
	for _, f := range frames {
		testenv.ConfideFrame([]byte(f))
		if err := ws.Write(g.Context(), websocket.MessageText, []byte(f)); err != nil {
			g.Fatal(err)
		}
	}
	for {
		_, data, err := ws.Read(g.Context())
		if err != nil {
			g.Fatalf("no %s: %v", until, err)
		}
		testenv.ConfideFrame(data)
		var f struct{ Type string }
		if json.Unmarshal(data, &f) == nil && f.Type == until {
			return data
		}
	}
}

// output keeps what is written to it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	file io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	return o.file.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
