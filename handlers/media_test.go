package handlers_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"iris-gateway/cloudstore/memstore"
)

// What one phone sends reaches the others and the host, byte by byte.
func TestMediaRoundTrip(t *testing.T) {
	onStores(t, func(t *testing.T, s store) {
		if _, memory := s.(*memstore.Store); memory { // the other store gets each in one part
			inParts(s)
		}
		w, there, phone, other := twoPhones(t, s)
		host := w.host
		_ = there
		sizes := []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 8<<20 - 1, 8 << 20, 8<<20 + 1}
		if !testing.Short() {
			sizes = append(sizes, 64<<20)
		}
		for i, size := range sizes {
			ref, b := fmt.Sprint("mu_", i), random(size)
			phone.upload(sendingOf(ref, b), b)
			echo := phone.sendMedia(ref)
			if len(echo) != 1 || echo[0]["size"] != float64(size) {
				t.Fatalf("%d bytes: media in the echo: %v", size, echo)
			}
			id := mediaID(echo[0])
			if got := mediaOf(other.next("message").payload()); len(got) != 1 || mediaID(got[0]) != id {
				t.Errorf("%d bytes: media at the other phone: %v", size, got)
			}
			other.holds(id, b)
			item := host.next("inbound")["body"].(map[string]any)
			if got := mediaOf(item); len(got) != 1 || mediaID(got[0]) != id || got[0]["sha256"] != hashOf(b) {
				t.Errorf("%d bytes: media at the host: %v", size, got)
			}
		}
	})
}

// Several media keep the order of media_refs: in the echo, in the history, at the
// host, and when a message is sent again.
func TestMediaOrder(t *testing.T) {
	onStores(t, func(t *testing.T, s store) {
		w, there, phone, _ := twoPhones(t, s)
		refs := []string{"c", "a", "b"}
		for _, ref := range []string{"a", "b", "c"} {
			b := []byte("bytes of " + ref)
			up := sendingOf(ref, b)
			up.Filename = ref
			phone.upload(up, b)
		}
		names := func(media []map[string]any) string {
			var all []string
			for _, m := range media {
				all = append(all, m["filename"].(string))
			}
			return strings.Join(all, "")
		}
		const send = `{"type":"message.send","id":"s","payload":{"text":"","client_id":"c1","media_refs":["c","a","b","c"]}}`
		phone.send(send)
		echo := phone.until("echo", func(f frame) bool { return f["id"] == "s" })
		if got := names(mediaOf(echo.payload())); got != "cabc" {
			t.Errorf("echo: %s, want %s", got, refs)
		}
		if got := names(mediaOf(w.host.next("inbound")["body"].(map[string]any))); got != "cabc" {
			t.Errorf("host: %s", got)
		}
		phone.send(`{"type":"history","id":"h","payload":{}}`)
		page := phone.until("history", func(f frame) bool { return f["id"] == "h" }).payload()["messages"].([]any)
		last := page[len(page)-1].(map[string]any)
		if got := names(mediaOf(last)); got != "cabc" {
			t.Errorf("history: %s", got)
		}

		// Again, on another instance, also once a medium is gone.
		again := there.device(w.in.pair(w.g), "phone")
		again.next("status")
		for range 2 {
			again.send(send)
			second := again.until("echo", func(f frame) bool { return f["id"] == "s" })
			if second.text("message_id") != echo.text("message_id") || names(mediaOf(second.payload())) != "cabc" {
				t.Errorf("sent again: %v", second)
			}
			if err := s.(mediaDeleter).DeleteMedia(t.Context(), w.g, mediaID(mediaOf(echo.payload())[0])); err != nil {
				t.Fatal(err)
			}
		}
		again.send(`{"type":"message.send","id":"n","payload":{"text":"","client_id":"c2","media_refs":["c"]}}`)
		again.refused("n", "not_found", `"c"`)
	})
}

// describedMedia are what peers say of media, with the first bytes, and what is kept.
var describedMedia = []struct {
	declared, name, mime, kind string
	bytes                      string
	wantName, wantMime         string
	wantKind                   string
}{
	{name: "Grüße 🐢👩‍👩‍👧.png", wantName: "Grüße 🐢👩‍👩‍👧.png"},
	{name: "写真 レポート.pdf", wantName: "写真 レポート.pdf"},
	{name: `it's "quoted" <b>&amp;.txt`, wantName: `it's "quoted" <b>&amp;.txt`},
	{name: "../../etc/passwd", wantName: "passwd"},
	{name: `..\..\windows\system.ini`, wantName: "system.ini"},
	{name: "a\u0000b\nc\td\u007f.txt", wantName: "abcd.txt"},
	{name: "..", wantName: "file"}, {name: "", wantName: "file"}, {name: "a/", wantName: "file"},
	{name: strings.Repeat("長", 300) + ".jpeg", wantName: strings.Repeat("長", 83) + ".jpeg"},
	{name: strings.Repeat("🐢", 60) + "a.jpeg", wantName: strings.Repeat("🐢", 60) + "a.jpeg"},
	{name: "photo\u202egnp.exe", wantName: "photognp.exe"}, {name: "\u2066a\u2069.png", wantName: "a.png"},
	{name: "שלום \u200fעולם.txt", wantName: "שלום \u200fעולם.txt"},
	{name: "CON", wantName: "CON"}, {name: "aux.txt", wantName: "aux.txt"}, // Windows' own trouble

	{mime: "image/png", kind: "image", bytes: jpeg, wantMime: "image/jpeg", wantKind: "image"},
	{mime: "image/jpeg", kind: "image", bytes: jpeg, wantMime: "image/jpeg", wantKind: "image"},
	{mime: "video/mp4", kind: "video", bytes: png, wantMime: "image/png", wantKind: "image"},
	{mime: "image/png", kind: "document", bytes: png, wantMime: "image/png", wantKind: "document"},
	{mime: "audio/ogg; codecs=opus", kind: "voice", bytes: opus, wantMime: "audio/ogg", wantKind: "voice"},
	{mime: "audio/mp4", kind: "voice", bytes: mp4, wantMime: "audio/mp4", wantKind: "voice"},
	{mime: "image/gif", kind: "animation", bytes: gif, wantMime: "image/gif", wantKind: "animation"},
	{mime: "image/png", kind: "image", bytes: "no picture at all", wantMime: "text/plain", wantKind: "document"},
	{mime: "image/png", kind: "image", bytes: "\x00\x01\x02\x03", wantMime: "application/octet-stream", wantKind: "document"},
	{mime: "image/png", kind: "image", bytes: "", wantMime: "application/octet-stream", wantKind: "document"},
	{mime: "application/pdf", kind: "document", bytes: "%PDF-1.7", wantMime: "application/pdf", wantKind: "document"},
	{mime: "", kind: "", bytes: png, wantMime: "image/png", wantKind: "image"},
	{mime: "nonsense", kind: "nonsense", bytes: "abc", wantMime: "text/plain", wantKind: "document"},

	// Hostile: nothing of it is a type that a browser would run.
	{mime: "image/svg+xml", kind: "image", name: "a.svg", bytes: svg, wantMime: "text/plain", wantKind: "document", wantName: "a.svg"},
	{mime: "image/png", kind: "image", name: "a.png", bytes: svg, wantMime: "text/plain", wantKind: "document", wantName: "a.png"},
	{mime: "image/png", kind: "image", name: "a.png", bytes: html, wantMime: "text/plain", wantKind: "document", wantName: "a.png"},
	{mime: "text/html", kind: "document", bytes: html, wantMime: "text/plain", wantKind: "document"},
	{mime: "application/xhtml+xml", kind: "document", bytes: html, wantMime: "application/octet-stream", wantKind: "document"},
	{mime: "TEXT/HTML; charset=utf-8", kind: "document", bytes: html, wantMime: "text/plain", wantKind: "document"},
	{mime: "text/javascript", kind: "document", bytes: "alert(1)", wantMime: "text/plain", wantKind: "document"},
	{mime: "application/javascript", kind: "document", bytes: "alert(1)", wantMime: "application/octet-stream", wantKind: "document"},
	{mime: "multipart/x-mixed-replace", kind: "document", bytes: html, wantMime: "application/octet-stream", wantKind: "document"},
	{mime: "IMAGE/SVG+XML; charset=utf-8", kind: "image", bytes: svg, wantMime: "text/plain", wantKind: "document"},
	{mime: " text/html", kind: "document", bytes: html, wantMime: "text/plain", wantKind: "document"},
	{mime: "\ufefftext/html", kind: "document", bytes: html, wantMime: "text/plain", wantKind: "document"},
	{mime: "text/html; ;=", kind: "document", bytes: html, wantMime: "text/plain", wantKind: "document"},
	{mime: "image/png", kind: "image", bytes: "\ufeff \n\t" + html, wantMime: "text/plain", wantKind: "document"},
	{mime: "image/png", kind: "image", bytes: "\ufeff \n\t" + svg, wantMime: "text/plain", wantKind: "document"},
	{mime: "", kind: "", bytes: "\n\n" + strings.ToUpper(html), wantMime: "text/plain", wantKind: "document"},
	{mime: "video/mp4", kind: "video", bytes: strings.Repeat(" ", 5000) + html, wantMime: "text/plain", wantKind: "document"},
	{mime: "application/xml", kind: "document", bytes: svg, wantMime: "application/octet-stream", wantKind: "document"},
	{mime: "text/xml", kind: "document", bytes: svg, wantMime: "text/plain", wantKind: "document"},
	{mime: "image/png", kind: "image", name: "bomb.png", bytes: bomb, wantMime: "image/png", wantKind: "image", wantName: "bomb.png"},
}

// Names are people's, but no paths; types are what the bytes are.
func TestMediaNamesAndTypes(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New())
	g, _ := in.gateway()
	phone := in.device(in.pair(g), "phone")
	for i, tt := range describedMedia {
		ref := fmt.Sprint("mu_", i)
		up := sendingOf(ref, []byte(tt.bytes))
		up.Kind, up.Mime, up.Filename = tt.kind, tt.mime, tt.name
		phone.upload(up, []byte(tt.bytes))
		m := phone.sendMedia(ref)[0]
		header := phone.holds(mediaID(m), []byte(tt.bytes))
		for field, want := range map[string]string{"filename": tt.wantName, "mime": tt.wantMime, "kind": tt.wantKind} {
			if m[field] != header[field] {
				t.Errorf("%s: %q in the message, %q in the header", field, m[field], header[field])
			}
			if want != "" && m[field] != want {
				t.Errorf("%q of type %q, bytes %.20q: %s %q, want %q", tt.name, tt.mime, tt.bytes, field, m[field], want)
			}
		}
		if name := m["filename"].(string); len(name) > 255 || !utf8.ValidString(name) {
			t.Errorf("name %q of %d bytes", name, len(name))
		}
	}
}

// First bytes of formats, and hostile content.
const (
	png  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"
	jpeg = "\xff\xd8\xff\xe0\x00\x10JFIF\x00"
	gif  = "GIF89a\x01\x00\x01\x00"
	mp4  = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"
	opus = "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04\x00\x00\x00\x00\x01\x02\x03\x04\x01\x13OpusHead\x01\x01"
	svg  = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	html = `<!DOCTYPE html><html><body><script>alert(1)</script></body></html>`
	// A picture that says it is 65,535 × 65,535.
	bomb = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\xff\xff\x00\x00\xff\xff\x08\x06\x00\x00\x00"
)

// A download that was cut goes on where it stopped, at another instance too.
func TestMediaPullResumes(t *testing.T) {
	onStores(t, func(t *testing.T, s store) {
		w, there, phone, _ := twoPhones(t, s)
		b := random(9<<20 + 12345)
		phone.upload(sendingOf("mu", b), b)
		id := mediaID(phone.sendMedia("mu")[0])
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		token, ins := w.in.pair(w.g), []*instance{w.in, there}
		var got []byte
		for n := 0; len(got) < len(b); n++ {
			p := ins[n%2].device(token, "puller")
			p.next("status")
			p.send(`{"type":"media.pull","id":"pull","payload":{"media_id":%q,"offset":%d}}`, id, len(got))
			header := p.next("media.pull").payload()
			if header["offset"] != float64(len(got)) || header["size"] != float64(len(b)) || header["sha256"] != hashOf(b) {
				t.Fatalf("header %v", header)
			}
			for frames := dice.IntN(60); frames >= 0 && len(got) < len(b); frames-- {
				got = append(got, p.next("binary")["bytes"].(chunk)...)
			}
			p.drop()
		}
		if !bytes.Equal(got, b) {
			t.Errorf("%d bytes with hash %s, want %d with %s", len(got), hashOf(got), len(b), hashOf(b))
		}
	})
}

// Parts of a medium, and several pulls at once: one after the other.
func TestMediaPullsInOrder(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New())
	g, _ := in.gateway()
	phone := in.device(in.pair(g), "phone")
	b := random(300_000)
	phone.upload(sendingOf("mu", b), b)
	id := mediaID(phone.sendMedia("mu")[0])
	ranges := [][2]int{{0, 0}, {10, 20}, {299_999, 0}, {300_000, 0}, {100, 1 << 30}, {0, 1}}
	for i, r := range ranges {
		phone.send(`{"type":"media.pull","id":"p%d","payload":{"media_id":%q,"offset":%d,"length":%d}}`, i, id, r[0], r[1])
	}
	for i, r := range ranges {
		want := b[r[0]:]
		if r[1] > 0 {
			want = want[:min(r[1], len(want))]
		}
		if _, got := phone.pulled(fmt.Sprint("p", i)); !bytes.Equal(got, want) {
			t.Errorf("range %v: %d bytes, want %d", r, len(got), len(want))
		}
	}
	phone.send(`{"type":"media.pull","id":"x","payload":{"media_id":%q,"offset":300001}}`, id)
	phone.refused("x", "unsupported", "300001", "300000")
	phone.send(`{"type":"media.pull","id":"x","payload":{"media_id":"md_none"}}`)
	phone.refused("x", "not_found", "md_none")
}

// A medium belongs to its gateway.
func TestMediaIsolation(t *testing.T) {
	onStores(t, func(t *testing.T, s store) {
		in := startWith(t, s)
		mine, _ := in.gateway()
		theirs, _ := in.gateway()
		phone, stranger := in.device(in.pair(mine), "phone"), in.device(in.pair(theirs), "phone")
		b := []byte("private")
		phone.upload(sendingOf("mu", b), b)
		id := mediaID(phone.sendMedia("mu")[0])
		stranger.send(`{"type":"media.pull","id":"x","payload":{"media_id":%q}}`, id)
		stranger.refused("x", "not_found", id)
		stranger.send(`{"type":"message.send","id":"y","payload":{"text":"","media_refs":["mu"]}}`)
		stranger.refused("y", "not_found", `"mu"`)
		sibling := in.device(in.pair(mine), "sibling") // a media_ref belongs to its device
		sibling.send(`{"type":"message.send","id":"y","payload":{"text":"","media_refs":["mu"]}}`)
		sibling.refused("y", "not_found", `"mu"`)
		sibling.holds(id, b)
	})
}

// Without a bucket a gateway says so, and works otherwise.
func TestMediaOff(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New(), withoutMedia)
	g, hostToken := in.gateway()
	_, ack := in.host(hostToken, "e1", 0, 0, "")
	if ack["media_max_bytes"] != 0.0 {
		t.Errorf("host is told %v", ack)
	}
	phone := in.device(in.pair(g), "phone")
	caps := phone.next("hello.ack").payload()["server_caps"].(map[string]any)
	if caps["media"] != false || caps["media_max_bytes"] != 0.0 {
		t.Errorf("server_caps = %v", caps)
	}
	phone.start("s", sendingOf("mu", []byte("abc")))
	phone.refused("s", "unsupported", "keeps no media")
	if err := phone.write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	phone.send(`{"type":"media.upload.end","id":"e","payload":{"media_ref":"mu","sha256":""}}`)
	phone.send(`{"type":"media.pull","id":"p","payload":{"media_id":"md_1"}}`)
	phone.refused("p", "unsupported", "keeps no media")
	phone.send(`{"type":"message.send","id":"m","payload":{"text":"x","media_refs":["mu"]}}`)
	phone.refused("m", "unsupported", "keeps no media")
}

// With one, devices and hosts are told how much it takes.
func TestMediaOn(t *testing.T) {
	t.Parallel()
	in := startWith(t, memstore.New())
	g, hostToken := in.gateway()
	_, ack := in.host(hostToken, "e1", 0, 0, "")
	caps := in.device(in.pair(g), "phone").next("hello.ack").payload()["server_caps"].(map[string]any)
	if caps["media"] != true || caps["media_max_bytes"] != float64(64<<20) || ack["media_max_bytes"] != float64(64<<20) {
		t.Errorf("server_caps = %v, the host's ack %v", caps, ack)
	}
}
