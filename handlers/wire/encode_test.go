package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// The bytes are fixed: frames lie in the log, and are found there by how they
// begin.
func TestEncodeBytes(t *testing.T) {
	t.Parallel()
	idle := wire.Encode(iris.Lane{ChatID: "c", ThreadID: "t"}, wire.AgentIdle{})
	for got, want := range map[string]string{
		idle:                                     `{"v":1,"type":"agent.idle","chat_id":"c","thread_id":"t","payload":{}}`,
		wire.WithID(idle, nil):                   `{"v":1,"type":"agent.idle","chat_id":"c","thread_id":"t","payload":{}}`,
		wire.WithID(idle, wire.RequestID(`"x"`)): `{"v":1,"id":"x","type":"agent.idle","chat_id":"c","thread_id":"t","payload":{}}`,
		wire.WithCursor(idle, 7):                 `{"v":1,"cursor":7,"type":"agent.idle","chat_id":"c","thread_id":"t","payload":{}}`,
		wire.WithID(wire.WithCursor(idle, 7), wire.RequestID("1")): `{"v":1,"id":1,"cursor":7,"type":"agent.idle","chat_id":"c","thread_id":"t","payload":{}}`,
		wire.Encode(iris.Lane{}, wire.Pong{TS: 5}):                 `{"v":1,"type":"pong","payload":{"ts":5}}`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestEncodeText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`if a < b && c > d {`: `"if a < b && c > d {"`,
		"</script>":           `"</script>"`,
		"a\"\\\n\x00":         `"a\"\\\n\u0000"`,
		"🙂 ä":                 `"🙂 ä"`,
		"\u2028":              `"\u2028"`,
		"bad \xff":            `"bad \ufffd"`,
	} {
		got := wire.Encode(iris.Lane{ChatID: "<&>"}, wire.MessageUpdate{MessageID: "m", Text: text})
		if !strings.Contains(got, `"chat_id":"<&>"`) || !strings.HasSuffix(got, `"text":`+want+`}}`) {
			t.Errorf("text %q: got %s", text, got)
		}
		if !utf8.ValidString(got) || !json.Valid([]byte(got)) {
			t.Errorf("text %q: not valid: %q", text, got)
		}
	}
}

// A program, as answers contain them: <, > and & are frequent there.
var program = strings.Repeat("for i := 0; i < len(a) && b[i] > 0; i++ {\n\tc <- &a[i] // <nil> & more\n}\n", 50)

func BenchmarkEncode(b *testing.B) {
	lane := iris.Lane{ChatID: iris.DefaultChat, ThreadID: "t_ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
	for name, p := range map[string]wire.Payload{
		"update": wire.MessageUpdate{MessageID: "m_ABCDEFGHIJKLMNOPQRSTUVWXYZ", Text: program},
		"stop": wire.MessageStop{MessageID: "m_ABCDEFGHIJKLMNOPQRSTUVWXYZ", FinalText: program, Model: "qwen3-27b", Tokens: 400,
			Runtime: &iris.Runtime{Model: "qwen3-27b", ContextPct: 38, Cwd: "~", Latency: 22.5}},
		"message":    wire.Message{MessageID: "m_ABCDEFGHIJKLMNOPQRSTUVWXYZ", Role: iris.RoleUser, Text: "How is the weather in Oslo?", TS: 1724000000000},
		"tool.start": wire.ToolStart{Index: 3, Name: "terminal", Preview: "pytest -q", Args: map[string]any{"command": "pytest -q"}},
		"tool.end":   wire.ToolEnd{Index: 3, Name: "terminal", OK: true, Duration: 12.4, OutputPreview: "12 passed"},
		"agent.busy": wire.AgentBusy{Reason: "processing"},
		"typing":     wire.Typing{On: true},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				size = len(wire.Encode(lane, p))
			}
			b.ReportMetric(float64(size), "bytes/frame")
		})
	}
	// What the frame would be with HTML escaping.
	b.Run("update-escaped", func(b *testing.B) {
		b.ReportAllocs()
		size := 0
		for b.Loop() {
			body, err := json.Marshal(wire.MessageUpdate{MessageID: "m_ABCDEFGHIJKLMNOPQRSTUVWXYZ", Text: program})
			if err != nil {
				b.Fatal(err)
			}
			size = len(`{"v":1,"type":"message.update","chat_id":"android:default","payload":` + string(body) + "}")
		}
		b.ReportMetric(float64(size), "bytes/frame")
	})
}

func BenchmarkDecode(b *testing.B) {
	code, err := json.Marshal(program)
	if err != nil {
		b.Fatal(err)
	}
	for name, frame := range map[string][]byte{
		"send-golden": golden(b, "message.send.request.json"),
		"send-4KB":    []byte(`{"v":1,"id":7,"type":"message.send","chat_id":"android:default","payload":{"text":` + string(code) + `}}`),
		"ping":        golden(b, "ping.request.json"),
		"sync":        golden(b, "sync.request.json"),
		"read":        golden(b, "read.receipt.request.json"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				req, err := wire.Decode(frame)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := requests[req.Type].decode(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
