package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"iris-gateway/handlers/link"
)

const (
	asksApproval = `{"prompt_id":"p1","kind":"approval","command":"rm -rf build","description":"recursive delete","expires_at":1790000300000,"call":"c1"}`
	approval     = `* picker.approval {"picker_id":"p1","command":"rm -rf build","description":"recursive delete","choices":[` +
		`{"value":"once","label":"Allow once","style":"primary"},{"value":"session","label":"Allow for this session"},` +
		`{"value":"always","label":"Always allow"},{"value":"deny","label":"Deny","style":"danger"}],"expires_at":1790000300000,"call":"c1"}`
	approvalNotice = `* notification {"kind":"approval","title":"Approval needed","body":"rm -rf build","ts":`
	waitingInput   = `* agent.busy {"reason":"waiting_input"} busy="tn_1"`
	asksClarify    = `{"prompt_id":"p2","kind":"clarify","question":"Which?","choices":[{"value":"a b","label":"a b"}],"allow_text":true}`
	clarify        = `* picker.clarify {"picker_id":"p2","question":"Which?","choices":[{"value":"a b","label":"a b"}],"allow_text":true}`
	clarifyNotice  = `* notification {"kind":"clarify","title":"Question","body":"Which?","ts":`
)

// waits is a host whose turn waits for p1.
func waits(t *testing.T) *host {
	h := newHost(t)
	h.start(link.SourceUser)
	h.event("prompt", asksApproval, approval, approvalNotice, waitingInput)
	return h
}

// TestPrompts: the turn waits for approvals and clarifies, until all are closed.
func TestPrompts(t *testing.T) {
	t.Parallel()
	t.Run("answered", func(t *testing.T) {
		t.Parallel()
		h := waits(t)
		h.event("prompt", asksApproval)
		h.event("prompt", asksClarify, clarify, clarifyNotice)
		h.event("prompt.closed", `{"prompt_id":"p1","why":"answered","value":"once"}`, `* picker.closed {"picker_id":"p1","value":"once"}`)
		h.event("prompt.closed", `{"prompt_id":"p1","why":"answered","value":"once"}`)
		h.event("prompt.closed", `{"prompt_id":"p2","why":"answered","text":"both"}`, busy, `* picker.closed {"picker_id":"p2","value":null,"text":"both"}`)
		h.event("prompt", asksApproval)
		h.event("turn.end", `{"outcome":"completed"}`, typingOff, stopped, idle)
	})
	t.Run("given up", func(t *testing.T) {
		t.Parallel()
		h := waits(t)
		h.event("prompt.closed", `{"prompt_id":"p1","why":"expired","value":"timeout"}`, busy, `* picker.closed {"picker_id":"p1","value":null}`)
	})
	t.Run("open at the end", func(t *testing.T) {
		t.Parallel()
		h := waits(t)
		h.event("edit", `{"message_id":"a","text":"x"}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("prompt", asksClarify, clarify, clarifyNotice)
		h.event("turn.end", `{"outcome":"stopped"}`,
			`* picker.closed {"picker_id":"p1","value":null}`, `* message.stop`, `* picker.closed {"picker_id":"p2","value":null}`, idle)
		h.event("prompt.closed", `{"prompt_id":"p1","why":"turn ended"}`)
		h.event("prompt", `{"prompt_id":"p3","kind":"approval","command":"late"}`)
		h.event("prompt.closed", `{"prompt_id":"p3","why":"turn ended"}`)
	})
	t.Run("of no turn", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.eventOf("", "prompt", asksApproval, approval, approvalNotice)
		h.eventOf("", "prompt.closed", `{"prompt_id":"p1","why":"answered","value":"deny"}`, `* picker.closed {"picker_id":"p1","value":"deny"}`)
		// Asked before a machine that is gone.
		h.eventOf("tn_0", "prompt.closed", `{"prompt_id":"p0","why":"expired"}`, `* picker.closed {"picker_id":"p0","value":null}`)
	})
	t.Run("of the second turn of a lane", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.eventOf("tn_2", "turn.start", `{"source":"command"}`)
		h.eventOf("tn_2", "prompt", asksApproval, approval, approvalNotice, waitingInput)
		h.eventOf("tn_2", "turn.end", `{"outcome":"completed"}`, `* picker.closed`, busy)
		h.eventOf("tn_3", "turn.start", `{"source":"command"}`)
		h.eventOf("tn_3", "prompt", asksClarify, clarify, clarifyNotice, waitingInput)
		h.event("turn.end", `{"outcome":"completed"}`, `* agent.busy {"reason":"waiting_input"} busy="tn_3"`)
	})
}

// TestPickers: prompts that do not end with their turn, and what is made of
// their fields.
func TestPickers(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceCommand)
	h.event("prompt", `{"prompt_id":"p1","kind":"confirm","title":"/undo","text":"⚠️ **Sure?**\n\nChoose:\n• **Approve Once** — go","expires_at":5}`,
		`* picker.confirm {"picker_id":"p1","title":"/undo","text":"⚠️ **Sure?**","choices":[{"value":"once","label":"Go ahead","style":"primary"},`+
			`{"value":"always","label":"Go ahead, never ask again"},{"value":"cancel","label":"Cancel"}],"expires_at":5} push`)
	h.event("prompt", `{"prompt_id":"p2","kind":"choice","title":"Effort","choices":[{"value":""},{"value":"low","style":"purple"},{"value":"high","label":"High","is_current":true}],"text":"","x":{"a":[1.50]}}`,
		`* picker.choice {"picker_id":"p2","title":"Effort","choices":[{"value":"low","label":"low"},{"value":"high","label":"High","is_current":true}],"x":{"a":[1.50]}} push`)
	h.event("prompt", `{"prompt_id":"p3","kind":"model","current_model":"m","current_provider":"x","providers":[{"id":"x","models":[{"id":"a/b"}]},{"id":"y","label":"Y"}]}`,
		`* picker.model {"picker_id":"p3","current_model":"m","current_provider":"x","providers":[{"id":"x","label":"x","models":[{"id":"a/b","label":"a/b"}]},{"id":"y","label":"Y","models":[]}]} push`)
	h.event("prompt.closed", `{"prompt_id":"p2","why":"answered","value":"low"}`, `* picker.closed {"picker_id":"p2","value":"low"}`)
	h.event("turn.end", `{"outcome":"completed"}`, typingOff, stopped, idle)
	h.event("prompt.closed", `{"prompt_id":"p1","why":"expired"}`, `* picker.closed {"picker_id":"p1","value":null}`)
	h.eventOf("", "prompt", `{"prompt_id":"p4","kind":"clarify","question":"`+strings.Repeat("é", 300)+`"}`,
		`* picker.clarify {"picker_id":"p4","question":"`+strings.Repeat("é", 300)+`","choices":[],"allow_text":true}`,
		`* notification {"kind":"clarify","title":"Question","body":"`+strings.Repeat("é", 200)+`","ts":`)
	h.event("prompt", `{"prompt_id":"p5","kind":"later"}`)
}

// TestPromptsResumed: a machine that knows nothing learns what a turn waits for
// from a hello, and what a believed turn waited for ends with it.
func TestPromptsResumed(t *testing.T) {
	t.Parallel()
	named := func(prompts ...string) link.Hello {
		return link.Hello{LastSeq: 9, Turns: []link.Turn{{Turn: "tn_1", ChatID: "c", Prompts: prompts}}}
	}
	t.Run("waits", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.machine.Believe(link.Turn{Turn: "tn_1", ChatID: "c"})
		h.want(h.machine.Snapshot(), `~ agent.busy {"reason":"processing"}`)
		h.want(h.machine.Resume(named("p1")), `~ agent.busy {"reason":"waiting_input"}`, typing)
		h.want(h.machine.Snapshot(), `~ agent.busy {"reason":"waiting_input"}`, typing)
		if open := h.machine.Open(); len(open) != 1 || len(open[0].Prompts) != 1 || open[0].Prompts[0] != "p1" {
			t.Errorf("open: %+v", open)
		}
		h.event("prompt", asksApproval, approval, approvalNotice, waitingInput) // the log has it not
		h.event("prompt.closed", `{"prompt_id":"p1","why":"answered","value":"deny"}`, busy, `* picker.closed {"picker_id":"p1","value":"deny"}`)
	})
	t.Run("waited", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.machine.Believe(link.Turn{Turn: "tn_1", ChatID: "c", Prompts: []string{"p1", "p2"}})
		h.want(h.machine.Snapshot(), `~ agent.busy {"reason":"waiting_input"}`)
		h.want(h.machine.Resume(named("p2")), typing)
		h.want(h.machine.Resume(named()), `~ agent.busy {"reason":"processing"}`)
		h.event("prompt.closed", `{"prompt_id":"p2","why":"expired"}`, busy, `* picker.closed {"picker_id":"p2","value":null}`)
		h.event("turn.end", `{"outcome":"completed"}`, typingOff, stopped, idle)
	})
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.machine.Believe(link.Turn{Turn: "tn_1", ChatID: "c", Prompts: []string{"p1"}})
		h.want(h.machine.Resume(link.Hello{}), typing)
		h.want(h.machine.Lost(), `* picker.closed {"picker_id":"p1","value":null}`, typingOff, stopped, idle)
	})
	t.Run("the same machine", func(t *testing.T) {
		t.Parallel()
		h := waits(t)
		h.want(h.machine.Resume(named())) // its prompt.closed follows
		h.event("prompt.closed", `{"prompt_id":"p1","why":"expired"}`, busy, `* picker.closed {"picker_id":"p1","value":null}`)
		h.want(h.machine.Resume(named("p1")))
		h.event("turn.end", `{"outcome":"completed"}`, typingOff, stopped, idle)
	})
	t.Run("its start is repeated", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.want(h.machine.Resume(named("p1")))
		h.event("turn.start", `{"source":"user"}`, waitingInput, typing)
		h.event("prompt", asksApproval, approval, approvalNotice, waitingInput)
	})
}

// TestBelievedText: what devices have seen is not taken for the beginning of a
// media tag.
func TestBelievedText(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceUser)
	h.event("send", `{"message_id":"a","text":"M\n ▉","streaming":true}`, `~ message.start`, `~ message.update {"message_id":"a","text":"M"}`, typingOff, stopped)
	open := h.machine.Open()
	h = newHost(t)
	h.machine.Believe(open[0])
	h.want(h.machine.Resume(link.Hello{}))
	h.want(h.machine.Lost(), `* message.stop {"message_id":"a","final_text":"M","interrupted":true}`, idle)
}

// TestHeldResumed: a hello tells what a message answers and that it is not
// streamed; then nobody sees it before its footer is known.
func TestHeldResumed(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceUser)
	h.event("send", `{"message_id":"a","text":"One.\n","reply_to":"u","notify":true}`)
	open := h.machine.Open()
	var named link.Turn
	if data, err := json.Marshal(open[0]); err != nil || json.Unmarshal(data, &named) != nil {
		t.Fatal(err)
	}
	h = newHost(t)
	h.machine.Believe(link.Turn{Turn: "tn_1", ChatID: "c"})
	h.want(h.machine.Resume(link.Hello{Turns: []link.Turn{named}}), typing)
	h.want(h.machine.Lost())
	h.event("send", `{"message_id":"a","text":"One.\n","reply_to":"u","notify":true}`)
	h.event("turn.end", `{"outcome":"completed","tokens":3}`,
		`* message {"message_id":"a","role":"assistant","text":"One.","reply_to":"u","tokens":3,"ts":1790000003000} push row=assistant@3.000 re=u`, typingOff, stopped, idle)

	h = newHost(t)
	h.want(h.machine.Resume(link.Hello{Turns: []link.Turn{{Turn: "tn_1", ChatID: "c", Messages: []link.TurnMessage{
		{MessageID: "b", Text: "Str", ReplyTo: "u", Began: began},
	}}}}))
	h.want(h.machine.Lost(), busy, `~ message.start {"message_id":"b"`, `~ message.update`)
	h.event("turn.end", `{"outcome":"completed"}`, `* message.stop {"message_id":"b","final_text":"Str"} push row=assistant@0.000 re=u`, idle)
}

// TestDelete: what is taken back is gone for good.
func TestDelete(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceUser)
	h.event("edit", `{"message_id":"a","text":"x"}`, `~ message.start`, `~ message.update`, typingOff, stopped)
	h.event("send", `{"message_id":"b","text":"MEDIA:/","streaming":true}`)
	h.event("delete", `{"message_ids":["b"]}`)
	h.event("delete", `{"message_ids":["b","a","old"]}`, `* message.deleted {"message_ids":["b","a","old"]} row=assistant@6.000 deleted row=assistant@3.000 deleted row=assistant@6.000 deleted`)
	h.event("edit", `{"message_id":"a","text":"x y","final":true}`)
	h.event("send", `{"message_id":"b","text":"x y","notify":true}`)
	h.event("turn.end", `{"outcome":"completed"}`, idle)
	h.event("delete", `{}`)
}
