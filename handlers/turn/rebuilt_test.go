package turn_test

import (
	"encoding/json"
	"testing"

	"iris-gateway/handlers/link"
)

// TestRebuilt: what a new machine has not seen may make a text look like that
// of another call. It then waits for the final edit, and no text is lost.
func TestRebuilt(t *testing.T) {
	t.Parallel()
	rebuilt := func(t *testing.T) *host {
		h := newHost(t)
		h.machine.Believe(link.Turn{Turn: "tn_1", ChatID: "c"})
		h.want(h.machine.Resume(link.Hello{Agent: link.Agent{Streaming: true}, Turns: []link.Turn{{Turn: "tn_1", ChatID: "c"}}}), typing)
		h.want(h.machine.Lost())
		return h
	}
	t.Run("a beat that begins like the next one", func(t *testing.T) {
		t.Parallel()
		h := rebuilt(t)
		h.event("send", `{"message_id":"a","text":"I ▉","streaming":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("model.end", `{"finish_reason":"tool_calls","text":"I look again."}`) // the end of a's call is forgotten
		h.event("edit", `{"message_id":"a","text":"I look.","final":true}`, `* message.stop {"message_id":"a","final_text":"I look.","commentary":true}`)
	})
	t.Run("a beat that never gets its final edit", func(t *testing.T) {
		t.Parallel()
		h := rebuilt(t)
		h.event("send", `{"message_id":"a","text":"I ▉","streaming":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("model.end", `{"finish_reason":"tool_calls","text":"I look."}`)
		h.event("turn.end", `{"outcome":"stopped"}`, `* message.stop {"message_id":"a","final_text":"I","commentary":true}`, idle)
	})
	t.Run("an answer to something else", func(t *testing.T) {
		t.Parallel()
		h := rebuilt(t)
		h.event("edit", `{"message_id":"a","text":"I was cut","final":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("answer", `{"text":"Never shown."}`)
		h.event("turn.end", `{"outcome":"stopped"}`, `* message.stop {"message_id":"a","final_text":"I was cut"}`, idle)
	})
}

// TestTwice: what comes again, under another seq, has no effect.
func TestTwice(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceUser)
	h.event("tool.start", `{"call":"c1","index":1,"name":"ls"}`, `~ tool.start`)
	h.event("tool.start", `{"call":"c1","index":1,"name":"ls"}`)
	h.event("tool.progress", `{"call":"c1","note":"half"}`, `~ tool.progress {"index":1,"name":"ls","note":"half"}`)
	h.event("tool.end", `{"call":"c1","index":1,"name":"ls","preview":"/","args":{"path":"/"},"ok":true}`,
		`* tool.start {"index":1,"name":"ls","preview":"/","args":{"path":"/"}}`, `* tool.end`)
	h.event("tool.end", `{"call":"c1","index":1,"name":"ls","ok":true}`)
	h.event("tool.start", `{"call":"c1","index":1,"name":"ls"}`)
	h.event("tool.progress", `{"call":"c1","note":"late"}`)
	h.event("cron", `{"message_id":"m","text":"Report","job":"j"}`, `* message {"message_id":"m","role":"cron","text":"Report"`, `* notification {"kind":"cron","title":"j","body":"Report","ts":1790000010000} push`)
	h.event("cron", `{"message_id":"m","text":"Report","job":"j"}`)
}

// TestAnswerNotStreamed: the next agent turn ends it, even if its model.start
// is lost.
func TestAnswerNotStreamed(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceUser)
	h.event("model.end", `{"finish_reason":"stop","text":"One.","model":"acme/m1","usage":{"output":3},"reasoning":"hm"}`)
	h.event("answer", `{"text":"One."}`)
	h.event("send", `{"message_id":"a","text":"One.\n\nfooter","reply_to":"u","notify":true}`)
	h.event("send", `{"message_id":"a","text":"One.\n\nfooter","reply_to":"u","notify":true}`)
	h.event("edit", `{"message_id":"a","text":"One.\n\nfooter","final":true}`)
	h.event("model.end", `{"finish_reason":"tool_calls"}`,
		`* message {"message_id":"a","role":"assistant","text":"One.","reasoning":"hm","reply_to":"u","model":"m1","tokens":3,"ts":1790000005000} push`)
}

// TestTakenOver: a machine that takes a turn over knows that it is a command, what
// it says is its reply; and of another what the model has thought so far.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	t.Run("a command", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceCommand)
		open := h.machine.Open()
		h = newHost(t)
		h.machine.Believe(open[0])
		h.event("send", `{"message_id":"a","text":"Status","notify":true}`, `* message {"message_id":"a","role":"system","text":"Status"`, typing)
	})
	t.Run("thoughts", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("model.end", `{"finish_reason":"tool_calls","reasoning":"hm"}`)
		open := h.machine.Open()
		h = newHost(t)
		h.machine.Believe(open[0])
		h.event("edit", `{"message_id":"a","text":"One.","final":true}`, `~ message.start`, `~ message.update`)
		h.event("turn.end", `{"outcome":"completed"}`, `* message.stop {"message_id":"a","final_text":"One.","reasoning":"hm"} push`, idle)
	})
}

// TestSameMoment: of a message that appears in the millisecond in which the model
// is asked again, a hello that runs ahead says nothing of which came first; an
// event does.
func TestSameMoment(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.machine.Believe(link.Turn{Turn: "tn_1", ChatID: "c"})
	h.want(h.machine.Resume(link.Hello{Turns: []link.Turn{{
		Turn: "tn_1", ChatID: "c", Messages: []link.TurnMessage{{MessageID: "a", Text: "So", Began: began + 1000}},
	}}}), `~ message.start {"message_id":"a"`, `~ message.update`)
	h.event("model.start", `{}`) // its answer, still to come
	h.event("send", `{"message_id":"b","text":"Held.","notify":true}`)
	h.same = true
	h.event("model.start", `{}`, `* message.stop {"message_id":"a"`, `* message {"message_id":"b"`)
}

// TestAsks: a row is looked up for a report that may be there already, and for no
// other.
func TestAsks(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	asks := func(kind, body string) string {
		return h.machine.Asks(link.Event{Kind: kind, ChatID: "c", Turn: "tn_1", Body: json.RawMessage(body)})
	}
	report := `{"message_id":"r","text":"Report","job":"j"}`
	for _, c := range []struct{ kind, body, want string }{
		{"cron", report, "r"},
		{"cron", `{"message_id":7}`, ""},
		{"edit", `{"message_id":"e","final":true}`, "e"},
		{"edit", `{"message_id":"e"}`, ""},
		{"edit", `{"message_id":"e","final":7}`, ""},
		{"send", `{"message_id":"s","text":"x"}`, ""},
	} {
		if got := asks(c.kind, c.body); got != c.want {
			t.Errorf("%s %s asks for %q, want %q", c.kind, c.body, got, c.want)
		}
	}
	h.event("cron", report, `* message`, `* notification`)
	if got := asks("cron", report); got != "" {
		t.Errorf("a report that came asks for %q", got)
	}
}
