package handlers_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/cloudstore/storetest"
	"iris-gateway/handlers"
	"iris-gateway/iris"
)

// random returns n bytes that nothing can be guessed of.
func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(data)
	return data
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// put announces a medium; fields replace what is true of it.
func (p *peer) put(id string, data []byte, fields map[string]any) {
	p.t.Helper()
	f := map[string]any{
		"type": "media.put", "media_id": id, "kind": "image", "mime": "image/png", "size": len(data), "filename": "a.png", "sha256": hashOf(data),
	}
	for name, value := range fields {
		f[name] = value
	}
	encoded, err := json.Marshal(f)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send("%s", encoded)
}

// bytes sends binary frames.
func (p *peer) bytes(data []byte) {
	p.t.Helper()
	for part := range slices.Chunk(data, 64<<10) {
		ctx, cancel := context.WithTimeout(p.t.Context(), patience)
		err := p.ws.Write(ctx, websocket.MessageBinary, part)
		cancel()
		if err != nil {
			p.t.Fatalf("%s: write: %v", p.name, err)
		}
	}
}

func (p *peer) putEnd(id string) { p.t.Helper(); p.send(`{"type":"media.put.end","media_id":%q}`, id) }

// putAck waits for the answer to a put.
func (p *peer) putAck(id string) frame {
	p.t.Helper()
	ack := p.next("media.put.ack")
	if ack["media_id"] != id {
		p.t.Fatalf("%s: %v, want the answer to %s", p.name, ack, id)
	}
	return ack
}

// bring puts a whole medium, which must be taken.
func (p *peer) bring(id string, data []byte) {
	p.t.Helper()
	p.put(id, data, nil)
	p.bytes(data)
	p.putEnd(id)
	if ack := p.putAck(id); ack["ok"] != true {
		p.t.Fatalf("%s: %v", p.name, ack)
	}
}

// get asks for a medium and returns the frames around its bytes, and them.
func (p *peer) get(id string, offset int) (start, end frame, data []byte) {
	p.t.Helper()
	p.send(`{"type":"media.get","media_id":%q,"offset":%d}`, id, offset)
	end = p.until("media.get.end", func(f frame) bool {
		switch f["type"] {
		case "media.get.start":
			start = f
		case "binary":
			data = append(data, f["bytes"].(chunk)...)
		}
		return f.is("media.get.end")
	})
	return start, end, data
}

// stored reads a medium from the store.
func stored(t testing.TB, s handlers.MediaStore, gateway, id string) (iris.Media, []byte) {
	t.Helper()
	m, r, err := s.OpenMedia(t.Context(), gateway, id, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return m, data
}

// mediaHost is a gateway with a host, and a phone.
type mediaHost struct {
	*world
	media   handlers.MediaStore
	objects storetest.Objects
}

func newMediaHost(t *testing.T) mediaHost {
	s := memstore.New()
	return mediaHost{newWorld(t, s), s, storetest.Objects{All: s.Objects, Lasting: s.Lasting}}
}

// onMediaHosts runs a test over both stores.
func onMediaHosts(t *testing.T, test func(w mediaHost)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { t.Parallel(); test(newMediaHost(t)) })
	t.Run("firestore", func(t *testing.T) {
		t.Parallel()
		s, objects := firestoreWithBucket(t)
		test(mediaHost{newWorld(t, s), s.(handlers.MediaStore), objects})
	})
}

// alive holds that the connection goes on: a put works.
func (w mediaHost) alive() {
	w.Helper()
	w.host.bring(fmt.Sprint("md_alive", w.pages), random(70_000))
	w.pages++
}

func TestHostMediaRoundTrip(t *testing.T) {
	onMediaHosts(t, func(w mediaHost) {
		for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 8<<20 - 1, 8 << 20, 8<<20 + 1, 64 << 20} {
			id, data := fmt.Sprint("md_", size), random(size)
			w.host.bring(id, data)
			if m, kept := stored(w, w.media, w.g, id); !bytes.Equal(kept, data) || m.SHA256 != hashOf(data) {
				w.Errorf("%d bytes: the store has %d others, %+v", size, len(kept), m)
			}
			offsets := []int{0, size / 3, size}
			if size > 16<<20 {
				offsets = offsets[:1]
			}
			for _, offset := range offsets {
				start, end, got := w.host.get(id, offset)
				if end["ok"] != true || !bytes.Equal(got, data[offset:]) {
					w.Errorf("%d bytes from %d: got %d, %v", size, offset, len(got), end)
				}
				if start["size"] != float64(size) || start["sha256"] != hashOf(data) || start["media_id"] != id {
					w.Errorf("%d bytes: %v", size, start)
				}
			}
		}
	})
}

// The event follows the bytes: devices are offered what the store has found the
// medium to be.
func TestHostMediaEvent(t *testing.T) {
	onMediaHosts(t, func(w mediaHost) {
		page := []byte("<!DOCTYPE html><html><script>alert(1)</script></html>")
		w.host.put("md_1", page, map[string]any{"filename": "../../Grüße 🌈.png"})
		w.host.bytes(page)
		w.host.putEnd("md_1")
		if ack := w.host.putAck("md_1"); ack["ok"] != true {
			w.Fatal(ack)
		}
		body := `{"message_id":"m_9","media_id":"md_1","kind":"image","mime":"image/png","size":7,"filename":"x.png","caption":"Look","reply_to":"m_8","sha256":"` + hashOf(nil) + `"}`
		w.event("media", "tn_1", body)
		offer, message := w.phone.next("media.offer"), w.phone.next("message")
		want := map[string]any{"media_id": "md_1", "kind": "document", "mime": "text/plain", "size": float64(len(page)), "filename": "Grüße 🌈.png"}
		if got := offer.payload(); fmt.Sprint(got) != fmt.Sprint(want) {
			w.Errorf("offer is %v, want %v", got, want)
		}
		got := message.payload()
		if fmt.Sprint(got["media"]) != fmt.Sprint([]any{want}) || got["text"] != "Look" || got["role"] != "assistant" || got["reply_to"] != "m_8" {
			w.Errorf("message is %v", got)
		}
		row, err := w.store.Message(w.Context(), w.g, "m_9")
		if err != nil || len(row.Media) != 1 || row.Media[0].ID != "md_1" || row.Media[0].SHA256 != hashOf(page) {
			w.Errorf("row is %+v, %v", row, err)
		}
	})
}

// What a host says of a medium is looked at as what a device says.
func TestHostMediaNamesAndTypes(t *testing.T) {
	t.Parallel()
	w := newMediaHost(t)
	for i, tt := range describedMedia {
		if len(tt.name) > 255 { // refused: see TestHostMediaRefused
			continue
		}
		id := fmt.Sprint("md_", i)
		w.host.put(id, []byte(tt.bytes), map[string]any{"kind": tt.kind, "mime": tt.mime, "filename": tt.name})
		w.host.bytes([]byte(tt.bytes))
		w.host.putEnd(id)
		if ack := w.host.putAck(id); ack["ok"] != true {
			t.Errorf("%q: %v", tt.name, ack)
			continue
		}
		m, kept := stored(t, w.media, w.g, id)
		if string(kept) != tt.bytes {
			t.Errorf("%q of type %q: %d other bytes", tt.name, tt.mime, len(kept))
		}
		for _, field := range [][2]string{{m.Filename, tt.wantName}, {m.MIME, tt.wantMime}, {m.Kind, tt.wantKind}} {
			if field[1] != "" && field[0] != field[1] {
				t.Errorf("%q of type %q, bytes %.20q: %q, want %q", tt.name, tt.mime, tt.bytes, field[0], field[1])
			}
		}
	}
}

// A medium that the store does not have cannot be shown: the event is taken
// nevertheless, and people are told.
func TestHostMediaEventWithoutMedium(t *testing.T) {
	t.Parallel()
	w := newMediaHost(t)
	w.event("media", "tn_1", `{"message_id":"m_9","media_id":"md_none","sha256":"`+hashOf(nil)+`"}`)
	if note := w.phone.next("notification"); !strings.Contains(note.text("body"), `no medium "md_none"`) {
		t.Errorf("got %v", note)
	}
	if got := w.collect(w.phone); slices.Contains(types(got), "media.offer") {
		t.Errorf("got %v", got)
	}
	w.alive()
}

func TestHostMediaRefused(t *testing.T) {
	onMediaHosts(t, func(w mediaHost) {
		data := random(300_000)
		for name, c := range map[string]struct {
			fields map[string]any
			sent   []byte
			end    bool
			code   string
			text   string
		}{
			"too large":       {map[string]any{"size": 64<<20 + 1}, data, true, "media_too_large", "67108865"},
			"wrong hash":      {map[string]any{"sha256": hashOf(nil)}, data, true, "unsupported", "sha256"},
			"less than said":  {nil, data[:100_000], true, "unsupported", "100000"},
			"more than said":  {nil, append(random(100_000), data...), true, "media_too_large", "300000"},
			"no hash":         {map[string]any{"sha256": ""}, data, true, "unsupported", "sha256"},
			"negative size":   {map[string]any{"size": -1}, data, true, "unsupported", "size"},
			"size is no size": {map[string]any{"size": "big"}, data, true, "unsupported", "size"},
			"long name":       {map[string]any{"filename": strings.Repeat("n", 300)}, data, true, "unsupported", "filename"},
		} {
			id := "md_" + strings.ReplaceAll(name, " ", "_")
			w.host.put(id, data, c.fields)
			w.host.bytes(c.sent)
			w.host.putEnd(id)
			ack := w.host.putAck(id)
			if text, _ := ack["message"].(string); ack["ok"] == true || ack["code"] != c.code || !strings.Contains(text, c.text) {
				w.Errorf("%s: %v", name, ack)
			}
			if _, err := w.media.Media(w.Context(), w.g, id); iris.ErrorCode(err) != iris.CodeNotFound {
				w.Errorf("%s: the store has it (%v)", name, err)
			}
			w.alive()
		}
		complete, _, err := w.media.ExportMedia(w.Context(), w.g, "", 100)
		if err != nil {
			w.Fatal(err)
		}
		if left := w.objects.All(); len(left) != len(complete) {
			w.Errorf("of %d media there are %v", len(complete), left)
		}
	})
}

func TestHostMediaQuota(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	s.Limits.Quota = 100_000
	w := newWorld(t, s)
	w.host.put("md_0", random(60_000), map[string]any{"sha256": hashOf(nil)})
	w.host.bytes(random(60_000))
	w.host.putEnd("md_0")
	if ack := w.host.putAck("md_0"); ack["ok"] == true {
		t.Errorf("got %v", ack)
	}
	w.host.bring("md_1", random(60_000)) // what was refused counts no more
	w.host.put("md_2", random(60_000), nil)
	if ack := w.host.putAck("md_2"); ack["code"] != "media_too_large" || !strings.Contains(ack["message"].(string), "100000") {
		t.Errorf("got %v", ack)
	}
	w.host.bring("md_3", random(40_000))
}

// Binary frames, ends and frames of other media out of place: swallowed.
func TestHostMediaOutOfPlace(t *testing.T) {
	t.Parallel()
	w := newMediaHost(t)
	w.host.bytes(random(300_000))
	w.host.putEnd("md_nobody")
	w.host.send(`{"type":"media.put.end"}`)
	w.host.send(`{"type":"media.put"}`)
	w.host.next("media.put.ack") // it waits for one
	w.host.send(`{"type":"media.get","media_id":7}`)
	w.alive()

	// A put within a put: the first is void, the second is taken.
	first, second := random(200_000), random(100_000)
	w.host.put("md_1", first, nil)
	w.host.bytes(first[:100_000])
	w.host.put("md_2", second, nil)
	w.host.bytes(second)
	w.host.putEnd("md_1") // of another one
	w.host.putEnd("md_2")
	if ack := w.host.putAck("md_1"); ack["code"] != "unsupported" {
		t.Errorf("got %v", ack)
	}
	if ack := w.host.putAck("md_2"); ack["ok"] != true {
		t.Errorf("got %v", ack)
	}
	// So it is when the second one cannot be read.
	w.host.put("md_1", first, nil)
	w.host.bytes(first[:100_000])
	w.host.put("md_3", second, map[string]any{"sha256": "?"})
	w.host.bytes(second)
	w.host.putEnd("md_3")
	w.host.next("media.put.ack")
	w.host.next("media.put.ack")
	w.alive()
}

// A host that has not heard of the ack brings the medium again.
func TestHostMediaTwice(t *testing.T) {
	onMediaHosts(t, func(w mediaHost) {
		data := random(3 << 20)
		w.host.bring("md_1", data)
		w.host.drop()
		w.attachHost()
		w.host.bring("md_1", data)
		w.host.put("md_1", data, map[string]any{"resume": true})
		if ready := w.host.next("media.put.ready"); ready["offset"] != float64(len(data)) {
			w.Errorf("got %v", ready)
		}
		w.host.putEnd("md_1")
		if ack := w.host.putAck("md_1"); ack["ok"] != true {
			w.Errorf("got %v", ack)
		}
		other := slices.Concat(data[1:], []byte{1})
		w.host.put("md_1", other, nil)
		w.host.bytes(other)
		w.host.putEnd("md_1")
		if ack := w.host.putAck("md_1"); ack["ok"] == true { // ids are never used again
			w.Errorf("got %v", ack)
		}
		if _, kept := stored(w, w.media, w.g, "md_1"); !bytes.Equal(kept, data) {
			w.Error("a medium was changed")
		}
	})
}

// The connection is cut at random offsets, and comes back to another instance:
// the put goes on where the store has it up to.
func TestHostMediaResumed(t *testing.T) {
	onMediaHosts(t, func(w mediaHost) {
		inParts(w.store)
		data, at, resumed := random(20<<20+7), 0, 0
		m := killable(w.store)
		for cut := range 5 {
			w.host.put("md_1", data, map[string]any{"resume": true})
			at = int(w.host.next("media.put.ready")["offset"].(float64))
			if at > 0 {
				resumed++
			}
			w.host.bytes(data[at:min(len(data), at+rand.IntN(8<<20))])
			switch cut % 3 {
			case 0:
				w.host.drop()
			case 1:
				w.in.stop() // as a deployment does
				m = killable(w.store)
				w.in = startWith(w.T, w.store, m.with)
			case 2:
				m.kill()
				w.host.drop()
				w.in = startWith(w.T, w.store)
			}
			w.attachHost()
		}
		w.host.put("md_1", data, map[string]any{"resume": true})
		at = int(w.host.next("media.put.ready")["offset"].(float64))
		w.host.bytes(data[at:])
		w.host.putEnd("md_1")
		if ack := w.host.putAck("md_1"); ack["ok"] != true {
			w.Fatal(ack)
		}
		if resumed == 0 {
			w.Error("nothing was ever kept")
		}
		if _, kept := stored(w, w.media, w.g, "md_1"); !bytes.Equal(kept, data) {
			w.Error("other bytes are kept")
		}
		if left := w.objects.Lasting(); len(left) != 1 {
			w.Errorf("of one medium there are %v", left)
		}
	})
}

func TestHostMediaGetRefused(t *testing.T) {
	onMediaHosts(t, func(w mediaHost) {
		w.host.bring("md_1", random(100))
		g, token := w.in.gateway()
		stranger, _ := w.in.host(token, "e", 0, 0, "")
		stranger.bring("md_theirs", random(100))
		for name, c := range map[string]struct {
			id     string
			offset int
			code   string
		}{
			"unknown":           {"md_none", 0, "not_found"},
			"another gateway's": {"md_theirs", 0, "not_found"},
			"behind the end":    {"md_1", 101, "unsupported"},
			"before the start":  {"md_1", -1, "unsupported"},
			"without a name":    {"", 0, "unsupported"},
		} {
			start, end, data := w.host.get(c.id, c.offset)
			if start != nil || len(data) > 0 || end["ok"] == true || end["code"] != c.code || end["media_id"] != c.id {
				w.Errorf("%s: %v, %v, %d bytes", name, start, end, len(data))
			}
			w.alive()
		}
		if _, _, data := stranger.get("md_theirs", 0); len(data) != 100 {
			w.Errorf("%s cannot get what is its own", g)
		}
	})
}

// While a large medium goes to the host, a person's message does not wait for its
// end: it comes as soon as the bytes that are on their way have been read.
func TestHostMediaLeavesRoom(t *testing.T) {
	t.Parallel()
	w := newMediaHost(t)
	w.host.bring("md_1", random(8<<20))
	w.host.drop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	host := w.reader(ctx)
	host.write(`{"type":"media.get","media_id":"md_1","offset":0}`)
	for host.next() != "binary" {
	}
	// The host reads nothing now, and so answers no ping: the gateway waits.
	w.phone.send(`{"type":"message.send","id":"1","payload":{"text":"hi"}}`)
	w.phone.until("echo", func(f frame) bool { return f["id"] == "1" })
	chunks := 0
	for kind := host.next(); kind != "inbound"; kind = host.next() {
		if kind == "media.get.end" {
			t.Fatal("the message came behind the medium")
		}
		chunks++
	}
	// Two stretches of 128 KiB were on their way, of which one chunk was read before.
	if chunks > 3 {
		t.Errorf("%d chunks came before the message", chunks)
	}
}

// reader is a host that reads only when it is told to.
type reader struct {
	t   testing.TB
	ctx context.Context
	ws  *websocket.Conn
}

func (w mediaHost) reader(ctx context.Context) reader {
	w.Helper()
	header := map[string][]string{"Authorization": {"Bearer " + w.hostToken}}
	ws, _, err := websocket.Dial(ctx, w.in.url+"/host", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(1 << 20)
	r := reader{w.T, ctx, ws}
	r.write(`{"type":"hello","protocol":1,"epoch":"e1","process":"p1","last_seq":0,"received":0,"agent":{}}`)
	for r.next() != "hello.ack" {
	}
	return r
}

func (r reader) write(text string) {
	r.t.Helper()
	if err := r.ws.Write(r.ctx, websocket.MessageText, []byte(text)); err != nil {
		r.t.Fatal(err)
	}
}

// next returns the type of the next frame.
func (r reader) next() string {
	r.t.Helper()
	kind, data, err := r.ws.Read(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	if kind == websocket.MessageBinary {
		return "binary"
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		r.t.Fatal(err)
	}
	return f["type"].(string)
}

// stuckStore opens no upload until it is told to.
type stuckStore struct {
	*memstore.Store
	open chan struct{}
}

func (s stuckStore) BeginUpload(ctx context.Context, g, key string, m iris.Media, resume bool) (iris.Upload, error) {
	<-s.open
	return s.Store.BeginUpload(ctx, g, key, m, resume)
}

// A store that is slow does not hold up the host's events while there is room.
func TestHostMediaSlowStore(t *testing.T) {
	t.Parallel()
	s := stuckStore{memstore.New(), make(chan struct{})}
	w := newWorld(t, s)
	data := random(100_000)
	w.host.put("md_1", data, nil)
	w.host.bytes(data)
	w.host.putEnd("md_1")
	w.event("notice", "", `{"key":"k","text":"meanwhile"}`)
	close(s.open)
	if ack := w.host.putAck("md_1"); ack["ok"] != true {
		t.Error(ack)
	}
}

// Without a place for media the host is told so, and people too.
func TestHostMediaOff(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New(), func(c *handlers.Config) { c.Media = nil })
	_, token := in.gateway()
	host, ack := in.host(token, "e", 0, 0, "")
	if ack["media_max_bytes"] != 0.0 {
		t.Errorf("got %v", ack)
	}
	host.put("md_1", nil, nil)
	if ack := host.putAck("md_1"); ack["code"] != "unsupported" {
		t.Errorf("got %v", ack)
	}
	if _, end, _ := host.get("md_1", 0); end["code"] != "unsupported" {
		t.Errorf("got %v", end)
	}
	host.event(1, "media", "tn_1", `{"message_id":"m_9","media_id":"md_1","sha256":"`+hashOf(nil)+`"}`)
	host.acked(1)
}
