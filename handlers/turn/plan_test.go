package turn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"iris-gateway/handlers/link"
)

// plan is what a host does in the random tests: its events, in the order in
// which the plugin puts them into its queue, and what must come of them.
type plan struct {
	events    []link.Event
	texts     map[string]text // by message id: what must be told, once
	prompts   map[string]bool // by prompt id: must be asked, once; and, if true, closed, once
	waits     map[string]bool // prompts that end with their turn
	killed    map[string]bool // turns that hermes did not survive
	tools     int             // tool calls that must end, once each
	cut       int             // tool calls that may end, because their turn does
	pushes    int             // answers of completed agent turns
	durable   bool            // model.start is, as it ought to be: it may end a message
	cutPushes int             // those of turns that were stopped
}

// text is what must come of a message.
type text struct {
	raw  string
	beat bool
	// The turn was stopped in its middle:
	loose bool // whether it is a beat may not be known
	part  bool // less may come
	vague bool // and nobody may know to which agent turn it belongs
}

// drawPlan makes one to three lanes with one or two turns each, their events
// shuffled into each other.
func drawPlan(t *rapid.T) *plan {
	p := &plan{
		texts: map[string]text{}, prompts: map[string]bool{}, waits: map[string]bool{}, killed: map[string]bool{},
		durable: rapid.IntRange(0, 3).Draw(t, "model.start is live") > 0,
	}
	var lanes [][]link.Event
	for l := range rapid.IntRange(1, 3).Draw(t, "lanes") {
		var lane []link.Event
		for n := range rapid.IntRange(1, 2).Draw(t, "turns") {
			draw := p.drawTurn
			if rapid.IntRange(0, 4).Draw(t, "command") == 0 {
				draw = p.drawCommand
			}
			lane = append(lane, draw(t, fmt.Sprintf("%d%d", l, n))...)
		}
		for i := range lane {
			lane[i].ChatID = fmt.Sprintf("c%d", l)
		}
		lanes = append(lanes, lane)
	}
	p.events = shuffle(t, lanes)
	p.number()
	return p
}

// number gives the events their seq and time, and the edits their began.
func (p *plan) number() {
	seq := int64(0)
	first := map[string]int64{}
	for i := range p.events {
		ev := &p.events[i]
		ev.At = began + int64(i)*10
		if ev.Seq != 0 {
			seq++
			ev.Seq = seq
		}
		b := message(*ev)
		switch ev.Kind {
		case link.KindSend:
			first[b.MessageID] = ev.At
		case link.KindEdit:
			b.Began = first[b.MessageID]
			ev.Body = event("", false, "", b).Body
		}
	}
}

// message is the body of an event about a message, or zero.
func message(ev link.Event) link.Edit {
	if ev.Kind != link.KindSend && ev.Kind != link.KindEdit {
		return link.Edit{}
	}
	var b link.Edit
	if err := json.Unmarshal(ev.Body, &b); err != nil {
		panic(err)
	}
	return b
}

// shuffle merges sequences, each of which keeps its order.
func shuffle(t *rapid.T, seqs [][]link.Event) []link.Event {
	var out []link.Event
	for {
		var rest []int
		for i, s := range seqs {
			if len(s) > 0 {
				rest = append(rest, i)
			}
		}
		if len(rest) == 0 {
			return out
		}
		i := rapid.SampledFrom(rest).Draw(t, "next")
		out = append(out, seqs[i][0])
		seqs[i] = seqs[i][1:]
	}
}

// event makes an event; a durable one has a seq, filled in later.
func event(turn string, durable bool, kind string, body any) link.Event {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	ev := link.Event{Kind: kind, Turn: "tn_" + turn, Body: raw}
	if durable {
		ev.Seq = 1
	}
	return ev
}

func (p *plan) drawTurn(t *rapid.T, name string) []link.Event {
	out := []link.Event{event(name, true, link.KindTurnStart, link.TurnStart{Source: link.SourceUser})}
	outcome := link.OutcomeCompleted
	index := 0
	var late []link.Event
	n := rapid.IntRange(0, 3).Draw(t, "agent turns")
	for a := range n {
		var evs []link.Event
		pushes := p.pushes
		evs, outcome = p.drawAgentTurn(t, name, fmt.Sprintf("%s%d", name, a), &index)
		if a == n-1 && rapid.IntRange(0, 3).Draw(t, "stop") == 0 {
			outcome, p.pushes, p.cutPushes = link.OutcomeStopped, pushes, p.cutPushes+p.pushes-pushes
			evs, late = p.stop(evs, rapid.IntRange(0, len(evs)).Draw(t, "stop after"))
		}
		out = append(out, evs...)
	}
	out = append(out, event(name, true, link.KindTurnEnd, link.TurnEnd{
		Outcome: outcome, Tokens: 7, Reasoning: "why", Runtime: link.Runtime{Model: "m"},
	}))
	for id, want := range p.texts {
		want.vague = want.vague || !p.durable && n > 1 && strings.HasPrefix(id, "m_"+name)
		p.texts[id] = want
	}
	return drawMedia(t, name, append(out, late...))
}

// drawMedia puts files between the events of a turn, or behind them: their bytes
// take the time they take.
func drawMedia(t *rapid.T, turn string, events []link.Event) []link.Event {
	for i := range rapid.IntRange(0, 2).Draw(t, "files") {
		id := fmt.Sprintf("m_file_%s_%d", turn, i)
		at := rapid.IntRange(1, len(events)).Draw(t, "file after")
		events = slices.Insert(events, at, event(turn, true, link.KindMedia, link.Media{
			MessageID: id, MediaID: "md_" + id, Kind: "image", Mime: "image/png", Size: 7, SHA256: strings.Repeat("0f", 32), Filename: "a.png",
		}))
	}
	return events
}

// files returns the messages of the files that the host sends.
func (p *plan) files() (ids []string) {
	for _, ev := range p.events {
		if ev.Kind == link.KindMedia {
			var b link.Media
			if err := json.Unmarshal(ev.Body, &b); err != nil {
				panic(err)
			}
			ids = append(ids, b.MessageID)
		}
	}
	return ids
}

// stop ends an agent turn in its middle, as /stop does: no edit comes any more,
// and the end of a running tool comes after that of the turn.
func (p *plan) stop(evs []link.Event, n int) (kept, late []link.Event) {
	open := ""
	late = p.stopPrompts(evs, n)
	for i, ev := range evs {
		switch ev.Kind {
		case link.KindSend, link.KindEdit:
			b := message(ev)
			want := p.texts[b.MessageID]
			want.loose, want.part = true, want.part || i >= n
			p.texts[b.MessageID] = want
		case link.KindToolStart:
			if i < n {
				open = string(ev.Body)
			} else {
				p.tools--
			}
		case link.KindToolEnd:
			if i < n {
				open = ""
			} else if open != "" { // it may have been lost before its turn ended
				open, late = "", append(late, ev)
				p.tools--
				p.cut++
			}
		}
	}
	return evs[:n], late
}

// drawAgentTurn makes the model calls between one model.start and the next.
// The hooks keep their order, the callbacks theirs, and a call begins when the
// tools of the one before have ended; beyond that anything may overtake.
func (p *plan) drawAgentTurn(t *rapid.T, turn, name string, index *int) ([]link.Event, string) {
	hooks := []link.Event{event(turn, p.durable, link.KindModelStart, link.ModelStart{Text: "go"})}
	var calls []link.Event
	var after []int // how many hooks must be out before the callback
	n := rapid.IntRange(1, 3).Draw(t, "calls")
	cut := rapid.Bool().Draw(t, "interrupted")
	outcome := link.OutcomeCompleted
	for c := range n {
		last := c == n-1
		id := fmt.Sprintf("m_%s%d", name, c)
		raw := drawText(t, id, c > 0)
		callbacks := drawCallbacks(t, turn, id, raw, last)
		for range callbacks {
			after = append(after, len(hooks))
		}
		if calls = append(calls, callbacks...); len(callbacks) > 0 {
			p.texts[id] = text{raw: raw, beat: !last}
		}
		switch {
		case !last:
			hooks = append(hooks, event(turn, true, link.KindModelEnd, link.ModelEnd{FinishReason: "tool_calls", Text: raw, Reasoning: "why " + id}))
			for range rapid.IntRange(1, 2).Draw(t, "tools") {
				*index++
				p.tools++
				tool := drawTool(t, turn, *index)
				hooks = append(hooks, tool[0])
				hooks = append(hooks, p.drawPrompts(t, turn, fmt.Sprintf("%s_%d", turn, *index))...)
				hooks = append(hooks, tool[1:]...)
			}
		case cut:
			outcome = link.OutcomeStopped
		default:
			hooks = append(hooks,
				event(turn, true, link.KindModelEnd, link.ModelEnd{FinishReason: "stop", Text: raw}),
				event(turn, true, link.KindAnswer, link.Answer{Text: raw}))
			if len(callbacks) > 0 && strings.TrimSpace(clean(raw)) != "" {
				p.pushes++
			}
		}
	}
	return weave(t, hooks, calls, after), outcome
}

// weave merges hooks and callbacks; callback i comes after after[i] hooks.
func weave(t *rapid.T, hooks, calls []link.Event, after []int) []link.Event {
	var out []link.Event
	h, c := 0, 0
	for h < len(hooks) || c < len(calls) {
		mayCall := c < len(calls) && after[c] <= h
		if h < len(hooks) && (!mayCall || rapid.Bool().Draw(t, "hook first")) {
			out = append(out, hooks[h])
			h++
			continue
		}
		out = append(out, calls[c])
		c++
	}
	return out
}

// drawText makes a text of the model: words that begin alike, code, media tags.
// No two are the same: with a model.start lost nobody could tell them apart.
func drawText(t *rapid.T, id string, afterTool bool) string {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{
		"I see.", "I see it all now.", "I", "", "M", "MEDIA:/a.png", "```\nMEDIA:/in/code\n```", "日本語 👍🏽",
	}), 0, 4).Draw(t, "lines")
	if len(lines) > 0 && rapid.IntRange(0, 9).Draw(t, "unique") > 0 {
		lines = append(lines, "This is "+id)
	} else if len(lines) > 0 { // nothing to be seen
		lines = []string{"MEDIA:/" + id}
	}
	s := strings.Join(lines, "\n")
	if afterTool {
		s = "\n\n" + s
	}
	return s
}

// drawCallbacks makes the adapter calls of one streamed text: none when hermes
// has nothing to send.
func drawCallbacks(t *rapid.T, turn, id, raw string, last bool) []link.Event {
	if strings.TrimSpace(raw) == "" {
		return nil
	}
	runes := []rune(raw)
	cuts := rapid.SliceOfN(rapid.IntRange(1, len(runes)), 1, 4).Draw(t, "cuts")
	var out []link.Event
	from := 0
	for i, c := range cuts {
		if from = max(from, c); i == 0 {
			out = append(out, event(turn, false, link.KindSend, link.Send{MessageID: id, Text: string(runes[:from]) + " ▉", ReplyTo: "m_user", Streaming: true}))
			continue
		}
		out = append(out, event(turn, false, link.KindEdit, link.Edit{MessageID: id, Text: string(runes[:from]) + " ▉", ReplyTo: "m_user"}))
	}
	final := event(turn, true, link.KindEdit, link.Edit{MessageID: id, Text: raw, Final: true, ReplyTo: "m_user"})
	if out = append(out, final); last {
		out = append(out, final)
	}
	return out
}

// drawTool makes the hooks of one tool call.
func drawTool(t *rapid.T, turn string, index int) []link.Event {
	call := fmt.Sprintf("c_%s_%d", turn, index)
	out := []link.Event{event(turn, false, link.KindToolStart, link.ToolStart{Call: call, Index: index, Name: "terminal"})}
	if rapid.Bool().Draw(t, "progress") {
		out = append(out, event(turn, false, link.KindToolProgress, link.ToolProgress{Call: call, Note: "…"}))
	}
	return append(out, event(turn, true, link.KindToolEnd, link.ToolEnd{Call: call, Index: index, Name: "terminal", OK: true}))
}

// hello is what the plugin says after the first n events of the plan: of each
// turn whose end was not acked the messages that appeared and are not named by
// done, and the open tools, as they were at its end.
func (p *plan) hello(n int, acked int64, done func(id string) bool) link.Hello {
	h := link.Hello{Agent: link.Agent{Streaming: true}}
	turns := map[string]*link.Turn{}
	over := map[string]bool{}
	var order []string
	for _, ev := range p.events[:n] {
		h.LastSeq = max(h.LastSeq, ev.Seq)
		if over[ev.Turn] {
			continue
		}
		switch ev.Kind {
		case link.KindTurnStart:
			b, err := link.Decode[link.TurnStart](ev.Body)
			if err != nil {
				panic(err)
			}
			turns[ev.Turn] = &link.Turn{Turn: ev.Turn, ChatID: ev.ChatID, StartedAt: ev.At, Source: b.Source}
			order = append(order, ev.Turn)
		case link.KindTurnEnd:
			if over[ev.Turn] = true; ev.Seq <= acked {
				delete(turns, ev.Turn)
			}
		case link.KindSend, link.KindEdit:
			nameMessage(turns[ev.Turn], message(ev), ev.At, done)
		case link.KindToolStart:
			b, err := link.Decode[link.ToolStart](ev.Body)
			if err != nil {
				panic(err)
			}
			turns[ev.Turn].Tools = append(turns[ev.Turn].Tools, link.TurnTool{Call: b.Call, Index: b.Index, Name: b.Name})
		case link.KindToolEnd: // one at a time
			turns[ev.Turn].Tools = nil
		case link.KindPrompt, link.KindPromptClosed:
			namePrompt(turns[ev.Turn], ev)
		}
	}
	for _, id := range order {
		if turns[id] != nil && (over[id] || !p.killed[id]) {
			h.Turns = append(h.Turns, *turns[id])
		}
	}
	return h
}

func nameMessage(t *link.Turn, b link.Edit, at int64, done func(id string) bool) {
	if done(b.MessageID) {
		return
	}
	b.Text = strings.TrimSuffix(b.Text, " ▉")
	for i, msg := range t.Messages {
		if msg.MessageID == b.MessageID {
			t.Messages[i].Text = b.Text
			return
		}
	}
	t.Messages = append(t.Messages, link.TurnMessage{MessageID: b.MessageID, Text: b.Text, Began: at, ReplyTo: b.ReplyTo})
}

// clean is what must be left of a raw text, done the simple way.
func clean(raw string) string {
	var kept []string
	fenced := false
	for line := range strings.SplitSeq(strings.Trim(raw, "\n"), "\n") {
		if line == "```" {
			fenced = !fenced
		}
		if fenced || !strings.HasPrefix(line, "MEDIA:") {
			kept = append(kept, line)
		}
	}
	return strings.Trim(strings.Join(kept, "\n"), "\n")
}
