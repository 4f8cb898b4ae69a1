package cloudstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"iris-gateway/testenv"
	"iris-gateway/testenv/proc"
)

// gatewayProcess is a gateway process.
type gatewayProcess struct {
	bin, bucket string
	env         []string
	addr, id    string // addr is another after each start
	p           *proc.Process
}

const processToken = "bench-admin-token-of-more-than-32-characters"

// startGateway builds the real gateway and starts it, on a database and in a bucket
// of its own.
func startGateway(t testing.TB) *gatewayProcess {
	t.Helper()
	g := &gatewayProcess{bin: filepath.Join(t.TempDir(), "gateway"), bucket: testenv.Bucket(t)}
	testenv.Confide(processToken)
	if out, err := exec.Command("go", "build", "-o", g.bin, "iris-gateway/cmd/gateway").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g.env = append(os.Environ(), "PORT=0", "IRIS_ADDR=127.0.0.1", "IRIS_PROJECT="+testenv.Firestore(t).Project, "IRIS_ADMIN_TOKEN="+processToken,
		"IRIS_PUSH=off", "IRIS_RATE_LIMITS=off", "IRIS_BUCKET="+g.bucket)
	g.start(t)
	t.Cleanup(func() { g.p.Stop(10 * time.Second) })
	var made struct {
		ID string `json:"gateway_id"`
	}
	g.admin(t, "/admin/gateways", &made)
	g.id = made.ID
	return g
}

// start starts the process, again if it was killed.
func (g *gatewayProcess) start(t testing.TB) {
	t.Helper()
	cmd := exec.Command(g.bin)
	cmd.Env, cmd.Stderr = g.env, testenv.Log(t, testenv.Gateways, "cloudstore")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if g.p, err = proc.Start(cmd); err != nil {
		t.Fatal(err)
	}
	var line struct{ Addr string }
	if err := json.NewDecoder(out).Decode(&line); err != nil {
		t.Fatal(err)
	}
	g.addr = line.Addr
}

func (g *gatewayProcess) admin(t testing.TB, path string, answer any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.addr+path, strings.NewReader(`{"name":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+processToken)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	testenv.ConfideFrame(data)
	if err := json.Unmarshal(data, answer); err != nil {
		t.Fatal(err)
	}
}

// resident returns the memory that the process occupies, in bytes.
func (g *gatewayProcess) resident(t testing.TB) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", g.p.Pid()))
	if err != nil {
		t.Skip("needs Linux: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// watch looks at the memory until its result is called, which returns the peak.
func (g *gatewayProcess) watch(t testing.TB) func() int64 {
	var peak int64
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		for ctx.Err() == nil {
			peak = max(peak, g.resident(t))
			time.Sleep(5 * time.Millisecond)
		}
	})
	return func() int64 { cancel(); wait.Wait(); return peak }
}

// rawPhone is a paired device.
type rawPhone struct{ ws *websocket.Conn }

func dialRaw(t testing.TB, url string) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func (g *gatewayProcess) phone(t testing.TB, id string) *rawPhone {
	t.Helper()
	return g.connect(t, g.pair(t), id)
}

func (g *gatewayProcess) pair(t testing.TB) (token string) {
	var made struct{ Token string }
	g.admin(t, "/admin/gateways/"+g.id+"/devices", &made)
	return made.Token
}

func (g *gatewayProcess) connect(t testing.TB, token, id string) *rawPhone {
	t.Helper()
	p := &rawPhone{dialRaw(t, "ws://"+g.addr+"/ws")}
	p.say(t, `{"type":"hello","payload":{"token":%q,"device_id":%q}}`, token, id)
	p.until(t, "status")
	return p
}

func (p *rawPhone) say(t testing.TB, format string, args ...any) {
	if err := p.ws.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		t.Error(err)
	}
}

// until reads up to a frame of a type and returns it, and how many bytes came in
// binary frames.
func (p *rawPhone) until(t testing.TB, kind string) (frame []byte, size int) {
	for {
		message, r, err := p.ws.Reader(context.Background())
		if err != nil {
			t.Error(err)
			return nil, 0
		}
		if message == websocket.MessageBinary {
			n, _ := io.Copy(io.Discard, r)
			size += int(n)
			continue
		}
		frame, _ = io.ReadAll(r)
		if bytes.Contains(frame, fmt.Appendf(nil, `"type":%q`, kind)) {
			return frame, size
		}
		if bytes.Contains(frame, []byte(`"type":"error"`)) {
			t.Errorf("%s", frame)
			return nil, 0
		}
	}
}

// upload sends a medium with its hash.
func (p *rawPhone) upload(t testing.TB, ref string, data []byte, hash string) {
	p.say(t, `{"type":"media.upload.start","id":1,"payload":{"media_ref":%q,"size":%d}}`, ref, len(data))
	sendFrames(t, p.ws, data)
	p.say(t, `{"type":"media.upload.end","id":2,"payload":{"media_ref":%q,"sha256":%q}}`, ref, hash)
	p.until(t, "media.upload.ack")
}

// sendMedia sends an upload in a message and returns the id of the medium.
func (p *rawPhone) sendMedia(t testing.TB, ref string) string {
	p.say(t, `{"type":"message.send","id":3,"payload":{"text":"","media_refs":[%q]}}`, ref)
	echo, _ := p.until(t, "message")
	var f struct {
		Payload struct {
			Media []struct {
				ID string `json:"media_id"`
			}
		}
	}
	if err := json.Unmarshal(echo, &f); err != nil || len(f.Payload.Media) != 1 {
		t.Errorf("%v in %s", err, echo)
		return ""
	}
	return f.Payload.Media[0].ID
}

func (p *rawPhone) pull(t testing.TB, id string, size int) {
	p.say(t, `{"type":"media.pull","id":1,"payload":{"media_id":%q}}`, id)
	if _, n := p.until(t, "media.pull.end"); n != size {
		t.Errorf("%d bytes came, want %d", n, size)
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func sendFrames(t testing.TB, ws *websocket.Conn, data []byte) {
	for len(data) > 0 {
		n := min(len(data), 64<<10)
		if err := ws.Write(t.Context(), websocket.MessageBinary, data[:n]); err != nil {
			t.Error(err)
			return
		}
		data = data[n:]
	}
}
