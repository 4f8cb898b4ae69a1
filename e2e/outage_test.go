package e2e_test

import (
	"testing"

	"iris-gateway/e2e"
	"iris-gateway/e2e/model"
)

// TestGatewayKilledMidAnswer: the gateway dies (SIGKILL) while an answer streams.
// After its restart the plugin comes back by itself, and the end of the answer
// arrives once, under the message_id that the phone already shows.
func TestGatewayKilledMidAnswer(t *testing.T) {
	s := start(t)
	phone := e2e.Phone(t, s.gate, s.host, unique("phone-crash"))
	text := unique("crash") + " #slow"
	hold := s.model.Control(text)
	pieces := model.Pieces("slow")
	mark := phone.Mark()
	phone.Send(t, text, "crash-1")
	hold.Next()
	hold.Next()
	before := phone.Await(t, mark, "an update with two pieces", showing(pieces[0]+pieces[1]))

	s.gate.Kill(t)
	hold.Next() // the model does not care, nor does hermes
	s.gate.Start(t)
	s.gate.AwaitHost(t, s.host)
	mark = phone.Mark()
	phone.Connect(t)
	hold.Next()
	now := phone.Await(t, mark, "an update with four pieces", showing(pieces[0]+pieces[1]+pieces[2]+pieces[3]))
	if now.Body.MessageID != before.Body.MessageID {
		t.Errorf("after the restart the answer goes on under %q, it began under %q", now.Body.MessageID, before.Body.MessageID)
	}
	hold.Rest()
	stop := phone.Await(t, mark, "message.stop", e2e.Is("message.stop"))
	phone.Await(t, mark, "agent.idle", e2e.Is("agent.idle"))
	if stop.Body.MessageID != before.Body.MessageID || stop.Body.FinalText != model.Text("slow") || stop.Body.Interrupted {
		t.Errorf("the answer ended by %s; want message_id %q, the whole text, not interrupted", stop, before.Body.MessageID)
	}
	checkOnce(t, s, text, "slow", before.Body.MessageID)
}

// TestGatewayAwayForATurn: a whole turn, with a tool, runs while there is no
// gateway. hermes does not notice, and everything arrives afterwards.
func TestGatewayAwayForATurn(t *testing.T) {
	s := start(t)
	phone := e2e.Phone(t, s.gate, s.host, unique("phone-away"))
	text := unique("away") + " #commentary"
	hold := s.model.Control(text)
	mark, log := phone.Mark(), s.hermes.LogMark()
	phone.Send(t, text, "away-1")
	await(t, hold.Arrived(), "hermes asks the model")

	s.gate.Kill(t)
	hold.Rest()
	s.hermes.AwaitTurns(t, log, 1)
	s.gate.Start(t)
	mark = max(mark, phone.Mark())
	phone.Connect(t)
	beat := phone.Await(t, mark, "the beat", ends(model.Beat("commentary")))
	tool := phone.Await(t, mark, "tool.end", e2e.Is("tool.end"))
	stop := phone.Await(t, mark, "the answer", ends(model.Text("commentary")))
	phone.Await(t, mark, "agent.idle", e2e.Is("agent.idle"))
	if beat.Body.MessageID == stop.Body.MessageID || stop.Body.Model != model.Name {
		t.Errorf("beat %s, tool %s, answer %s", beat, tool, stop)
	}
	checkOrder(t, phone.Frames(mark), "tool.end", "agent.idle")
	checkOnce(t, s, text, "commentary", stop.Body.MessageID)
}

// TestHostAway: with hermes away a message is taken, echoed and kept. When hermes
// comes it is answered, once; sent again under the same client_id it gets the
// original answer, before and after, and starts nothing.
func TestHostAway(t *testing.T) {
	s := start(t)
	phone := e2e.Phone(t, s.gate, s.host, unique("phone-patient"))
	mark := phone.Mark()
	s.hermes.Terminate(t)
	phone.Await(t, mark, "status degraded", func(f e2e.Frame) bool { return f.Type == "status" && f.Body.State == "degraded" })
	text := unique("patient") + " #tool"
	mark = phone.Mark()
	echo := phone.Send(t, text, "patient-1")
	sameAnswer(t, phone, echo, text)

	other := e2e.Phone(t, s.gate, s.host, unique("phone-other"))
	page := other.Request(t, "history", e2e.DefaultChat, map[string]any{})
	if n := len(page.Body.Messages); n == 0 || page.Body.Messages[n-1].MessageID != echo.Body.MessageID {
		t.Errorf("the newest message of %s is not the one that waits: %s", page, echo)
	}
	for _, f := range phone.Frames(mark) {
		if f.Type == "read.receipt" || f.Type == "agent.busy" {
			t.Errorf("%s came while the host was away", f)
		}
	}

	s.hermes.Start(t)
	receipt := phone.Await(t, mark, "read.receipt", e2e.Is("read.receipt"))
	if receipt.Body.MessageID != echo.Body.MessageID {
		t.Errorf("read.receipt for %q, want %q", receipt.Body.MessageID, echo.Body.MessageID)
	}
	stop := phone.Await(t, mark, "the answer", ends(model.Text("tool")))
	phone.Await(t, mark, "agent.idle", e2e.Is("agent.idle"))
	sameAnswer(t, phone, echo, text)
	checkOnce(t, s, text, "tool", stop.Body.MessageID)
}

// sameAnswer sends the message again, on a new connection, and wants its original back.
func sameAnswer(t *testing.T, phone *e2e.Device, echo e2e.Frame, text string) {
	t.Helper()
	phone.Connect(t)
	again := phone.Send(t, text, "patient-1")
	if again.Body.MessageID != echo.Body.MessageID {
		t.Errorf("sent again with the same client_id it became %s, it was %s", again, echo)
	}
}

// checkOnce wants exactly one turn for the message and exactly one answer, under
// this id, in the log as well as in the history. A turn that should not be has
// begun at the latest when a later message has been answered, so that is awaited.
func checkOnce(t *testing.T, s *stack, text, scenario, id string) {
	t.Helper()
	reader := e2e.Phone(t, s.gate, s.host, unique("reader"))
	mark := reader.Mark()
	reader.Send(t, "and now #reason, after "+scenario, "after-"+scenario)
	reader.Await(t, mark, "the answer to the next message", ends(model.Text("reason")))
	reader.Await(t, mark, "agent.idle", e2e.Is("agent.idle"))
	if n := s.model.Turns(text); n != 1 {
		t.Errorf("the model was asked %d times to answer %q, want once: %+v", n, text, s.model.Requests())
	}
	mark = reader.Mark()
	if done := reader.Request(t, "sync", "", map[string]any{"cursor": 0}); !done.Body.Complete {
		t.Errorf("sync from the start is not complete: %s", done)
	}
	var inLog, inHistory []string
	asked := false
	for _, f := range reader.Frames(mark) {
		asked = asked || f.Type == "message" && f.Body.Role == "user" && f.Body.Text == text
		if asked && f.ChatID == e2e.DefaultChat && (ends(model.Text(scenario))(f) || f.Type == "message.stop" && f.Body.MessageID == id) {
			inLog = append(inLog, f.Body.MessageID)
		}
	}
	asked = false
	for _, m := range reader.Request(t, "history", e2e.DefaultChat, map[string]any{"limit": 200}).Body.Messages {
		asked = asked || m.Role == "user" && m.Text == text
		if asked && (m.Text == model.Text(scenario) || m.MessageID == id) {
			inHistory = append(inHistory, m.MessageID)
		}
	}
	checkAnswer(t, "the log", inLog, id)
	checkAnswer(t, "the history", inHistory, id)
}

// checkAnswer wants this answer, and no other, behind the question: what stands
// before it is of other tests, to which the model gives the same texts.
func checkAnswer(t *testing.T, where string, ids []string, id string) {
	t.Helper()
	if len(ids) != 1 || ids[0] != id {
		t.Errorf("%s has the answer to the question as %q, want %q once", where, ids, id)
	}
}

// ends accepts the frame that brings this text in full.
func ends(text string) func(e2e.Frame) bool {
	return func(f e2e.Frame) bool {
		switch f.Type {
		case "message.stop":
			return f.Body.FinalText == text
		case "message":
			return f.Body.Role == "assistant" && f.Body.Text == text
		case "commentary":
			return f.Body.Text == text
		}
		return false
	}
}
