package cloudstore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/iris"
)

// BenchmarkHostMedia moves 64 MiB between a hermes host and the gateway, by turns
// with the bare copy, as [BenchmarkMediaUpload] and [BenchmarkMediaPull] do.
func BenchmarkHostMedia(b *testing.B) {
	gate, bare := startGateway(b), startBare(b)
	data := make([]byte, benchSize)
	sum := hexSum(data)
	host := gate.host(b)
	bare.upload(b, "object", data, single, streamed)
	host.put(b, "md_first", data, sum)
	b.Run("put", func(b *testing.B) {
		benchUpload(b, bare, data, func() { host.put(b, iris.NewID("md_"), data, sum) })
	})
	b.Run("get", func(b *testing.B) {
		benchPull(b, bare, "object", func() { host.get(b, "md_first", benchSize) })
	})
}

// BenchmarkHostMediaMemory tells by how much the gateway's resident memory grows
// for each of so many hosts that move a file at once.
func BenchmarkHostMediaMemory(b *testing.B) {
	for _, hosts := range []int{1, 20} {
		for _, get := range []bool{false, true} {
			b.Run(fmt.Sprintf("get=%v/hosts=%d", get, hosts), func(b *testing.B) {
				gate := startGateway(b)
				data := make([]byte, 24<<20)
				sum := hexSum(data)
				var all []*rawHost
				for range hosts {
					all = append(all, gate.host(b))
				}
				for _, h := range all {
					h.put(b, "md_first", data, sum)
				}
				all[0].get(b, "md_first", len(data))
				before := gate.resident(b)
				peak := gate.watch(b)
				for n := 0; b.Loop(); n++ {
					var wait sync.WaitGroup
					for _, h := range all {
						wait.Go(func() {
							if get {
								h.get(b, "md_first", len(data))
							} else {
								h.put(b, fmt.Sprint("md_", n), data, sum)
							}
						})
					}
					wait.Wait()
				}
				grown := max(0, peak()-before)
				b.ReportMetric(float64(before)/(1<<20), "before-MiB")
				b.ReportMetric(float64(grown)/(1<<20)/float64(hosts), "MiB/transfer")
			})
		}
	}
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// rawHost is a host that does nothing but move files.
type rawHost struct{ ws *websocket.Conn }

// host connects a host of a gateway of its own.
func (g *gatewayProcess) host(b *testing.B) *rawHost {
	b.Helper()
	var made struct {
		Token string `json:"host_token"`
	}
	g.admin(b, "/admin/gateways", &made)
	header := http.Header{"Authorization": {"Bearer " + made.Token}}
	ws, _, err := websocket.Dial(b.Context(), "ws://"+g.addr+"/host", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(1 << 20)
	h := &rawHost{ws}
	h.send(b, map[string]any{"type": "hello", "protocol": 1, "epoch": "e", "process": "p", "agent": map[string]any{}})
	h.until(b, "hello.ack")
	return h
}

func (h *rawHost) send(b *testing.B, frame map[string]any) {
	data, err := json.Marshal(frame)
	if err == nil {
		err = h.ws.Write(b.Context(), websocket.MessageText, data)
	}
	if err != nil {
		b.Error(err)
	}
}

// until reads up to a frame of this type and returns how many bytes of media came
// before it. The frame must not say that something failed.
func (h *rawHost) until(b *testing.B, kind string) (bytes int) {
	for {
		t, r, err := h.ws.Reader(context.Background())
		if err != nil {
			b.Error(err)
			return bytes
		}
		if t == websocket.MessageBinary {
			n, _ := io.Copy(io.Discard, r)
			bytes += int(n)
			continue
		}
		var f struct {
			Type    string
			Code    string
			Message string
		}
		if err := json.NewDecoder(r).Decode(&f); err != nil || f.Code != "" {
			b.Error(err, f)
		}
		_, _ = io.Copy(io.Discard, r)
		if f.Type == kind {
			return bytes
		}
	}
}

// put brings a file whose hash is known: the host's own work is not measured.
func (h *rawHost) put(b *testing.B, id string, data []byte, sum string) {
	h.send(b, map[string]any{
		"type": "media.put", "media_id": id, "kind": "document", "mime": "application/zip", "size": len(data), "filename": "a.zip", "sha256": sum,
	})
	sendFrames(b, h.ws, data)
	h.send(b, map[string]any{"type": "media.put.end", "media_id": id})
	h.until(b, "media.put.ack")
}

func (h *rawHost) get(b *testing.B, id string, size int) {
	h.send(b, map[string]any{"type": "media.get", "media_id": id, "offset": 0})
	if n := h.until(b, "media.get.end"); n != size {
		b.Errorf("%d bytes came, want %d", n, size)
	}
}
