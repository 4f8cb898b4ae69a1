package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// File is a file that a phone sends.
type File struct {
	Kind, Mime, Name string
	Data             []byte
}

// Upload brings a file to the gateway; message.send names it by ref.
func (d *Device) Upload(t testing.TB, ref string, f File) {
	t.Helper()
	start, err := json.Marshal(map[string]any{"v": 1, "type": "media.upload.start", "payload": map[string]any{
		"media_ref": ref, "kind": f.Kind, "mime": f.Mime, "size": len(f.Data), "filename": f.Name,
	}})
	if err != nil {
		t.Fatal(err)
	}
	d.Write(t, string(start))
	for part := range slices.Chunk(f.Data, 64<<10) {
		d.writeBinary(t, part)
	}
	sum := sha256.Sum256(f.Data)
	ack := d.Request(t, "media.upload.end", "", map[string]any{"media_ref": ref, "sha256": hex.EncodeToString(sum[:])})
	if ack.Type != "media.upload.ack" || !ack.Body.OK {
		t.Fatalf("%s: the upload of %s was answered by %s", d.Name, f.Name, ack)
	}
}

func (d *Device) writeBinary(t testing.TB, data []byte) {
	t.Helper()
	d.mu.Lock()
	conn := d.conn
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageBinary, data); err != nil {
		t.Fatalf("%s: write %d bytes: %v", d.Name, len(data), err)
	}
}

// Pull fetches the bytes of a medium.
func (d *Device) Pull(t testing.TB, mediaID string) []byte {
	t.Helper()
	mark := d.Mark()
	header := d.Request(t, "media.pull", "", map[string]any{"media_id": mediaID})
	if header.Type != "media.pull" {
		t.Fatalf("%s: media.pull was answered by %s", d.Name, header)
	}
	end := d.Await(t, mark, "media.pull.end", Is("media.pull.end"))
	if !end.Body.OK {
		t.Fatalf("%s: the pull ended by %s", d.Name, end)
	}
	var data []byte
	for _, f := range d.Frames(mark) {
		data = append(data, f.Bytes...)
	}
	return data
}
