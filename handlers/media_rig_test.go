package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore"
	"iris-gateway/cloudstore/memstore"
	"iris-gateway/cloudstore/storetest"
	"iris-gateway/handlers"
	"iris-gateway/iris"
)

// onStores runs a test over both stores.
func onStores(t *testing.T, test func(t *testing.T, s store)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { t.Parallel(); test(t, memstore.New()) })
	t.Run("firestore", func(t *testing.T) { t.Parallel(); test(t, firestore(t)) })
}

// sending is an upload as a device makes it.
type sending struct {
	Ref      string `json:"media_ref"`
	Kind     string `json:"kind"`
	Mime     string `json:"mime"`
	Size     int    `json:"size"`
	Filename string `json:"filename"`
	Resume   bool   `json:"resume,omitempty"`
}

// sendingOf announces the bytes b.
func sendingOf(ref string, b []byte) sending {
	return sending{Ref: ref, Kind: "document", Filename: "a.bin", Size: len(b)}
}

func (p *peer) start(id any, s sending) {
	p.t.Helper()
	payload, err := json.Marshal(s)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(`{"type":"media.upload.start","id":%q,"payload":%s}`, id, payload)
}

// startAt starts an upload with resume and returns where it goes on.
func (p *peer) startAt(s sending) int {
	p.t.Helper()
	s.Resume = true
	p.start("start", s)
	ready := p.until("media.upload.ready", func(f frame) bool { return f["id"] == "start" })
	if !ready.is("media.upload.ready") {
		p.t.Fatalf("start of %s: %v", s.Ref, ready)
	}
	return int(ready.payload()["offset"].(float64))
}

// write sends binary frames.
func (p *peer) write(b []byte) error {
	const size = 200_001 // never the gateway's chunks
	for len(b) > 0 {
		n := min(len(b), size)
		ctx, cancel := context.WithTimeout(p.t.Context(), patience)
		err := p.ws.Write(ctx, websocket.MessageBinary, b[:n])
		cancel()
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// end ends an upload and returns the answer.
func (p *peer) end(ref, sum string) frame {
	p.t.Helper()
	p.send(`{"type":"media.upload.end","id":"end","payload":{"media_ref":%q,"sha256":%q}}`, ref, sum)
	return p.until("the answer to end", func(f frame) bool { return f["id"] == "end" })
}

// upload sends a medium from start to ack.
func (p *peer) upload(s sending, b []byte) {
	p.t.Helper()
	p.start("start", s)
	if err := p.write(b); err != nil {
		p.t.Fatal(err)
	}
	if f := p.end(s.Ref, hashOf(b)); !f.is("media.upload.ack") || f.payload()["ok"] != true {
		p.t.Fatalf("end of %s: %v", s.Ref, f)
	}
}

// sendMedia sends a message with media and returns their list in the echo.
func (p *peer) sendMedia(refs ...string) []map[string]any {
	p.t.Helper()
	list, _ := json.Marshal(refs)
	p.send(`{"type":"message.send","id":"send","payload":{"text":"look","media_refs":%s}}`, list)
	echo := p.until("the echo", func(f frame) bool { return f["id"] == "send" })
	if !echo.is("message") {
		p.t.Fatalf("message.send: %v", echo)
	}
	return mediaOf(echo.payload())
}

// mediaOf returns the media of a message.
func mediaOf(message map[string]any) []map[string]any {
	var all []map[string]any
	list, _ := message["media"].([]any)
	for _, m := range list {
		all = append(all, m.(map[string]any))
	}
	return all
}

func mediaID(m map[string]any) string { id, _ := m["media_id"].(string); return id }

// pull gets a medium from an offset on, and checks the frames around the bytes.
func (p *peer) pull(id string, offset int) (header map[string]any, b []byte) {
	p.t.Helper()
	p.send(`{"type":"media.pull","id":"pull","payload":{"media_id":%q,"offset":%d}}`, id, offset)
	return p.pulled("pull")
}

// pulled takes the answer to a pull.
func (p *peer) pulled(id string) (header map[string]any, b []byte) {
	p.t.Helper()
	f := p.until("media.pull", func(f frame) bool { return f["id"] == id })
	if !f.is("media.pull") {
		p.t.Fatalf("pull: %v", f)
	}
	header = f.payload()
	end := p.until("media.pull.end", func(f frame) bool {
		if f.is("binary") {
			b = append(b, f["bytes"].(chunk)...)
		}
		return f["id"] == id
	})
	if !end.is("media.pull.end") || end.payload()["ok"] != true {
		p.t.Fatalf("end of the pull: %v", end)
	}
	return header, b
}

// holds fails unless the medium has these bytes, and says so.
func (p *peer) holds(id string, want []byte) map[string]any {
	p.t.Helper()
	header, got := p.pull(id, 0)
	if !bytes.Equal(got, want) {
		p.t.Errorf("%d bytes with hash %s, want %d with %s", len(got), hashOf(got), len(want), hashOf(want))
	}
	if header["sha256"] != hashOf(want) || header["size"] != float64(len(want)) {
		p.t.Errorf("header %v of %d bytes with hash %s", header, len(want), hashOf(want))
	}
	return header
}

// refused fails unless the next answer to id is an error of this code whose text
// has all these words, and the connection still works.
func (p *peer) refused(id any, code string, words ...string) {
	p.t.Helper()
	f := p.until("an error", func(f frame) bool { return f.is("error") || f["id"] == id && id != nil })
	if f["id"] != id || f.text("code") != code {
		p.t.Errorf("answer %v, want error %s with id %v", f, code, id)
	}
	for _, w := range words {
		if !strings.Contains(f.text("message"), w) {
			p.t.Errorf("%q does not tell of %q", f.text("message"), w)
		}
	}
	p.works()
}

// works fails unless the connection answers.
func (p *peer) works() {
	p.t.Helper()
	p.send(`{"type":"ping","id":"works"}`)
	p.until("pong", func(f frame) bool { return f["id"] == "works" })
}

// mortal is a store of media whose instance may be killed: what it does after
// that does not happen.
type mortal struct {
	handlers.MediaStore
	dead atomic.Bool
}

func killable(s store) *mortal { return &mortal{MediaStore: s.(handlers.MediaStore)} }

func (m *mortal) with(cfg *handlers.Config) { cfg.Media = m }

func (m *mortal) kill() { m.dead.Store(true) }

func (m *mortal) BeginUpload(ctx context.Context, g, key string, medium iris.Media, resume bool) (iris.Upload, error) {
	u, err := m.MediaStore.BeginUpload(ctx, g, key, medium, resume)
	return mortalUpload{u, m}, err
}

type mortalUpload struct {
	iris.Upload
	of *mortal
}

var errKilled = fmt.Errorf("killed")

func (u mortalUpload) Write(p []byte) (int, error) {
	if u.of.dead.Load() {
		return 0, errKilled
	}
	return u.Upload.Write(p)
}

func (u mortalUpload) Finish(ctx context.Context, sum string) (iris.Media, error) {
	if u.of.dead.Load() {
		return iris.Media{}, errKilled
	}
	return u.Upload.Finish(ctx, sum)
}

func (u mortalUpload) Suspend() error {
	if u.of.dead.Load() {
		return nil
	}
	return u.Upload.Suspend()
}

func (u mortalUpload) Abort() error {
	if u.of.dead.Load() {
		return nil
	}
	return u.Upload.Abort()
}

// inParts makes a store keep uploads in parts of 8 MiB, however fast they come.
func inParts(s store) {
	switch s := s.(type) {
	case *memstore.Store:
		s.Now = storetest.Hasty(s.Now)
	case *cloudstore.Store:
		s.Now = storetest.Hasty(s.Now)
	}
}
