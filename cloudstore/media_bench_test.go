package cloudstore_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/coder/websocket"
	"google.golang.org/api/option"

	"iris-gateway/testenv"
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
			hash := hashOf(data)
			phone := gate.phone(b, "phone")
			compare(b, len(data), func(int) { raw.upload(b, "raw", data) }, func(int) { phone.upload(b, "ref", data, hash) })
		})
	}
}

func BenchmarkMediaPull(b *testing.B) {
	gate, raw := startGateway(b), startRaw(b)
	data := make([]byte, 64<<20)
	phone := gate.phone(b, "phone")
	raw.upload(b, "object", data) // its one part is object0
	phone.upload(b, "ref", data, hashOf(data))
	id := phone.sendMedia(b, "ref")
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
				hash := hashOf(data)
				var phones []*rawPhone
				for i := range transfers {
					phones = append(phones, gate.phone(b, fmt.Sprint("phone", i)))
				}
				phones[0].upload(b, "first", data, hash)
				id := phones[0].sendMedia(b, "first")
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
								p.upload(b, fmt.Sprint("ref", n), data, hash)
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
	ws := dialRaw(b, c.url+"/up?name="+name)
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
	ws := dialRaw(b, c.url+"/down?name="+name)
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
