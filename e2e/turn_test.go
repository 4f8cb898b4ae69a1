package e2e_test

import (
	"strings"
	"testing"

	"iris-gateway/e2e"
	"iris-gateway/e2e/model"
)

// TestHello: a phone says hello, a real hermes answers, the phone sees the answer
// grow; after a restart of the gateway a new phone reads both from the history.
func TestHello(t *testing.T) {
	s := start(t)
	phone := e2e.Phone(t, s.gate, s.host, unique("phone-hello"))
	hold := s.model.Control("hello")
	mark := phone.Mark()
	echo := phone.Send(t, "hello", "hello-1")
	answer := streamed(t, phone, mark, hold)
	idle := phone.Await(t, mark, "agent.idle", e2e.Is("agent.idle"))
	if idle.ChatID != e2e.DefaultChat {
		t.Errorf("agent.idle is for chat %q, want %q", idle.ChatID, e2e.DefaultChat)
	}
	checkFooter(t, answer)
	checkOrder(t, phone.Frames(mark), "agent.busy", "message.start", "message.update", "message.stop", "agent.idle")
	checkGrowth(t, phone.Frames(mark), answer)
	receipt := phone.Await(t, mark, "read.receipt", e2e.Is("read.receipt"))
	if receipt.Body.MessageID != echo.Body.MessageID {
		t.Errorf("read.receipt for %q, want %q", receipt.Body.MessageID, echo.Body.MessageID)
	}

	s.gate.Terminate(t)
	s.gate.Start(t)
	newcomer := e2e.Phone(t, s.gate, s.host, unique("phone-newcomer"))
	page := newcomer.Request(t, "history", e2e.DefaultChat, map[string]any{})
	checkHistory(t, page, echo, answer)
}

// streamed lets the answer go piece by piece, each when the phone has seen the one
// before, and returns its message.stop.
func streamed(t *testing.T, phone *e2e.Device, mark int, hold *model.Control) e2e.Frame {
	t.Helper()
	pieces := model.Pieces("plain")
	shown := ""
	for _, piece := range pieces[:len(pieces)-1] {
		shown += piece
		hold.Next()
		phone.Await(t, mark, "message.update with "+shown, showing(shown))
	}
	hold.Rest()
	return phone.Await(t, mark, "message.stop", e2e.Is("message.stop"))
}

// showing accepts the update that shows this text. Blanks at the end may come or not.
func showing(text string) func(e2e.Frame) bool {
	want := strings.TrimRight(text, " \n")
	return func(f e2e.Frame) bool {
		return f.Type == "message.update" && strings.TrimRight(f.Body.Text, " \n") == want
	}
}

func checkFooter(t *testing.T, stop e2e.Frame) {
	t.Helper()
	b := stop.Body
	if want := model.Text("plain"); b.FinalText != want {
		t.Errorf("final_text %q, want %q", b.FinalText, want)
	}
	if b.Model != model.Name || b.Tokens <= 0 || b.Interrupted {
		t.Errorf("model %q, tokens %d, interrupted %v; want %q, some, false", b.Model, b.Tokens, b.Interrupted, model.Name)
	}
	r := b.Runtime
	if r == nil || r.Model != model.Name || r.Latency <= 0 || r.ContextPct == nil || *r.ContextPct < 0 || *r.ContextPct > 100 {
		t.Errorf("runtime of %s; want model, latency and context_pct", stop)
	}
}

// checkOrder wants the first frame of each type in this order.
func checkOrder(t *testing.T, frames []e2e.Frame, types ...string) {
	t.Helper()
	last := -1
	for _, kind := range types {
		at := -1
		for i, f := range frames {
			if f.Type == kind {
				at = i
				break
			}
		}
		if at <= last {
			t.Errorf("the first %s is frame %d, want one after %d in %v", kind, at, last, frames)
		}
		last = at
	}
}

// checkGrowth wants every update to show more of the final text than the one
// before, all under the message_id of the start.
func checkGrowth(t *testing.T, frames []e2e.Frame, stop e2e.Frame) {
	t.Helper()
	length, updates := 0, 0
	for _, f := range frames {
		if f.Type != "message.start" && f.Type != "message.update" {
			continue
		}
		if f.Body.MessageID != stop.Body.MessageID {
			t.Errorf("%s has another message_id than %s", f, stop)
		}
		if f.Type == "message.start" {
			continue
		}
		updates++
		if !strings.HasPrefix(stop.Body.FinalText, strings.TrimRight(f.Body.Text, " \n")) || len(f.Body.Text) < length {
			t.Errorf("%s does not grow towards %q", f, stop.Body.FinalText)
		}
		length = len(f.Body.Text)
	}
	if updates < 2 {
		t.Errorf("%d updates, want several", updates)
	}
}

func checkHistory(t *testing.T, page, echo, stop e2e.Frame) {
	t.Helper()
	if page.Type != "history" || len(page.Body.Messages) < 2 {
		t.Fatalf("history is %s, want the two messages at its end", page)
	}
	newest := page.Body.Messages[len(page.Body.Messages)-2:]
	user, answer := newest[0], newest[1]
	if user.MessageID != echo.Body.MessageID || user.Role != "user" || user.Text != echo.Body.Text {
		t.Errorf("first message of the history is %+v, want what was sent: %s", user, echo)
	}
	if answer.MessageID != stop.Body.MessageID || answer.Role != "assistant" || answer.Text != stop.Body.FinalText {
		t.Errorf("second message of the history is %+v, want the answer: %s", answer, stop)
	}
	if answer.Model != stop.Body.Model || answer.Tokens != stop.Body.Tokens || answer.Runtime == nil {
		t.Errorf("footer in the history %+v, want that of %s", answer, stop)
	}
}
