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
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/coder/websocket"
	"google.golang.org/api/option"

	"iris-gateway/testenv"
	"iris-gateway/testenv/proc"
)

// The real gateway as a process of its own, Firestore's emulator and
// fake-gcs-server: what a medium costs in time and memory.

// BenchmarkMediaUpload and BenchmarkMediaPull move 64 MiB by turns through a
// gateway and through a bare copy between coder/websocket and the storage client:
// into one object, or as the gateway does it, into parts that are composed, which
// fake-gcs-server does by copying all bytes.
func BenchmarkMediaUpload(b *testing.B) {
	for name, part := range map[string]int{"one object": 1 << 30, "composed": 8 << 20} {
		b.Run(name, func(b *testing.B) {
			gate, raw := startGateway(b), startRaw(b)
			raw.part = part
			data := make([]byte, 64<<20)
			phone := gate.phone(b, "phone")
			compare(b, len(data), func(int) { raw.upload(b, "raw", data) }, func(int) { phone.upload(b, "ref", data) })
		})
	}
}

func BenchmarkMediaPull(b *testing.B) {
	gate, raw := startGateway(b), startRaw(b)
	data := make([]byte, 64<<20)
	phone := gate.phone(b, "phone")
	raw.upload(b, "object", data) // its one part is object0
	id := phone.upload(b, "ref", data)
	compare(b, len(data), func(int) { raw.pull(b, "object0", len(data)) }, func(int) { phone.pull(b, id, len(data)) })
}

// compare reports how fast both are, and the ratio.
func compare(b *testing.B, size int, raw, gate func(n int)) {
	raw(-1)
	gate(-1) // both are warm now
	var took [2]time.Duration
	n := 0
	for b.Loop() {
		for i, f := range []func(int){raw, gate} {
			began := time.Now()
			f(n)
			took[i] += time.Since(began)
		}
		n++
	}
	mb := float64(size) * float64(n) / 1e6
	b.ReportMetric(mb/took[0].Seconds(), "raw-MB/s")
	b.ReportMetric(mb/took[1].Seconds(), "gateway-MB/s")
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "ratio")
}

// BenchmarkMediaMemory tells by how much the gateway's resident memory grows for
// each of so many transfers at once.
func BenchmarkMediaMemory(b *testing.B) {
	for _, transfers := range []int{1, 20} {
		for _, pull := range []bool{false, true} {
			b.Run(fmt.Sprintf("pull=%v/transfers=%d", pull, transfers), func(b *testing.B) {
				gate := startGateway(b)
				data := make([]byte, 24<<20)
				var phones []*benchPhone
				for i := range transfers {
					phones = append(phones, gate.phone(b, fmt.Sprint("phone", i)))
				}
				id := phones[0].upload(b, "first", data)
				phones[0].pull(b, id, len(data))
				before := gate.resident(b)
				peak := gate.watch(b)
				for n := 0; b.Loop(); n++ {
					var wait sync.WaitGroup
					for _, p := range phones {
						wait.Go(func() {
							if pull {
								p.pull(b, id, len(data))
							} else {
								p.upload(b, fmt.Sprint("ref", n), data)
							}
						})
					}
					wait.Wait()
				}
				grown := max(0, peak()-before)
				b.ReportMetric(float64(before)/(1<<20), "before-MiB")
				b.ReportMetric(float64(grown)/(1<<20)/float64(transfers), "MiB/transfer")
			})
		}
	}
}

// benchGateway is a gateway process.
type benchGateway struct {
	addr, id string
	pid      int
}

const benchToken = "bench-admin-token-of-more-than-32-characters"

func startGateway(b *testing.B) *benchGateway {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "gateway")
	if out, err := exec.Command("go", "build", "-o", bin, "iris-gateway/cmd/gateway").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	emulator := testenv.Firestore(b)
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), "PORT=0", "IRIS_ADDR=127.0.0.1", "IRIS_PROJECT="+emulator.Project, "IRIS_ADMIN_TOKEN="+benchToken,
		"IRIS_PUSH=off", "IRIS_RATE_LIMITS=off", "IRIS_BUCKET="+testenv.Bucket(b))
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	p, err := proc.Start(cmd)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Stop(10 * time.Second) })
	var line struct{ Addr string }
	if err := json.NewDecoder(out).Decode(&line); err != nil {
		b.Fatal(err)
	}
	g := &benchGateway{addr: line.Addr, pid: cmd.Process.Pid}
	var made struct {
		ID string `json:"gateway_id"`
	}
	g.admin(b, "/admin/gateways", &made)
	g.id = made.ID
	return g
}

func (g *benchGateway) admin(b *testing.B, path string, answer any) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+g.addr+path, strings.NewReader(`{"name":"x"}`))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+benchToken)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(answer); err != nil {
		b.Fatal(err)
	}
}

// resident returns the memory that the process occupies, in bytes.
func (g *benchGateway) resident(b *testing.B) int64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", g.pid))
	if err != nil {
		b.Skip("needs Linux: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// watch looks at the memory until its result is called, which returns the peak.
func (g *benchGateway) watch(b *testing.B) func() int64 {
	var peak int64
	ctx, cancel := context.WithCancel(b.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		for ctx.Err() == nil {
			peak = max(peak, g.resident(b))
			time.Sleep(5 * time.Millisecond)
		}
	})
	return func() int64 { cancel(); wait.Wait(); return peak }
}

// benchPhone is a paired device.
type benchPhone struct{ ws *websocket.Conn }

func dialBench(b *testing.B, url string) *websocket.Conn {
	b.Helper()
	ws, _, err := websocket.Dial(b.Context(), url, nil)
	if err != nil {
		b.Fatal(err)
	}
	ws.SetReadLimit(1 << 20)
	b.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func (g *benchGateway) phone(b *testing.B, id string) *benchPhone {
	b.Helper()
	var made struct{ Token string }
	g.admin(b, "/admin/gateways/"+g.id+"/devices", &made)
	p := &benchPhone{dialBench(b, "ws://"+g.addr+"/ws")}
	p.say(b, `{"type":"hello","payload":{"token":%q,"device_id":%q}}`, made.Token, id)
	p.until(b, "status")
	return p
}

func (p *benchPhone) say(b *testing.B, format string, args ...any) {
	if err := p.ws.Write(b.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		b.Error(err)
	}
}

// until reads up to a frame of a type and returns it, and how many bytes came in
// binary frames.
func (p *benchPhone) until(b *testing.B, kind string) (frame []byte, size int) {
	for {
		message, r, err := p.ws.Reader(b.Context())
		if err != nil {
			b.Error(err)
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
			b.Errorf("%s", frame)
			return nil, 0
		}
	}
}

// upload sends a medium in a message and returns its id.
func (p *benchPhone) upload(b *testing.B, ref string, data []byte) string {
	p.say(b, `{"type":"media.upload.start","id":1,"payload":{"media_ref":%q,"size":%d}}`, ref, len(data))
	sendFrames(b, p.ws, data)
	sum := sha256.Sum256(data)
	p.say(b, `{"type":"media.upload.end","id":2,"payload":{"media_ref":%q,"sha256":%q}}`, ref, hex.EncodeToString(sum[:]))
	p.until(b, "media.upload.ack")
	p.say(b, `{"type":"message.send","id":3,"payload":{"text":"","media_refs":[%q]}}`, ref)
	echo, _ := p.until(b, "message")
	var f struct {
		Payload struct {
			Media []struct {
				ID string `json:"media_id"`
			}
		}
	}
	if err := json.Unmarshal(echo, &f); err != nil || len(f.Payload.Media) != 1 {
		b.Errorf("%v in %s", err, echo)
		return ""
	}
	return f.Payload.Media[0].ID
}

func (p *benchPhone) pull(b *testing.B, id string, size int) {
	p.say(b, `{"type":"media.pull","id":1,"payload":{"media_id":%q}}`, id)
	if _, n := p.until(b, "media.pull.end"); n != size {
		b.Errorf("%d bytes came, want %d", n, size)
	}
}

func sendFrames(b *testing.B, ws *websocket.Conn, data []byte) {
	for len(data) > 0 {
		n := min(len(data), 64<<10)
		if err := ws.Write(b.Context(), websocket.MessageBinary, data[:n]); err != nil {
			b.Error(err)
			return
		}
		data = data[n:]
	}
}

// rawCopy copies between a WebSocket and an object, and does nothing else.
type rawCopy struct {
	url  string
	part int
}

func startRaw(b *testing.B) *rawCopy {
	b.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	client, err := storage.NewClient(b.Context(), storage.WithJSONReads(), option.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		b.Fatal(err)
	}
	bucket := client.Bucket(testenv.Bucket(b))
	mux := http.NewServeMux()
	copying := func(copy func(ctx context.Context, ws *websocket.Conn, object *storage.ObjectHandle) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			ws.SetReadLimit(1 << 20)
			if err := copy(r.Context(), ws, bucket.Object(r.URL.Query().Get("name"))); err != nil {
				b.Error(err)
			}
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}
	}
	c := &rawCopy{part: 1 << 30}
	mux.HandleFunc("/up", copying(func(ctx context.Context, ws *websocket.Conn, object *storage.ObjectHandle) error {
		return rawUp(ctx, ws, bucket, object, c.part)
	}))
	mux.HandleFunc("/down", copying(rawDown))
	web := httptest.NewServer(mux)
	b.Cleanup(func() { web.Close(); client.Close(); transport.CloseIdleConnections() })
	c.url = "ws" + strings.TrimPrefix(web.URL, "http")
	return c
}

// rawUp writes frames into an object up to the first text frame, and answers. If
// there are more bytes than a part has, parts are written and composed.
func rawUp(ctx context.Context, ws *websocket.Conn, bucket *storage.BucketHandle, object *storage.ObjectHandle, part int) error {
	var parts []*storage.ObjectHandle
	begin := func() *storage.Writer {
		o := bucket.Object(fmt.Sprint(object.ObjectName(), len(parts)))
		parts = append(parts, o)
		w := o.NewWriter(ctx)
		w.ChunkSize = 0
		return w
	}
	w, n := begin(), 0
	for {
		kind, r, err := ws.Reader(ctx)
		if err != nil {
			return err
		}
		if kind == websocket.MessageText {
			_, _ = io.Copy(io.Discard, r)
			break
		}
		if n >= part {
			if err := w.Close(); err != nil {
				return err
			}
			w, n = begin(), 0
		}
		k, err := io.Copy(w, r)
		if n += int(k); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if len(parts) > 1 {
		if _, err := object.ComposerFrom(parts...).Run(ctx); err != nil {
			return err
		}
	}
	return ws.Write(ctx, websocket.MessageText, []byte("done"))
}

func rawDown(ctx context.Context, ws *websocket.Conn, object *storage.ObjectHandle) error {
	r, err := object.NewReader(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if err := ws.Write(ctx, websocket.MessageBinary, buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

func (c *rawCopy) upload(b *testing.B, name string, data []byte) {
	ws := dialBench(b, c.url+"/up?name="+name)
	sendFrames(b, ws, data)
	if err := ws.Write(b.Context(), websocket.MessageText, []byte("end")); err != nil {
		b.Error(err)
	}
	if _, _, err := ws.Read(b.Context()); err != nil {
		b.Error(err)
	}
	_ = ws.CloseNow()
}

func (c *rawCopy) pull(b *testing.B, name string, size int) {
	ws := dialBench(b, c.url+"/down?name="+name)
	n := 0
	for {
		_, r, err := ws.Reader(b.Context())
		if err != nil {
			break
		}
		k, _ := io.Copy(io.Discard, r)
		n += int(k)
	}
	if n != size {
		b.Errorf("%d bytes came, want %d", n, size)
	}
	_ = ws.CloseNow()
}
