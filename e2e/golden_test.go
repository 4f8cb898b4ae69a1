package e2e_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"iris-gateway/e2e"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew; read what it wrote")

// durable are the frames that are kept and replayed; all others may be merged.
var durable = map[string]bool{
	"message": true, "message.stop": true, "message.deleted": true, "commentary": true, "tool.end": true,
	"media.offer": true, "notification": true, "picker.model": true, "picker.choice": true, "picker.clarify": true,
	"picker.approval": true, "picker.confirm": true, "picker.closed": true, "agent.busy": true, "agent.idle": true,
	"read.receipt": true, "channel.created": true, "channel.renamed": true, "channel.deleted": true,
}

// check compares what the lane's phone got with the reviewed file of the family:
// the durable frames exactly, then the history. The live frames go by rules, and
// what a sync brings is what came live.
func (l *lane) check(family string) {
	l.Helper()
	if l.Failed() {
		return
	}
	l.awaitTyping()
	live := l.frames()
	for _, fault := range faults(live) {
		l.Errorf("%s; all frames:\n%s", fault, lines(live))
	}
	n := l.names()
	got := n.show(live)
	l.checkReplay(live)
	got += "\nhistory:\n" + l.history(n)
	compare(l.T, family, got)
}

// awaitTyping waits for the end of typing: as a live frame it may come after
// agent.idle, but come it must.
func (l *lane) awaitTyping() {
	l.Helper()
	on, at := false, 0
	for i, f := range l.watch.Frames(l.mark) {
		if l.mine(f) && f.Type == "typing" {
			on, at = f.Body.On, i
		}
	}
	if on {
		l.watch.Await(l, l.mark+at+1, "the end of typing", func(f e2e.Frame) bool { return l.mine(f) && f.Type == "typing" && !f.Body.On })
	}
}

// checkReplay wants from the log what came live. Pickers that were answered are
// left out there.
func (l *lane) checkReplay(live []e2e.Frame) {
	l.Helper()
	var kept []e2e.Frame
	for _, f := range live {
		if !strings.HasPrefix(f.Type, "picker.") || f.Type == "picker.closed" {
			kept = append(kept, f)
		}
	}
	a, b := l.names(), l.names()
	a.asCame, b.asCame = true, true
	if want, got := a.show(kept), b.show(l.replayed()); got != want {
		l.Errorf("the log is not what came live:\n%s", diff(want, got))
	}
}

// history is the lane as a new phone would show it.
func (l *lane) history(n *names) string {
	l.Helper()
	page := l.watch.RequestIn(l, "history", l.chat, l.thread, map[string]any{"limit": 200})
	var p struct {
		Messages []map[string]any `json:"messages"`
	}
	if err := json.Unmarshal(page.Payload, &p); err != nil {
		l.Fatalf("%v in %s", err, page)
	}
	var b strings.Builder
	for _, m := range p.Messages {
		b.WriteString(n.plain(m) + "\n")
	}
	return b.String()
}

// names replaces what differs from run to run: ids by their order, numbers that
// measure something by N.
type names struct {
	noVoid bool // leave out turns in which nothing happened
	asCame bool // leave the order alone, also where it is chance
	fixed  *strings.Replacer
	ids    map[string]string
	count  map[string]int
}

func (l *lane) names() *names {
	return &names{
		noVoid: l.resumed,
		fixed:  strings.NewReplacer(l.chat, "CHAT", l.key, "KEY", l.stack.hermes.Work(), "WORK"),
		ids:    map[string]string{}, count: map[string]int{},
	}
}

// show writes the durable frames, one a line.
func (n *names) show(frames []e2e.Frame) string {
	var out []e2e.Frame
	for _, f := range frames {
		if durable[f.Type] {
			out = append(out, f)
		}
		// A starting hermes queues what it resumes: begun and ended several times,
		// more often on a slow machine.
		if last := len(out) - 1; n.noVoid && last > 0 && out[last].Type == "agent.idle" && out[last-1].Type == "agent.busy" {
			out = out[:last-1]
		}
	}
	if !n.asCame { // bytes take their time: as if they came behind the end of the turn
		sort.SliceStable(out, func(a, b int) bool { return !isFile(out[a]) && isFile(out[b]) })
	}
	for i := 0; i < len(out) && !n.asCame; {
		j := i
		for j < len(out) && (out[j].Type == "tool.end" || isBeat(out[j])) {
			j++
		}
		settle(out[i:j])
		i = max(j, i+1)
	}
	var b strings.Builder
	for _, f := range out {
		var payload map[string]any
		if err := json.Unmarshal(f.Payload, &payload); err != nil {
			payload = map[string]any{"not an object": string(f.Payload)}
		}
		fmt.Fprintf(&b, "%s %s\n", f.Type, n.plain(payload))
	}
	return b.String()
}

// isFile tells a file of the agent.
func isFile(f e2e.Frame) bool {
	return f.Type == "media.offer" || f.Type == "message" && f.Body.Role == "assistant" && len(f.Body.Media) > 0
}

// isBeat tells a beat: text in front of a tool.
func isBeat(f e2e.Frame) bool {
	var p struct {
		Commentary bool `json:"commentary"`
	}
	return f.Type == "commentary" || json.Unmarshal(f.Payload, &p) == nil && p.Commentary
}

// settle puts beats and ends of tools into the order of the model: hermes tells of
// them by different threads, and calls of one answer run at once. Beats keep their
// order, and so do tools.
func settle(run []e2e.Frame) {
	var beats, tools []e2e.Frame
	for _, f := range run {
		if isBeat(f) {
			beats = append(beats, f)
		} else {
			tools = append(tools, f)
		}
	}
	sort.SliceStable(tools, func(a, b int) bool { return tools[a].Body.Index < tools[b].Body.Index })
	settled := run[:0]
	for i := range max(len(beats), len(tools)) {
		if i < len(beats) {
			settled = append(settled, beats[i])
		}
		if i < len(tools) {
			settled = append(settled, tools[i])
		}
	}
}

var (
	measured = map[string]bool{"ts": true, "expires_at": true, "tokens": true, "latency": true, "duration": true, "context_pct": true, "cost": true}
	anID     = regexp.MustCompile(`\b(m|pr|t|md)_[0-9A-Za-z_-]{16,}|\bcall-[0-9]+|\b[0-9a-f]{12}\b`)
	chance   = regexp.MustCompile(`✦ Tip: (?:[^"\\]|\\.)*|http://127\.0\.0\.1:[0-9]+|(retrying \([0-9]/[0-9]\))(?: in [0-9]+s)?`)
)

func (n *names) plain(payload map[string]any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(measure(payload)); err != nil {
		panic(err)
	}
	text := chance.ReplaceAllString(n.fixed.Replace(strings.TrimSpace(b.String())), "$1…")
	return anID.ReplaceAllStringFunc(text, func(id string) string {
		if n.ids[id] == "" {
			kind := "job"
			if i := strings.IndexAny(id, "_-"); i > 0 {
				kind = id[:i]
			}
			n.count[kind]++
			n.ids[id] = fmt.Sprintf("%s%d", kind, n.count[kind])
		}
		return n.ids[id]
	})
}

// measure replaces the numbers that are measured, and cuts long texts.
func measure(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if number, ok := x.(float64); ok && measured[k] {
				v[k] = "N"
				if number < 0 {
					v[k] = "negative"
				}
				continue
			}
			v[k] = measure(x)
		}
	case []any:
		for i, x := range v {
			v[i] = measure(x)
		}
	case string:
		if len(v) > 1200 {
			return fmt.Sprintf("%s…(%d bytes)…%s", v[:300], len(v), v[len(v)-100:])
		}
	}
	return v
}

// compare compares with the reviewed file, or writes it.
func compare(t *testing.T, family, got string) {
	t.Helper()
	file := filepath.Join("testdata", family+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("frames differ from %s (-update writes it anew):\n%s\nall of them:\n%s", file, diff(string(want), got), got)
	}
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

func lines(frames []e2e.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	return b.String()
}
