package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"iris-gateway/e2e"
	"iris-gateway/e2e/model"
)

// lane is a channel of its own, so that several families can share one hermes:
// one phone does things in it, another one only watches.
type lane struct {
	*testing.T
	stack  *stack
	phone  *e2e.Device
	watch  *e2e.Device
	chat   string
	thread string
	key    string // no other lane has it; names files of its tools

	mark   int   // where the watching phone's frames of this lane begin
	pos    int   // behind the last frame that was awaited
	cursor int64 // of the log where the lane begins

	resumed bool // hermes has started again meanwhile
}

// newLane makes a channel and the phones.
func newLane(t *testing.T, s *stack, name string) *lane {
	t.Helper()
	l := &lane{T: t, stack: s, key: unique(name)}
	l.phone = e2e.Phone(t, s.gate, s.host, l.key)
	l.watch = e2e.Phone(t, s.gate, s.host, l.key+"-watch")
	made := l.phone.Request(t, "channel.create", "", map[string]any{"name": l.key, "kind": "channel"})
	if l.chat = made.Body.ChatID; made.Type != "channel.created" || l.chat == "" {
		t.Fatalf("channel.create was answered by %s", made)
	}
	l.begin()
	return l
}

// begin forgets what came before.
func (l *lane) begin() {
	l.Helper()
	mark := l.watch.Mark()
	done := l.watch.Request(l, "sync", "", map[string]any{})
	l.cursor = done.Body.Cursor
	_, l.mark = l.watch.AwaitNext(l, mark, "sync.done", e2e.Is("sync.done"))
	l.pos = l.mark
}

// send sends a message and returns its echo. The text says the lane's key: what
// the model's tools do is told apart by it.
func (l *lane) send(text string) e2e.Frame { l.Helper(); return l.sendRe(text, "") }

func (l *lane) sendRe(text, replyTo string) e2e.Frame {
	l.Helper()
	payload := map[string]any{"text": text, "client_id": unique("c")}
	if replyTo != "" {
		payload["reply_to"] = replyTo
	}
	echo := l.phone.RequestIn(l, "message.send", l.chat, l.thread, payload)
	if echo.Type != "message" || echo.Body.Role != "user" || echo.Body.Text != text {
		l.Fatalf("message.send %q was answered by %s", text, echo)
	}
	return echo
}

// ask is a message for a scenario, with the lane's key in it.
func (l *lane) ask(scenario string) string { return "please #" + scenario + " key=" + l.key }

// hold takes the answers of this lane into the test's hands.
func (l *lane) hold() *model.Control { return l.stack.model.Control("key=" + l.key) }

// payload reads all of a frame's payload.
func (l *lane) payload(f e2e.Frame, into any) {
	l.Helper()
	if err := json.Unmarshal(f.Payload, into); err != nil {
		l.Fatalf("%v in %s", err, f)
	}
}

// mine tells whether a frame belongs to the lane.
func (l *lane) mine(f e2e.Frame) bool { return f.ChatID == l.chat && f.ThreadID == l.thread }

// await waits for the next frame of the lane that match accepts, behind the one
// that was awaited before.
func (l *lane) await(what string, match func(e2e.Frame) bool) e2e.Frame {
	l.Helper()
	var f e2e.Frame
	f, l.pos = l.watch.AwaitNext(l, l.pos, what, func(f e2e.Frame) bool { return l.mine(f) && match(f) })
	return f
}

// idle waits for the end of a turn.
func (l *lane) idle() { l.Helper(); l.await("agent.idle", e2e.Is("agent.idle")) }

// read waits until the host has taken a message.
func (l *lane) read(echo e2e.Frame) {
	l.Helper()
	l.await("read.receipt of "+echo.Body.Text, func(f e2e.Frame) bool {
		return f.Type == "read.receipt" && f.Body.MessageID == echo.Body.MessageID
	})
}

// pick answers a picker.
func (l *lane) pick(picker e2e.Frame, payload map[string]any) {
	l.Helper()
	payload["picker_id"] = picker.Body.PickerID
	if f := l.phone.RequestIn(l, "picker.select", l.chat, l.thread, payload); f.Type != "picker.closed" {
		l.Fatalf("picker.select %v was answered by %s", payload, f)
	}
}

// stop stops the turn; its answer is the agent.idle at the end.
func (l *lane) stop() {
	l.Helper()
	if f := l.phone.RequestIn(l, "agent.stop", l.chat, l.thread, map[string]any{}); f.Type != "agent.idle" {
		l.Fatalf("agent.stop was answered by %s", f)
	}
}

// open lets the command of #gate with that key end.
func (l *lane) open(key string) {
	l.Helper()
	if err := os.WriteFile(filepath.Join(l.stack.hermes.Work(), key+".go"), nil, 0o600); err != nil {
		l.Fatal(err)
	}
}

// frames are all frames of the lane that the watching phone got live.
func (l *lane) frames() []e2e.Frame {
	var mine []e2e.Frame
	for _, f := range l.watch.Frames(l.mark) {
		if f.Cursor == 0 && l.mine(f) {
			mine = append(mine, f)
		}
	}
	return mine
}

// replayed are the frames of the lane that a sync from its begin brings.
func (l *lane) replayed() []e2e.Frame {
	l.Helper()
	mark := l.watch.Mark()
	if done := l.watch.Request(l, "sync", "", map[string]any{"cursor": l.cursor}); !done.Body.Complete {
		l.Errorf("sync from %d is not complete: %s", l.cursor, done)
	}
	var mine []e2e.Frame
	for _, f := range l.watch.Frames(mark) {
		if f.Cursor > 0 && l.mine(f) {
			mine = append(mine, f)
		}
	}
	return mine
}
