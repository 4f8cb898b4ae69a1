package turn_test

import (
	"slices"

	"iris-gateway/handlers/link"
)

// kill ends hermes after n events of the plan: what it was about to do in the
// turns that are open then, it never does.
func (p *plan) kill(n int) {
	open := map[string]bool{}
	running := map[string]bool{} // tool calls
	for _, ev := range p.events[:n] {
		switch ev.Kind {
		case link.KindTurnStart:
			open[ev.Turn] = true
		case link.KindTurnEnd:
			delete(open, ev.Turn)
		case link.KindToolStart:
			running[callOf(ev)] = true
		}
	}
	for id := range open {
		p.killed[id] = true
	}
	for id, want := range p.texts {
		if p.killed["tn_"+id[2:4]] { // m_LT…: lane and turn
			want.loose, want.part, want.vague = true, true, true
			p.texts[id] = want
		}
	}
	for _, ev := range p.events[n:] {
		if p.killed[ev.Turn] {
			p.never(ev, running)
		}
	}
	p.events = append(p.events[:n:n], slices.DeleteFunc(slices.Clone(p.events[n:]), func(ev link.Event) bool { return p.killed[ev.Turn] })...)
}

// never takes an event out of what must come of the plan. What ends with a turn
// ends without it.
func (p *plan) never(ev link.Event, running map[string]bool) {
	switch ev.Kind {
	case link.KindToolEnd:
		p.tools--
		if running[callOf(ev)] {
			p.cut++
		}
	case link.KindPrompt:
		delete(p.prompts, promptID(ev))
	case link.KindPromptClosed:
		if _, asked := p.prompts[promptID(ev)]; asked && !p.waits[promptID(ev)] {
			p.prompts[promptID(ev)] = false
		}
	}
}

func callOf(ev link.Event) string {
	b, err := link.Decode[link.ToolProgress](ev.Body)
	if err != nil {
		panic(err)
	}
	return b.Call
}
