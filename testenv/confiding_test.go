package testenv_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/testenv"
)

// All that passes a server is confided: calls, and both directions of a WebSocket,
// also a message in several frames and one that came with the handshake.
func TestConfiding(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(testenv.EnvLogs, dir)
	web := httptest.NewServer(testenv.Confiding(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ws" {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"title":"what is answered"}`)
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		ws.SetReadLimit(1 << 20)
		for range 4 {
			kind, data, err := ws.Read(r.Context())
			if err == nil {
				err = ws.Write(r.Context(), kind, []byte(strings.Replace(string(data), "the client", "the server", 1)))
			}
			if err != nil {
				t.Error(err)
			}
		}
		ws.CloseNow()
	})))
	defer web.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader(`{"text":"what is asked"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer the-token-of-somebody-here")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()

	ws, _, err := websocket.Dial(t.Context(), web.URL+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	ws.SetReadLimit(1 << 20)
	for i, frame := range []string{
		`{"text":"1 by the client"}`, `{"text":"2 by the client, long",` + strings.Repeat(" ", 1000) + `"x":1}`,
		"binary", `{"text":"4 by the client, longer",` + strings.Repeat(" ", 70_000) + `"x":1}`,
	} {
		kind := websocket.MessageText
		if frame == "binary" {
			kind = websocket.MessageBinary
		}
		out, err := ws.Writer(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{frame[:len(frame)/2], frame[len(frame)/2:]} {
			if _, err := io.WriteString(out, part); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ws.Read(t.Context()); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
	for i, secret := range []string{
		"what is asked", "what is answered", "the-token-of-somebody-here", "1 by the client", "1 by the server",
		"2 by the client, long", "2 by the server, long", "4 by the client, longer", "4 by the server, longer",
	} {
		if _, err := io.WriteString(testenv.Log(t, testenv.Gateways, fmt.Sprint("log", i)), "says "+secret); err != nil {
			t.Fatal(err)
		}
		if scan, err := testenv.ScanLogs(dir); err != nil || len(scan.Leaks) != i+1 {
			t.Errorf("%q was not confided: %+v, %v", secret, scan, err)
		}
	}
}
