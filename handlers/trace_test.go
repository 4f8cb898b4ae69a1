package handlers_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/testenv"
)

// What is logged of requests and sockets names the trace that Cloud Run began.
func TestLogNamesTrace(t *testing.T) {
	t.Parallel()
	const id = "0af7651916cd43dd8448eb211c80319c"
	for name, tt := range map[string]struct{ header, value, want string }{
		"W3C":               {"traceparent", "00-" + id + "-00000000000003e8-01", " trace=" + id + " span=00000000000003e8"},
		"Google":            {"X-Cloud-Trace-Context", id + "/1000;o=1", " trace=" + id + " span=00000000000003e8"},
		"Google, unsampled": {"X-Cloud-Trace-Context", id + "/1000", " trace=" + id + " span=00000000000003e8"},
		"none":              {"X-Other", "x", ""},
		"no number":         {"X-Cloud-Trace-Context", id + "/1000000000000000000000", ""},
		"no trace":          {"X-Cloud-Trace-Context", "x/1", ""},
		"forged":            {"traceparent", "00-" + id + "\" severity=ERROR-00000000000003e8-01", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &logs{}
			in := startWith(t, memstore.New(), func(cfg *handlers.Config) {
				cfg.Log = slog.New(slog.NewTextHandler(io.MultiWriter(log, testenv.Log(t, testenv.Gateways, "traced")), nil))
			})
			g, _ := in.gateway()
			header := http.Header{"Authorization": {"Bearer " + adminToken}}
			header.Set(tt.header, tt.value)
			in.rotate(g, header)
			in.say("/ws", header, `{"v":1,"type":"hello","payload":{"token":"`+in.pair(g)+`","device_id":"d1"}}`)
			in.say("/host", header, `{"type":"hello"}`)
			in.stop()
			for _, what := range []string{"host token replaced", "device paired", "host link ended"} {
				line := lineWith(log.String(), what)
				if line == "" || strings.Contains(line, "trace=") != (tt.want != "") || !strings.Contains(line, tt.want) {
					t.Errorf("%q was logged as %q, want %q in it", what, line, tt.want)
				}
			}
		})
	}
}

// rotate makes a new host token, by a request with a header.
func (in *instance) rotate(gateway string, header http.Header) {
	in.t.Helper()
	req, err := http.NewRequestWithContext(in.t.Context(), http.MethodPost, in.url+"/admin/gateways/"+gateway+"/host-token", nil)
	if err != nil {
		in.t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		in.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		in.t.Fatalf("%s %v", res.Status, err)
	}
}

// say opens a socket, with a header, sends one frame and waits for any answer.
func (in *instance) say(path string, header http.Header, frame string) {
	in.t.Helper()
	ws, _, err := websocket.Dial(in.t.Context(), in.url+path, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		in.t.Fatal(err)
	}
	defer ws.CloseNow()
	if err := ws.Write(in.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		in.t.Fatal(err)
	}
	if _, _, err := ws.Read(in.t.Context()); err != nil {
		in.t.Fatal(err)
	}
}

// lineWith returns the first line of text that holds what, "" if there is none.
func lineWith(text, what string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, what) {
			return line
		}
	}
	return ""
}
