package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers"
	"iris-gateway/iris"
)

// endless is a store with one large medium, which counts what is read of it.
type endless struct {
	handlers.MediaStore
	size int64
	read atomic.Int64
}

func (e *endless) OpenMedia(context.Context, string, string, int64, int64) (iris.Media, io.ReadCloser, error) {
	return iris.Media{ID: "md_1", Size: e.size}, io.NopCloser(io.LimitReader(e, e.size)), nil
}

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	e.read.Add(int64(len(p)))
	return len(p), nil
}

// A device that takes its time neither fills the gateway's memory nor is sent
// away, and what is said meanwhile does not wait behind the rest of the medium.
func TestMediaSlowDevice(t *testing.T) {
	t.Parallel()
	s := &endless{size: 32 << 20}
	in := startWith(t, memstore.New(), func(cfg *handlers.Config) { cfg.Media = s })
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	slow, _, err := websocket.Dial(t.Context(), in.url+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.CloseNow()
	say := func(format string, args ...any) {
		if err := slow.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	hear := func() (websocket.MessageType, []byte) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		kind, data, err := slow.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return kind, data
	}
	slow.SetReadLimit(1 << 20)
	say(`{"type":"hello","payload":{"token":%q,"device_id":"slow"}}`, in.pair(g))
	hear() // hello.ack
	say(`{"type":"media.pull","id":"p","payload":{"media_id":"md_1"}}`)

	// The device reads nothing, and so answers no ping: two stretches of
	// 128 KiB are all that is sent.
	waitFor(t, "the gateway waits", func() bool { return s.read.Load() >= 256<<10 })
	host.event(1, "notice", "", `{"key":"k","text":"meanwhile"}`)
	host.acked(1)
	if n := s.read.Load(); n > 256<<10 {
		t.Errorf("%d bytes are in memory or on their way, want %d at most", n, 256<<10)
	}
	var bytes, before int
	told := false
	for bytes < int(s.size) {
		kind, data := hear()
		switch {
		case kind == websocket.MessageBinary:
			if bytes += len(data); len(data) > 64<<10 {
				t.Errorf("a frame of %d bytes", len(data))
			}
			if !told {
				before += len(data)
			}
		case wireType(t, data) == "notification":
			told = true
		}
	}
	if before > 256<<10 {
		t.Errorf("the notice waited for %d bytes", before)
	}
	if kind, data := hear(); kind != websocket.MessageText || wireType(t, data) != "media.pull.end" {
		t.Errorf("in the end came %.100s", data)
	}
}

func wireType(t *testing.T, data []byte) string {
	t.Helper()
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(f["type"])
}

// stuck is a store that takes bytes only when it is let.
type stuck struct {
	handlers.MediaStore
	let chan struct{}
}

func (s *stuck) BeginUpload(ctx context.Context, g, key string, m iris.Media, resume bool) (iris.Upload, error) {
	u, err := s.MediaStore.BeginUpload(ctx, g, key, m, resume)
	return &stuckUpload{u, s}, err
}

type stuckUpload struct {
	iris.Upload
	of *stuck
}

func (u *stuckUpload) Write(p []byte) (int, error) {
	<-u.of.let
	return u.Upload.Write(p)
}

// A store that does not take bytes holds up what the device sends behind them,
// not what it is sent, and the bytes that wait are few.
func TestMediaSlowStore(t *testing.T) {
	t.Parallel()
	mem := memstore.New()
	s := &stuck{mem, make(chan struct{})}
	in := startWith(t, mem, func(cfg *handlers.Config) { cfg.Media = s })
	g, hostToken := in.gateway()
	host, _ := in.host(hostToken, "e1", 0, 0, "")
	p := in.device(in.pair(g), "phone")
	p.next("status")
	b := random(2 << 20)
	p.start("s", sendingOf("mu", b))
	wrote := make(chan error, 1)
	go func() { wrote <- p.write(b) }()
	host.event(1, "notice", "", `{"key":"k","text":"meanwhile"}`)
	p.next("notification")
	close(s.let)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if f := p.end("mu", hashOf(b)); !f.is("media.upload.ack") {
		t.Fatalf("end: %v", f)
	}
	p.holds(mediaID(p.sendMedia("mu")[0]), b)
}
