package chat

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/terminal"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// f is a frame of the lane "main" in short: type and payload.
func f(t *testing.T, frameType, payload string) device.Frame {
	t.Helper()
	if !json.Valid([]byte(payload)) {
		t.Fatalf("payload %s", payload)
	}
	return device.Frame{Type: frameType, Lane: iris.Lane{ChatID: "main"}, Payload: json.RawMessage(payload)}
}

// fr is a frame of a table.
type fr struct{ typ, payload string }

func TestView(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		frames []fr
		want   string
	}{
		{
			"a streamed answer is written as it grows",
			[]fr{
				{"agent.busy", `{"reason":"processing"}`},
				{"message.start", `{"message_id":"m1","role":"assistant"}`},
				{"message.update", `{"message_id":"m1","text":"Hel"}`},
				{"message.update", `{"message_id":"m1","text":"Hello"}`},
				{"message.stop", `{"message_id":"m1","final_text":"Hello you.","model":"x","tokens":7,"runtime":{"model":"q","latency":1.25,"context_pct":3,"cost":0.002}}`},
				{"agent.idle", `{}`},
			},
			"● Hello you.\n  q · 1.2 s · 7 tokens · context 3 % · $0.0020\n\n",
		},
		{
			"a rewrite is written anew",
			[]fr{
				{"message.update", `{"message_id":"m1","text":"Hello"}`},
				{"message.stop", `{"message_id":"m1","final_text":"Good bye"}`},
			},
			"● Hello\n● Good bye\n\n",
		},
		{
			"an answer whose start was missed",
			[]fr{{"message.stop", `{"message_id":"m1","final_text":"Whole"}`}},
			"● Whole\n\n",
		},
		{
			"nothing is written twice",
			[]fr{
				{"message", `{"message_id":"m1","role":"system","text":"once"}`},
				{"message", `{"message_id":"m1","role":"system","text":"once"}`},
				{"message.stop", `{"message_id":"m2","final_text":"twice"}`},
				{"message.stop", `{"message_id":"m2","final_text":"twice"}`},
				{"message.update", `{"message_id":"m2","text":"twi"}`},
			},
			"▪ once\n\n● twice\n\n",
		},
		{
			"something else in the middle of a text",
			[]fr{
				{"message.update", `{"message_id":"m1","text":"One "}`},
				{"message", `{"message_id":"m2","role":"user","text":"from the phone"}`},
				{"message.update", `{"message_id":"m1","text":"One two"}`},
				{"message.stop", `{"message_id":"m1","final_text":"One two"}`},
			},
			"● One \n› from the phone\n… two\n\n",
		},
		{
			"beats and tools",
			[]fr{
				{"message.update", `{"message_id":"b1","text":"Let me look."}`},
				{"message.stop", `{"message_id":"b1","final_text":"Let me look.","commentary":true}`},
				{"tool.start", `{"index":1,"name":"terminal","preview":"ls -la","args":{"command":"ls -la"}}`},
				{"tool.progress", `{"index":1,"name":"terminal","note":"…"}`},
				{"tool.end", `{"index":1,"name":"terminal","ok":true,"duration":0.42,"output_preview":"a\nb"}`},
				{"commentary", `{"message_id":"b2","text":"Again."}`},
				{"tool.start", `{"index":2,"name":"terminal","args":{"command":"make"}}`},
				{"tool.end", `{"index":2,"name":"terminal","ok":false,"duration":12,"output_preview":"cc x.c\nError 1\n"}`},
				{"tool.end", `{"index":3,"name":"lost","ok":true,"duration":0.1,"output_preview":""}`},
			},
			"● Let me look.\n⚙ terminal: ls -la ✓ 0.4s\n◦ Again.\n⚙ terminal: make ✗ 12.0s\n  Error 1\n⚙ lost ✓ 0.1s\n",
		},
		{
			"reasoning is cut short",
			[]fr{{"message", `{"message_id":"m1","role":"assistant","text":"x","reasoning":"` + strings.Repeat("word ", 30) + `"}`}},
			"● x\n  thought: " + strings.Repeat("word ", 17) + "wo…\n\n",
		},
		{
			"control characters do not reach the terminal",
			[]fr{
				{"message", `{"message_id":"m1","role":"assistant","text":"a\u001b]0;owned\u0007b\u001b[2Jc","model":"m\u001b[1mx"}`},
				{"tool.end", `{"index":1,"name":"t\u001b[31m","ok":false,"duration":1,"output_preview":"\u001b[2Jx"}`},
				{"notification", `{"kind":"generic","title":"\u001b[5mT","body":"B\u202eC\nD"}`},
			},
			"● abc\n  mx\n\n⚙ t ✗ 1.0s\n  x\n! T: BC D\n",
		},
		{
			"interrupted",
			[]fr{{"message.stop", `{"message_id":"m1","final_text":"so far","interrupted":true}`}},
			"● so far\n  (cut off: the host was restarted)\n\n",
		},
		{"unknown frames", []fr{{"picker.dance", `{"x":1}`}, {"channel.created", `{}`}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			v := newView(screen{out: &out, width: func() int { return 0 }})
			v.lane = iris.Lane{ChatID: "main"}
			for _, s := range tt.frames {
				if err := v.frame(f(t, s.typ, s.payload)); err != nil {
					t.Fatal(err)
				}
			}
			if got := out.String(); got != tt.want {
				t.Errorf("wrote\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

func TestViewShowsOtherLanesWhenWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newView(screen{out: &out, width: func() int { return 0 }})
	other := iris.Lane{ChatID: "cron"}
	v.lane, v.names[other] = iris.Lane{ChatID: "main"}, "Cron Reports"
	for _, s := range []fr{
		{"agent.busy", `{"reason":"cron"}`},
		{"message.update", `{"message_id":"m1","text":"half"}`},
		{"message.stop", `{"message_id":"m1","final_text":"half\nand half"}`},
		{"message.stop", `{"message_id":"m2","final_text":"beat","commentary":true}`},
	} {
		frame := f(t, s.typ, s.payload)
		frame.Lane = other
		if err := v.frame(frame); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "[Cron Reports] half and half\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	if v.busy {
		t.Error("another lane's turn makes this one busy")
	}
}

// On a terminal, lines break between words, hints give way, and a text that
// turns out to be a beat is dimmed.
func TestViewLive(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newView(screen{out: &out, live: true, style: terminal.Style{Colour: true}, width: func() int { return 20 }})
	v.lane = iris.Lane{ChatID: "main"}
	step := func(typ, payload, want string) {
		t.Helper()
		out.Reset()
		if err := v.frame(f(t, typ, payload)); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Errorf("%s %s wrote\n%q\nwant\n%q", typ, payload, got, want)
		}
	}
	v.show("… thinking", v.style.Dim)
	step("message.update", `{"message_id":"m1","text":"The quick brown f"}`, "\r\x1b[K\x1b[32m● \x1b[0mThe quick brown ")
	step("message.update", `{"message_id":"m1","text":"The quick brown fox jumps"}`, "\nfox ")
	step("message.stop", `{"message_id":"m1","final_text":"The quick brown fox jumps","commentary":true}`,
		"\x1b[1A\r\x1b[J\x1b[2m◦ \x1b[0m\x1b[2mThe quick brown \nfox jumps\x1b[0m\n")
	step("tool.start", `{"index":1,"name":"terminal","preview":"ls","args":{}}`, "")
	if got, want := v.toolHint(), "⚙ terminal: ls …"; got != want {
		t.Errorf("hint %q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		width    int
		want     string
	}{
		{"fits", "one two", 7, "one two"},
		{"breaks between words", "one two three", 8, "one two \nthree"},
		{"the space that does not fit is left out", "one two three", 7, "one two\nthree"},
		{"a long word is left to the terminal", "a bbbbbbbbbbbb c", 5, "a bbbbbbbbbbbb \nc"},
		{"own line breaks", "a\n\nb c", 3, "a\n\nb c"},
		{"wide characters break anywhere", "你好你好", 5, "你好\n你好"},
		{"no width", "one two", 0, "one two"},
	}
	for _, tt := range tests {
		if got := wrap(tt.in, tt.width); got != tt.want {
			t.Errorf("%s: wrap(%q, %d) = %q, want %q", tt.name, tt.in, tt.width, got, tt.want)
		}
	}
}

// When what is shown is deleted, the chat goes on in the channel that is the
// default then: the one from the start may be gone.
func TestHome(t *testing.T) {
	t.Parallel()
	v := newView(screen{out: io.Discard})
	v.listed([]wire.Channel{{ChatID: "main", Name: "Main", IsDefault: true}, {ChatID: "other", Name: "Other"}})
	v.lane = iris.Lane{ChatID: "main"}
	for _, frame := range []fr{
		{"channel.created", `{"chat_id":"new","name":"New","kind":"channel"}`},
		{"channel.list", `{"channels":[{"chat_id":"new","name":"New","is_default":true},{"chat_id":"main","name":"Main"},{"chat_id":"other","name":"Other"}]}`},
		{"channel.deleted", `{"chat_id":"main"}`},
	} {
		if err := v.frame(f(t, frame.typ, frame.payload)); err != nil {
			t.Fatal(err)
		}
	}
	if v.lane.ChatID != "new" {
		t.Errorf("goes on in %q", v.lane.ChatID)
	}
}

// ✓✓ says that the host has the message: not that somebody has read it on
// another device, while the host may be away.
func TestReadElsewhere(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := newChat(t.Context(), Options{In: strings.NewReader(""), Out: &out})
	c.ready, c.view.lane, c.unread["m1"] = true, iris.Lane{ChatID: "main"}, "are you there?"
	for _, step := range []struct {
		payload string
		read    bool
	}{{`{"message_id":"m1","device_id":"d2","ts":1}`, false}, {`{"message_id":"m1"}`, true}} {
		if err := c.show(f(t, "read.receipt", step.payload)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), markRead); got != step.read {
			t.Errorf("%s: the screen shows %q", step.payload, out.String())
		}
	}
}
