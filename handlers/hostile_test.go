package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"iris-gateway/cloudstore/memstore"
	"iris-gateway/handlers/wire"
)

// nasty are values, as JSON, that are put in the place of every field of every
// request. What is an id is opaque: it must reach the database and come back.
var nasty = map[string]string{
	"number": `5`, "negative": `-1`, "fraction": `1.5`, "beyond int64": `99999999999999999999`, "beyond float64": `1e999`,
	"true": `true`, "null": `null`, "list": `[]`, "list of all": `[null,5,"x",[],{}]`, "object": `{}`,
	"empty": `""`, "NUL": `"a\u0000b"`, "newline": `"a\nb"`, "lone surrogate": `"\ud800"`,
	"slash": `"a/b"`, "path": `"../../x"`, "dot": `"."`, "dots": `".."`, "reserved": `"__x__"`, "emoji": `"🙂🏳️‍🌈"`, "markup": `"<script>&amp;"`,
	"10 kB": `"` + strings.Repeat("k", 10<<10) + `"`, "deep": strings.Repeat("[", 9990) + strings.Repeat("]", 9990),
}

// ids are those of them that the database might not like.
var ids = []string{"slash", "path", "dot", "dots", "reserved", "emoji", "empty", "lone surrogate"}

// mutations returns a frame with each value in the place of each of its fields,
// of the envelope and the payload, and with each field twice.
func mutations(t testing.TB, request string, values []string) []string {
	t.Helper()
	data, err := os.ReadFile("wire/testdata/" + request + ".request.json")
	if err != nil {
		t.Fatal(err)
	}
	var envelope, payload map[string]json.RawMessage
	if err := json.Unmarshal(data, &envelope); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(envelope["payload"], &payload); err != nil {
		t.Fatal(err)
	}
	delete(envelope, "id")
	for _, field := range []string{"v", "chat_id", "thread_id"} {
		if envelope[field] == nil {
			envelope[field] = json.RawMessage("null")
		}
	}
	var all []string
	for _, name := range values {
		value := json.RawMessage(nasty[name])
		for field := range payload {
			all = append(all, with(envelope, "payload", object(payload, field, value)))
		}
		for field := range envelope {
			version := field == "v" && (name == "number" || name == "negative") // another one ends the connection
			if field != "type" && field != "payload" && !version {
				all = append(all, with(envelope, field, string(value)))
			}
		}
		all = append(all, with(envelope, "payload", string(value)))
	}
	for field, value := range payload {
		twice := object(payload, "", nil)
		all = append(all, with(envelope, "payload", fmt.Sprintf(`%s,%q:%s}`, strings.TrimSuffix(twice, "}"), field, value)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// with returns a frame with a field replaced.
func with(envelope map[string]json.RawMessage, field, value string) string {
	return object(envelope, field, json.RawMessage(value))
}

// object writes an object with a field replaced. Its text is put together by
// hand, since no encoder writes what is meant here.
func object(fields map[string]json.RawMessage, replaced string, value json.RawMessage) string {
	var b bytes.Buffer
	for name, raw := range fields {
		if name == replaced {
			raw = value
		}
		fmt.Fprintf(&b, `,%q:%s`, name, raw)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// Whatever stands in a field, a request has one answer, the connection goes on,
// and nobody else notices.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	every := make([]string, 0, len(nasty))
	for name := range nasty {
		every = append(every, name)
	}
	for name, c := range map[string]struct {
		open   func(testing.TB) store
		values []string
	}{
		"memory":    {func(testing.TB) store { return memstore.New() }, every},
		"firestore": {firestore, ids},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := startWith(t, c.open(t))
			g, _ := in.gateway()
			phone, other := in.device(in.pair(g), "d1"), in.device(in.pair(g), "d2")
			phone.next("status")
			other.next("status")
			n := 0
			for _, request := range goldenTypes(t, true) {
				for _, frame := range mutations(t, request, c.values) {
					n++
					phone.send("%s", `{"id":`+fmt.Sprint(n)+","+strings.TrimPrefix(frame, "{"))
					if strings.Contains(request, "upload.start") && !strings.Contains(request, "resume") {
						phone.send(`{"type":"ping","id":%d}`, n) // it may have no answer of its own
					}
					answered(t, phone, n, frame)
				}
			}
			t.Logf("%d frames", n)
			other.send(`{"type":"ping","id":1}`)
			other.next("pong")
		})
	}
}

func answered(t *testing.T, p *peer, id int, sent string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("sent: %.300s", sent)
		}
	}()
	f := p.until("answer", func(f frame) bool { return f["id"] == float64(id) })
	if f.is("error") && (f.text("message") == "" || len(f.text("message")) > 300) {
		t.Errorf("error = %v", f)
	}
	if f.text("code") == "internal" && !strings.Contains(f.text("message"), "agent host") {
		t.Errorf("%.300s: %v", sent, f)
	}
}

// What is no frame at all is told so, nineteen times.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	in := start(t, memstore.New())
	g, _ := in.gateway()
	token := in.pair(g)
	other := in.device(in.pair(g), "d2")
	other.next("status")
	for _, data := range []string{
		"\xff\xfe", "{\"type\":\"ping\",\"id\":1,\"payload\":{\"ts\":\"\xc3\x28\"}}", "{\"type\":\"pi\x00ng\"}", "", " ", "null", "[]", "5", `"x"`,
		`{"type":null}`, `{"type":"ping"`, `{"type":"ping"}}`, strings.Repeat("[", 10000), `{'type':'ping'}`,
	} {
		phone := in.device(token, "d1")
		phone.next("status")
		for range 19 {
			phone.send("%s", data)
			if !strings.HasPrefix(data, "\xff") && !strings.Contains(data, "\xc3") { // the library itself may cut bad UTF-8
				if f := phone.next("error"); f.text("code") != "unsupported" || f["id"] != nil {
					t.Errorf("%.60q: %v", data, f)
				}
			}
		}
		phone.send(`{"type":"ping","id":1}`)
		phone.next("pong")
		phone.send("%s", data)
		if code := phone.closeCode(); code != 4408 {
			t.Errorf("%.60q: close code %d after 20, want 4408", data, code)
		}
	}
	phone := in.device(token, "d1")
	phone.next("status")
	for range 30 { // so deep that not even the id can be read: wrong, but a frame
		phone.send(`{"type":"ping","id":1,"payload":%s`, strings.Repeat(`{"a":`, 100000))
		if f := phone.next("error"); !strings.Contains(f.text("message"), "nested") {
			t.Errorf("error = %v", f)
		}
	}
	for _, text := range []string{strings.Repeat("x", 1<<20-200), strings.Repeat("\\u0000", 100<<10)} {
		phone.send(`{"type":"message.send","id":7,"payload":{"text":"%s"}}`, text)
		if f := phone.next("error"); f["id"] != 7.0 || !strings.Contains(f.text("message"), "64 KiB") {
			t.Errorf("error = %v", f)
		}
	}
	other.send(`{"type":"ping","id":1}`)
	other.next("pong")
}

// A burst of 10,000 frames, by one that reads and by one that does not: at most
// that connection ends, memory stays bounded, others are served as ever.
func TestBurst(t *testing.T) {
	in := startWith(t, memstore.New(), limited)
	g, _ := in.gateway()
	other := in.device(in.pair(g), "d2")
	other.next("status")
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, reads := range map[string]bool{"reads": true, "does not read": false} {
		ws, _, err := websocket.Dial(t.Context(), in.url+"/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer ws.CloseNow()
		write := func(text string) error { return ws.Write(t.Context(), websocket.MessageText, []byte(text)) }
		if err := write(fmt.Sprintf(`{"type":"hello","payload":{"token":%q,"device_id":%q}}`, in.pair(g), name)); err != nil {
			t.Fatal(err)
		}
		if reads {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					if _, _, err := ws.Read(ctx); err != nil {
						return
					}
				}
			}()
			defer func() { cancel(); <-done }()
		}
		var peak uint64
		for i := range 10_000 {
			if write(fmt.Sprintf(`{"type":"message.send","id":%d,"payload":{"text":%q}}`, i, strings.Repeat("x", 200))) != nil {
				break // it was cut
			}
			if i%1000 == 0 {
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc)
				other.send(`{"type":"ping","id":%d}`, i)
				other.until("pong", func(f frame) bool { return f.is("pong") && f["id"] == float64(i) })
			}
		}
		if grown := int64(peak) - int64(before.HeapAlloc); grown > 64<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, grown>>20)
		}
	}
}

// FuzzDevice sends anything to a gateway: the connection answers the ping behind
// it, or ends with the code for malformed frames.
func FuzzDevice(f *testing.F) {
	for _, request := range []string{"message.send", "picker.select", "channel.create", "sync", "read.receipt"} {
		for _, frame := range mutations(f, request, ids) {
			f.Add([]byte(frame))
		}
	}
	in := start(f, memstore.New())
	g, _ := in.gateway()
	token := in.pair(g)
	f.Fuzz(func(t *testing.T, data []byte) {
		here := *in
		here.t = t
		p := here.device(token, "d1")
		defer p.drop()
		p.next("status")
		if req, err := wire.Decode(data); len(data) >= 1<<20 || err == nil && req.Version != wire.Version {
			return // these end the connection
		}
		p.send("%s", data)
		p.send(`{"type":"ping","id":"fuzz"}`)
		p.until("pong", func(f frame) bool { return f["id"] == "fuzz" })
	})
}
