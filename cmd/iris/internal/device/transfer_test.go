package device_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/gatewaytest"
	"iris-gateway/iris"
)

// cutting cuts the network whenever so many bytes have passed.
type cutting struct {
	g    *gatewaytest.Gateway
	left int
	cuts int
}

func (c *cutting) pass(n int) {
	if c.left -= n; c.left < 0 {
		c.left = 3 << 20
		c.cuts++
		c.g.Cut()
	}
}

type cuttingReader struct {
	io.ReaderAt
	*cutting
}

func (r cuttingReader) ReadAt(p []byte, off int64) (int, error) {
	r.pass(len(p))
	return r.ReaderAt.ReadAt(p, off)
}

type cuttingWriter struct {
	bytes.Buffer
	*cutting
}

func (w *cuttingWriter) Write(p []byte) (int, error) {
	w.pass(len(p))
	return w.Buffer.Write(p)
}

// Files arrive as they are, however often the network is cut meanwhile.
func TestFileOverCuts(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	p := dial(t, g, device.Config{Token: g.Pair(), DeviceID: "d1"})
	data := make([]byte, 20<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	up := &cutting{g: g, left: len(data) + 2<<20} // the first pass only adds up
	ref, err := p.Upload(ctx, device.File{
		Name: "a.bin", Kind: "document", Size: int64(len(data)),
		ReaderAt: cuttingReader{bytes.NewReader(data), up},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.SendMedia(iris.Lane{ChatID: iris.DefaultChat}, "", []string{ref}); err != nil {
		t.Fatal(err)
	}
	sent := p.until("the echo", func(e device.Event) bool { _, ok := e.(device.Sent); return ok }).(device.Sent)
	if len(sent.Message.Media) != 1 {
		t.Fatalf("message %+v", sent.Message)
	}
	w := &cuttingWriter{cutting: &cutting{g: g, left: 2 << 20}}
	if err := p.Download(ctx, sent.Message.Media[0].MediaID, w); err != nil {
		t.Fatal(err)
	}
	if up.cuts < 3 || w.cuts < 3 {
		t.Errorf("cut %d and %d times, want at least 3", up.cuts, w.cuts)
	}
	if !bytes.Equal(w.Bytes(), data) {
		t.Errorf("%d bytes came, want %d", w.Len(), len(data))
	}
}

// What the gateway will not take is told, not tried for ever.
func TestFileRefused(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	p := dial(t, g, device.Config{Token: g.Pair(), DeviceID: "d1"})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	large := device.File{Name: "a", Size: 65 << 20, ReaderAt: zeros{}}
	if _, err := p.Upload(ctx, large); err == nil || !strings.Contains(err.Error(), "67108864") {
		t.Errorf("too large: %v", err)
	}
	if err := p.Download(ctx, "md_none", io.Discard); err == nil || !strings.Contains(err.Error(), "md_none") {
		t.Errorf("not there: %v", err)
	}
	shrinks := &shrinking{left: 100 << 10} // the first pass only adds up
	if _, err := p.Upload(ctx, device.File{Name: "b", Kind: "document", Size: 100 << 10, ReaderAt: shrinks}); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("a file that shrinks: %v", err)
	}
	if _, err := p.Upload(ctx, device.File{Name: "c", Kind: "document", Size: 100 << 10, ReaderAt: zeros{}}); err != nil {
		t.Errorf("behind it: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := p.Download(short, "md_none", io.Discard); err == nil {
		t.Error("no error although the time is up")
	}
}

type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) { clear(p); return len(p), nil }

// shrinking can be read once.
type shrinking struct{ left int }

func (s *shrinking) ReadAt(p []byte, off int64) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, io.EOF
	}
	return zeros{}.ReadAt(p, off)
}
