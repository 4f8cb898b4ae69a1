package turn_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/turn"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew; read what it wrote")

// TestTranscripts runs every recording in testdata through the machine and
// compares with the reviewed frames.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, frames := replay(t, name)
			for _, fault := range check(frames) {
				// Here hermes itself shortens a message whose edits were refused.
				if name != "fault-fail-edit" || !strings.Contains(fault, " shrinks from ") {
					t.Error(fault)
				}
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("frames differ from %s (go test -run %s -update writes it anew):\n%s", golden, t.Name(), diff(string(want), got))
			}
		})
	}
}

// replay returns the events of a transcript, each followed by its frames.
func replay(t *testing.T, name string) (string, []turn.Frame) {
	t.Helper()
	var b strings.Builder
	var all []turn.Frame
	m := turn.New(nil)
	if f := m.Resume(link.Hello{Agent: link.Agent{Streaming: !strings.HasPrefix(name, "off-")}}); len(f) > 0 {
		t.Errorf("hello without turns led to %v", f)
	}
	m.Lost()
	for _, ev := range events(t, name) {
		frames, err := m.Handle(ev)
		if err != nil {
			t.Errorf("%s at %d: %v", ev.Kind, ev.At-began, err)
		}
		fmt.Fprintf(&b, "> %s\n", short(fmt.Sprintf("%.3f %s %s %s", float64(ev.At-began)/1000, ev.Kind, ev.Turn, ev.Body), 150))
		for _, f := range frames {
			b.WriteString(show(f))
		}
		all = append(all, frames...)
	}
	if len(m.Open()) > 0 { // hermes was killed; its next process names nothing
		b.WriteString("> hermes ended\n")
		m.Resume(link.Hello{})
		for _, f := range m.Lost() {
			b.WriteString(show(f))
			all = append(all, f)
		}
	}
	if open := m.Open(); len(open) > 0 {
		t.Errorf("still open at the end: %v", open)
	}
	return b.String(), all
}

// show writes a frame: * durable, ~ live; then what goes with it.
func show(f turn.Frame) string {
	mark := "~"
	if f.Durable {
		mark = "*"
	}
	body, err := json.Marshal(f.Payload)
	if err != nil {
		panic(err)
	}
	lane := f.Lane.ChatID
	if f.Lane.ThreadID != "" {
		lane += "/" + f.Lane.ThreadID
	}
	s := fmt.Sprintf("  %s %s %s %s", mark, lane, f.Payload.FrameType(), short(string(body), 1200))
	if f.Notify {
		s += " push"
	}
	for _, c := range f.Changes {
		switch c := c.(type) {
		case iris.SetBusy:
			s += fmt.Sprintf(" busy=%q", c.Turn)
		case iris.PutMessage:
			s += fmt.Sprintf(" row=%s@%.3f", c.Message.Role, float64(c.Message.At.UnixMilli()-began)/1000)
			if c.Message.Commentary {
				s += " beat"
			}
			for _, medium := range c.Message.Media {
				s += fmt.Sprintf(" %s=%s %s", medium.Kind, medium.ID, medium.SHA256)
			}
			if c.Message.Deleted {
				s += " deleted"
			}
			if c.Message.ReplyTo != "" {
				s += " re=" + c.Message.ReplyTo
			}
		}
	}
	return s + "\n"
}

// short cuts the middle out of a long text.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := s[:n*2/3], s[len(s)-n/4:]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	for !utf8.ValidString(tail) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s…(%d)…%s", head, len(s), tail)
}

// diff shows the first lines that differ.
func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, a, b)
		}
	}
	return "no difference"
}

var _ wire.Payload = wire.MessageStop{}
