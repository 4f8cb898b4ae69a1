package turn_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"iris-gateway/handlers/link"
	"iris-gateway/iris"
)

// drawPrompts makes what is asked around a tool: nothing, or one or two
// questions, the second before or after the answer to the first.
func (p *plan) drawPrompts(t *rapid.T, turn, name string) []link.Event {
	n := rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "prompts")
	var asked, over []link.Event
	for i := range n {
		id := fmt.Sprintf("pr_%s_%d", name, i)
		kind := rapid.SampledFrom([]string{link.PromptApproval, link.PromptClarify}).Draw(t, "kind")
		asked = append(asked, p.drawPrompt(turn, id, kind))
		over = append(over, drawClosed(t, turn, id))
	}
	if n == 2 && rapid.Bool().Draw(t, "one after the other") {
		return []link.Event{asked[0], over[0], asked[1], over[1]}
	}
	return append(asked, over...)
}

func (p *plan) drawPrompt(turn, id, kind string) link.Event {
	p.prompts[id], p.waits[id] = true, kind == link.PromptApproval || kind == link.PromptClarify
	return event(turn, true, link.KindPrompt, link.Prompt{PromptID: id, Kind: kind, Command: "rm", Question: "Which?"})
}

func drawClosed(t *rapid.T, turn, id string) link.Event {
	b := link.PromptClosed{PromptID: id, Why: rapid.SampledFrom([]string{link.ClosedAnswered, link.ClosedExpired}).Draw(t, "why")}
	if b.Why == link.ClosedAnswered {
		b.Value = new("once")
	}
	return event(turn, true, link.KindPromptClosed, b)
}

// drawCommand makes the turn of a command, whose picker may stay open after it.
func (p *plan) drawCommand(t *rapid.T, name string) []link.Event {
	out := []link.Event{event(name, true, link.KindTurnStart, link.TurnStart{Source: link.SourceCommand})}
	end := event(name, true, link.KindTurnEnd, link.TurnEnd{Outcome: link.OutcomeCompleted})
	id := "pr_" + name
	if rapid.Bool().Draw(t, "asks") {
		kind := rapid.SampledFrom([]string{link.PromptConfirm, link.PromptChoice, link.PromptModel}).Draw(t, "kind")
		out = append(out, p.drawPrompt(name, id, kind))
		switch rapid.IntRange(0, 2).Draw(t, "closed") {
		case 0:
			out = append(out, drawClosed(t, name, id))
		case 1:
			return append(out, end, drawClosed(t, name, id))
		default:
			p.prompts[id] = false
		}
	}
	return append(out, end)
}

// stopPrompts is stop for the prompts: those that are open at the end close with
// the turn, and that hermes gave up comes late, or never.
func (p *plan) stopPrompts(evs []link.Event, n int) (late []link.Event) {
	open := map[string]bool{}
	for i, ev := range evs {
		id := promptID(ev)
		switch {
		case ev.Kind == link.KindPrompt && i < n:
			open[id] = true
		case ev.Kind == link.KindPrompt:
			delete(p.prompts, id)
		case ev.Kind == link.KindPromptClosed && i >= n && open[id] && i%2 == 0:
			late = append(late, ev)
		}
	}
	return late
}

// promptID returns the prompt that an event is about, or "".
func promptID(ev link.Event) string {
	if ev.Kind != link.KindPrompt && ev.Kind != link.KindPromptClosed {
		return ""
	}
	b, err := link.Decode[link.PromptClosed](ev.Body)
	if err != nil {
		panic(err)
	}
	return b.PromptID
}

// namePrompt keeps the approvals and clarifies that a turn waits for.
func namePrompt(t *link.Turn, ev link.Event) {
	b, err := link.Decode[link.Prompt](ev.Body)
	switch {
	case err != nil:
		panic(err)
	case ev.Kind == link.KindPromptClosed:
		t.Prompts = slices.DeleteFunc(t.Prompts, func(id string) bool { return id == promptID(ev) })
	case b.Kind == link.PromptApproval || b.Kind == link.PromptClarify:
		t.Prompts = append(t.Prompts, b.PromptID)
	}
}

// waiter knows which turns wait for an answer after the events so far.
type waiter struct {
	n     int
	turns map[string][]string // prompts
}

// lanes returns the lanes that wait after n events of the plan, never fewer than
// before.
func (w *waiter) lanes(p *plan, n int) map[iris.Lane]bool {
	lanes := map[iris.Lane]bool{}
	for ; w.n < n; w.n++ {
		ev := p.events[w.n]
		id := promptID(ev)
		switch {
		case ev.Kind == link.KindTurnEnd:
			delete(w.turns, ev.Turn)
		case ev.Kind == link.KindPromptClosed && w.turns[ev.Turn] != nil:
			w.turns[ev.Turn] = slices.DeleteFunc(w.turns[ev.Turn], func(other string) bool { return other == id })
		case p.waits[id] && ev.Kind == link.KindPrompt:
			w.turns[ev.Turn] = append(w.turns[ev.Turn], id)
		}
	}
	for turn, prompts := range w.turns {
		if len(prompts) > 0 && !p.killed[turn] {
			lanes[iris.Lane{ChatID: "c" + turn[3:4]}] = true // tn_LT: lane and turn
		}
	}
	return lanes
}
