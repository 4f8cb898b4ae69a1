package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/turn"
	"iris-gateway/iris"
)

// host feeds a machine and collects its frames, one string each.
type host struct {
	t       *testing.T
	machine *turn.Machine
	seq     int64
	same    bool            // the next event comes in the millisecond of the last one
	ended   map[string]bool // messages with a row from an earlier process
}

func newHost(t *testing.T) *host {
	h := &host{t: t, ended: map[string]bool{}}
	h.machine = turn.New(func(id string) bool { return h.ended[id] })
	h.want(h.machine.Resume(link.Hello{Agent: link.Agent{Streaming: true}}))
	h.want(h.machine.Lost())
	return h
}

// event hands an event of turn tn_1 over and compares its frames.
func (h *host) event(kind, body string, want ...string) {
	h.t.Helper()
	h.eventOf("tn_1", kind, body, want...)
}

func (h *host) eventOf(turnID, kind, body string, want ...string) {
	h.t.Helper()
	at := h.seq
	h.seq++
	if !h.same {
		at = h.seq
	}
	h.same = false
	frames, err := h.machine.Handle(link.Event{
		Seq: h.seq, At: began + at*1000, Kind: kind, ChatID: "c", Turn: turnID, Body: json.RawMessage(body),
	})
	if err != nil {
		h.t.Errorf("%s %s: %v", kind, body, err)
	}
	h.want(frames, want...)
}

// want compares frames; a wanted one may leave out the end.
func (h *host) want(frames []turn.Frame, want ...string) {
	h.t.Helper()
	var got []string
	for _, f := range frames {
		got = append(got, strings.TrimSpace(strings.Replace(show(f), " c ", " ", 1)))
	}
	bad := len(got) != len(want)
	for i := range want {
		bad = bad || !strings.HasPrefix(got[i], want[i])
	}
	if bad {
		h.t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const (
	busy      = `* agent.busy {"reason":"processing"} busy="tn_1"`
	idle      = `* agent.idle {} busy=""`
	typing    = `~ typing {"on":true}`
	typingOff = `~ typing {"on":false}`
	stopped   = `~ typing.stop {}`
)

// start opens turn tn_1 and has the model asked.
func (h *host) start(source string) {
	h.t.Helper()
	h.event("turn.start", `{"trigger":"u","source":"`+source+`"}`, busy, typing)
	if source == link.SourceUser {
		h.event("model.start", `{"text":"hello"}`)
	}
}

// TestSends walks the rows of host-link.md, "From events to frames", about send.
func TestSends(t *testing.T) {
	t.Parallel()
	t.Run("no turn open", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.eventOf("", "send", `{"message_id":"a","text":"hi","notify":true}`, `* message {"message_id":"a","role":"assistant","text":"hi","ts":1790000001000} push row=assistant@1.000`)
		h.eventOf("", "send", `{"message_id":"b","text":"♻ restarted"}`, `* message {"message_id":"b","role":"system","text":"♻ restarted","ts":1790000002000} row=system@2.000`)
		h.eventOf("", "send", `{"message_id":"b","text":"again"}`)
		h.eventOf("", "send", `{"message_id":"c","text":"MEDIA:/a.png","notify":true}`)
		h.eventOf("", "send", `{"message_id":"d","text":"x","streaming":true}`)
	})
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceCommand)
		h.event("send", `{"message_id":"a","text":"Status","reply_to":"u","notify":true}`, `* message {"message_id":"a","role":"system","text":"Status","reply_to":"u"`)
		h.event("send", `{"message_id":"n","text":"tip"}`, `* notification {"kind":"generic","title":"notice","body":"tip"`)
		h.event("turn.end", `{"outcome":"completed"}`, typingOff, stopped, idle)
	})
	t.Run("command that asks the model", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceCommand)
		h.event("model.end", `{"finish_reason":"stop","text":"Again."}`)
		h.event("send", `{"message_id":"a","text":"Again.","notify":true}`)
		h.event("turn.end", `{"outcome":"completed"}`, `* message {"message_id":"a","role":"assistant","text":"Again."`, typingOff, stopped, idle)
	})
	t.Run("acknowledgements", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("send", `{"message_id":"a","text":"Steered","reply_to":"u2"}`, `* message {"message_id":"a","role":"system"`)
		h.event("send", `{"message_id":"b","text":"Queued","reply_to":"u2","notify":true,"immediate":true}`, `* message {"message_id":"b","role":"system"`)
		h.event("send", `{"message_id":"c","text":"💾 Memory updated"}`, `* notification {"kind":"generic","title":"notice","body":"💾 Memory updated"`)
		h.event("edit", `{"message_id":"c","text":"💾 Memory updated twice"}`)
	})
	t.Run("not streamed", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.want(h.machine.Resume(link.Hello{}))
		h.want(h.machine.Lost())
		h.start(link.SourceUser)
		h.event("send", `{"message_id":"a","text":"I look."}`, `* commentary {"message_id":"a","text":"I look."} row=assistant@3.000 beat`)
		h.event("send", `{"message_id":"f","text":"MEDIA:/a.png"}`) // a file alone
		h.event("send", `{"message_id":"b","text":"💭 **Reasoning:**\n`+"```"+`\nhm\n`+"```"+`\n\nDone.","reply_to":"u","notify":true}`)
		h.event("model.start", `{"text":"next"}`, `* message {"message_id":"b","role":"assistant","text":"Done.","reasoning":"hm","reply_to":"u","ts":1790000005000} row=assistant@5.000 re=u`)
	})
}

// TestMedia: a file is offered, then comes in a message, whenever its bytes have
// arrived.
func TestMedia(t *testing.T) {
	t.Parallel()
	media := func(id, fields string) string {
		return `{"message_id":"` + id + `","media_id":"md_` + id + `","kind":"image","mime":"image/png","size":7,"filename":"a.png","sha256":"` +
			strings.Repeat("0f", 32) + `"` + fields + `}`
	}
	shown := func(id, text, rest string) []string {
		described := `{"media_id":"md_` + id + `","kind":"image","mime":"image/png","size":7,"filename":"a.png"}`
		return []string{
			`* media.offer ` + described,
			`* message {"message_id":"` + id + `","role":"assistant","text":"` + text + `","media":[` + described + `]` + rest,
		}
	}
	h := newHost(t)
	h.start(link.SourceUser)
	h.event("send", `{"message_id":"t","text":"Here ▉","streaming":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
	// While its turn runs.
	h.event("media", media("a", `,"caption":"The plot","reply_to":"u"`), shown("a", "The plot", `,"reply_to":"u","ts":1790000004000} push row=assistant@4.000 image=md_a 0f0f`)...)
	h.event("media", media("a", ``)) // again
	h.event("edit", `{"message_id":"t","text":"Here it is.\nMEDIA:/tmp/a.png","final":true}`, `~ message.update`)
	h.event("turn.end", `{"outcome":"completed"}`, `* message.stop {"message_id":"t","final_text":"Here it is."`, idle)
	// After its end, of no turn, of a turn that nobody knows; never a path.
	h.event("media", media("b", `,"caption":"\n\nMEDIA:/tmp/b.png\n"`), shown("b", "", `,"ts":1790000008000} push row=assistant@8.000`)...)
	h.eventOf("", "media", media("c", ``), shown("c", "", `,"ts":`)...)
	h.eventOf("tn_old", "media", media("d", ``), shown("d", "", `,"ts":`)...)
	// A picture alone is a whole answer.
	h.eventOf("tn_2", "turn.start", `{"source":"user"}`, `* agent.busy`, typing)
	h.eventOf("tn_2", "send", `{"message_id":"m","text":"MEDIA:/tmp/e.png ▉","streaming":true}`)
	h.eventOf("tn_2", "turn.end", `{"outcome":"completed"}`, typingOff, stopped, idle)
	h.eventOf("tn_2", "media", media("e", ``), shown("e", "", `,"ts":`)...)
}

// TestFailed: the error is told once, by a message of role system.
func TestFailed(t *testing.T) {
	t.Parallel()
	t.Run("by a send", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("send", `{"message_id":"a","text":"Half ▉","streaming":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("model.error", `{"message":"raw","will_retry":true}`)
		h.event("notice", `{"key":"lifecycle","text":"retrying"}`, `* notification {"kind":"generic","title":"lifecycle","body":"retrying"`)
		h.event("model.error", `{"message":"raw"}`)
		h.event("notice", `{"key":"lifecycle","text":"It failed."}`)
		h.event("notice", `{"key":"lifecycle","text":"Something else."}`)
		h.event("send", `{"message_id":"b","text":"It failed.","reply_to":"u","notify":true}`)
		h.event("turn.end", `{"outcome":"failed","error":"raw","reasoning":"hm","tokens":3}`,
			`* notification {"kind":"generic","title":"lifecycle","body":"Something else."`,
			`* message.stop {"message_id":"a","final_text":"Half"} row=assistant@3.000`,
			`* message {"message_id":"b","role":"system","text":"It failed.","reply_to":"u"`, idle)
	})
	t.Run("by nobody", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("model.error", `{}`)
		h.event("notice", `{"key":"lifecycle","text":"It failed."}`)
		h.event("turn.end", `{"outcome":"failed","error":"It failed."}`,
			`* message {"message_id":"`+iris.ClientMessageID("tn_1", "error")+`","role":"system","text":"It failed.","ts":1790000005000}`,
			typingOff, stopped, idle)
	})
	t.Run("but it went on", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("model.error", `{}`)
		h.event("notice", `{"key":"lifecycle","text":"Falling back."}`)
		h.event("model.end", `{"finish_reason":"stop","text":"OK"}`, `* notification {"kind":"generic","title":"lifecycle","body":"Falling back."`)
		h.event("turn.end", `{"outcome":"completed"}`, typingOff, stopped, idle) // told once
	})
	t.Run("in the middle of the answer", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("send", `{"message_id":"a","text":"Half ▉","streaming":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("model.end", `{"finish_reason":"stop","text":"Half","model":"m1","usage":{"output":3}}`)
		h.event("answer", `{"text":"Half"}`)
		h.event("turn.end", `{"outcome":"failed","error":"It failed.","reasoning":"hm","tokens":3}`,
			`* message.stop {"message_id":"a","final_text":"Half"} row=assistant@3.000`,
			`* message {"message_id":"`+iris.ClientMessageID("tn_1", "error")+`","role":"system","text":"It failed."`, idle)
	})
}

// TestOvertaken: hooks and callbacks come in two orders.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	t.Run("a beat that is sent after its call", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("model.end", `{"finish_reason":"tool_calls","text":"I look."}`)
		h.event("tool.start", `{"call":"c1","index":1,"name":"ls"}`, `~ tool.start {"index":1,"name":"ls","args":{}}`)
		h.event("send", `{"message_id":"a","text":"I ▉","streaming":true}`, `~ message.start`, `* message.stop {"message_id":"a","final_text":"I look.","commentary":true} row=assistant@5.000 beat`)
		h.event("edit", `{"message_id":"a","text":"I look.","final":true}`)
	})
	t.Run("a retried stream", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("send", `{"message_id":"a","text":"I lo ▉","streaming":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("edit", `{"message_id":"a","text":"I loI lo ▉"}`, `~ message.update`)
		h.event("model.end", `{"finish_reason":"tool_calls","text":"I look."}`)
		h.event("edit", `{"message_id":"a","text":"I loI look.","final":true}`, `* message.stop {"message_id":"a","final_text":"I loI look.","commentary":true}`)
		h.event("send", `{"message_id":"b","text":"I ▉","streaming":true}`, `~ message.start`, `~ message.update`)
	})
	t.Run("a text after its final edit", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("edit", `{"message_id":"a","text":"Hello.","final":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("edit", `{"message_id":"a","text":"Hel ▉"}`)
		h.event("edit", `{"message_id":"a","text":"Hello.","final":true}`)
	})
	t.Run("the next model.start is lost", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("answer", `{"text":"One."}`)
		h.event("edit", `{"message_id":"a","text":"One.","final":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("send", `{"message_id":"b","text":"Tw ▉","streaming":true}`, `* message.stop {"message_id":"a","final_text":"One."} push`, `~ message.start`, `~ message.update`)
		h.event("answer", `{"text":"Two."}`)
		h.event("turn.end", `{"outcome":"completed"}`, `* message.stop {"message_id":"b","final_text":"Two."} push`, idle)
	})
	t.Run("an answer in two messages", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("edit", `{"message_id":"a","text":"One, ","final":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.event("edit", `{"message_id":"b","text":"two.","final":true}`, `~ message.start`, `~ message.update`)
		h.event("answer", `{"text":"One, two."}`)
		h.event("turn.end", `{"outcome":"completed","tokens":4}`,
			`* message.stop {"message_id":"a","final_text":"One, "} row`, `* message.stop {"message_id":"b","final_text":"two.","tokens":4} push`, idle)
	})
}

// TestStragglers: nothing belongs to a turn that has ended.
func TestStragglers(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceUser)
	h.event("tool.start", `{"call":"c1","index":1,"name":"ls","args":{"path":"/"},"preview":"/"}`, `~ tool.start {"index":1,"name":"ls","preview":"/","args":{"path":"/"}}`)
	h.event("turn.end", `{"outcome":"stopped"}`,
		`* tool.start {"index":1,"name":"ls","preview":"/","args":{"path":"/"}}`, `* tool.end {"index":1,"name":"ls","ok":false,"duration":1,"output_preview":""}`, typingOff, stopped, idle)
	h.event("tool.end", `{"call":"c1","index":1,"name":"ls","ok":true}`)
	h.event("edit", `{"message_id":"a","text":"late","final":true}`)
	h.event("send", `{"message_id":"a","text":"late","streaming":true}`)
	h.event("model.end", `{"finish_reason":"stop"}`)
	h.event("turn.start", `{}`)
	for _, kind := range []string{"model.start", "model.error", "answer", "tool.start", "tool.progress", "tool.end"} {
		h.event(kind, `{"call":"c2","index":2,"name":"ls","text":"late","note":"late"}`)
	}
	h.event("turn.end", `{"outcome":"completed"}`)
	// A turn that nobody knows: only what is durable, unless it has a row.
	h.eventOf("tn_0", "edit", `{"message_id":"b","text":"so far ▉"}`)
	h.eventOf("tn_0", "edit", `{"message_id":"b","text":"All.","final":true,"began":1790000000500,"reply_to":"u"}`, `* message {"message_id":"b","role":"assistant","text":"All.","reply_to":"u","ts":1790000000500} push row=assistant@0.500 re=u`)
	h.eventOf("tn_0", "edit", `{"message_id":"b","text":"All.","final":true}`)
	h.ended["c"] = true
	h.eventOf("tn_0", "edit", `{"message_id":"c","text":"All.","final":true}`)
	h.eventOf("", "cron", `{"message_id":"c","text":"All.","job":"j"}`)
}

// TestTwoTurns: a lane is busy with the first of its turns and idle after the last.
func TestTwoTurns(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceUser)
	h.eventOf("tn_2", "turn.start", `{"source":"command"}`)
	h.event("edit", `{"message_id":"a","text":"x"}`, `~ message.start`, `~ message.update`)
	h.event("turn.end", `{"outcome":"completed"}`, `* message.stop`, `* agent.busy {"reason":"processing"} busy="tn_2"`)
	h.eventOf("tn_2", "turn.end", `{"outcome":"completed"}`, typingOff, stopped, idle)
}

// TestResume: a machine that knows nothing goes on in the middle of a turn.
func TestResume(t *testing.T) {
	t.Parallel()
	named := link.Turn{
		Turn: "tn_1", ChatID: "c", Source: link.SourceUser, Reasoning: "hm",
		Messages: []link.TurnMessage{{MessageID: "a", Text: "\n\nSo far ▉", Began: began + 500}, {MessageID: "old", Text: "x"}},
		Tools:    []link.TurnTool{{Call: "c2", Index: 2, Name: "ls"}},
	}
	t.Run("its start is in the log", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.ended["old"] = true
		h.machine.Believe(link.Turn{Turn: "tn_1", ChatID: "c"})
		h.want(h.machine.Snapshot(), `~ agent.busy`)
		h.want(h.machine.Resume(link.Hello{Turns: []link.Turn{named}, LastSeq: 5}),
			`~ message.start {"message_id":"a","role":"assistant"}`, `~ message.update {"message_id":"a","text":"So far"}`, `~ tool.start {"index":2`, typing)
		h.want(h.machine.Snapshot(), `~ agent.busy`,
			`~ message.start {"message_id":"a","role":"assistant"}`, `~ message.update {"message_id":"a","text":"So far"}`, `~ tool.start {"index":2`, typing)
		h.event("tool.end", `{"call":"c1","index":1,"name":"ls","ok":true}`, `* tool.start {"index":1`, `* tool.end {"index":1`)
		h.event("edit", `{"message_id":"old","text":"x","final":true}`)
		h.want(h.machine.Lost())
		h.event("turn.end", `{"outcome":"completed"}`, `* message.stop {"message_id":"a","final_text":"So far","reasoning":"hm"} push row=assistant@0.500`,
			`* tool.start {"index":2`, `* tool.end {"index":2,"name":"ls","ok":false`, typingOff, stopped, idle)
	})
	t.Run("its start is repeated", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.want(h.machine.Resume(link.Hello{Turns: []link.Turn{named}}))
		h.want(h.machine.Snapshot())
		h.event("turn.start", `{"source":"user"}`, busy,
			`~ message.start {"message_id":"a"`, `~ message.update {"message_id":"a"`, `~ message.start {"message_id":"old"`, `~ message.update {"message_id":"old"`, `~ tool.start`, typing)
		h.want(h.machine.Lost())
	})
	t.Run("its start is in the log, and no row tells", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.want(h.machine.Resume(link.Hello{Turns: []link.Turn{{Turn: "tn_1", ChatID: "c"}}}))
		h.want(h.machine.Lost(), busy, typing)
	})
	t.Run("the same host again", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.start(link.SourceUser)
		h.event("send", `{"message_id":"a","text":"So ▉","streaming":true}`, `~ message.start`, `~ message.update`, typingOff, stopped)
		h.want(h.machine.Resume(link.Hello{Turns: []link.Turn{named}}),
			`~ message.update {"message_id":"a","text":"So far"}`, `~ message.start {"message_id":"old"`, `~ message.update`, `~ tool.start`, typing)
		h.seq -= 2
		h.event("model.end", `{"finish_reason":"tool_calls","text":"So far."}`) // it had this seq
		h.event("model.end", `{"finish_reason":"tool_calls","text":"So far."}`)
		h.want(h.machine.Lost())
	})
}

// TestLost: turns that the host does not name are closed.
func TestLost(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.machine.Believe(link.Turn{
		Turn: "tn_1", ChatID: "c", Messages: []link.TurnMessage{{MessageID: "a", Text: "So far", Began: began}},
		Tools: []link.TurnTool{{Call: "c1", Index: 1, Name: "ls"}},
	})
	h.want(h.machine.Resume(link.Hello{LastSeq: 9}), typing)
	h.eventOf("tn_2", "turn.start", `{"source":"user"}`) // killed before it could end
	h.want(h.machine.Lost(),
		`* message.stop {"message_id":"a","final_text":"So far","interrupted":true} row=assistant@0.000`,
		`* tool.start {"index":1,"name":"ls","args":{}}`, `* tool.end {"index":1,"name":"ls","ok":false,"duration":0`,
		`* agent.busy {"reason":"processing"} busy="tn_2"`, typingOff, stopped, idle)
	if open := h.machine.Open(); len(open) > 0 {
		t.Errorf("open: %v", open)
	}
	h.eventOf("tn_3", "turn.start", `{"source":"cron"}`, `* agent.busy {"reason":"cron"} busy="tn_3"`, typing)
	h.want(h.machine.Lost())
	h.machine.Forget(func(lane iris.Lane) bool { return lane.ChatID == "c" })
	h.eventOf("tn_3", "turn.end", `{"outcome":"completed"}`)
	h.want(h.machine.Snapshot())
}

// TestRefused: an event that can never be taken changes nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.start(link.SourceUser)
	for _, ev := range []link.Event{
		{Kind: "turn.start", ChatID: "c"},
		{Kind: "turn.end", ChatID: "c"},
		{Kind: "turn.end", Turn: "tn_1"},
		{Kind: "turn.end", ChatID: "c", Turn: "tn_1", Body: json.RawMessage(`{"tokens":"many"}`)},
		{Kind: "send", ChatID: "c", Turn: "tn_1", Body: json.RawMessage(`{"text":"x"}`)},
		{Kind: "edit", ChatID: "c", Turn: "tn_1", Body: json.RawMessage(`[]`)},
		{Kind: "edit", ChatID: "c", Turn: "tn_1"},
		{Kind: "tool.start", ChatID: "c", Turn: "tn_1"},
		{Kind: "tool.end", ChatID: "c", Turn: "tn_1"},
		{Kind: "cron", ChatID: "c"},
		{Kind: "media", ChatID: "c", Body: json.RawMessage(`{"message_id":"a"}`)},
		{Kind: "media", ChatID: "c", Body: json.RawMessage(`{"media_id":"md_a"}`)},
		{Kind: "prompt", ChatID: "c", Body: json.RawMessage(`{"kind":"approval"}`)},
		{Kind: "prompt.closed", ChatID: "c"},
	} {
		ev.Seq = h.seq + 1
		if frames, err := h.machine.Handle(ev); iris.ErrorCode(err) != iris.CodeUnsupported || len(frames) > 0 {
			t.Errorf("%+v: %v, %v", ev, frames, err)
		}
	}
	h.event("tool.progress", `{"call":"nobody's","note":"x"}`)
	h.event("turn.end", `{"outcome":"completed"}`, typingOff, stopped, idle)
}
