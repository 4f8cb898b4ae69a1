package turn_test

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/turn"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// gateway is the rest of the gateway as far as the machine needs it: what is
// in the log and the rows, and what one device that is always there has seen.
type gateway struct {
	machine *turn.Machine
	plan    *plan
	seq     int64 // last event in the log
	handled int64 // last event taken
	rows    map[string]iris.Message
	busy    map[iris.Lane]string
	seen    []turn.Frame
	pushes  int
	ends    int // tool.end frames
}

func newGateway(p *plan) *gateway {
	g := &gateway{plan: p, rows: map[string]iris.Message{}, busy: map[iris.Lane]string{}}
	g.machine = turn.New(g.ended)
	g.machine.Resume(link.Hello{Agent: link.Agent{Streaming: true}})
	g.machine.Lost()
	return g
}

func (g *gateway) ended(id string) bool {
	_, ok := g.rows[id]
	return ok
}

// deliver commits what is durable and shows everything.
func (g *gateway) deliver(seq int64, frames []turn.Frame) {
	for _, f := range frames {
		if f.Durable && seq > 0 {
			g.seq = seq
		}
		if f.Notify {
			g.pushes++
		}
		if _, ok := f.Payload.(wire.ToolEnd); ok {
			g.ends++
		}
		for _, c := range f.Changes {
			switch c := c.(type) {
			case iris.PutMessage:
				g.rows[c.Message.ID] = c.Message
			case iris.SetBusy:
				g.busy[c.Lane] = c.Turn
			}
		}
	}
	g.seen = append(g.seen, frames...)
}

func (g *gateway) handle(t *rapid.T, ev link.Event) {
	if ev.Seq != 0 && ev.Seq <= g.seq {
		return // the log has it
	}
	frames, err := g.machine.Handle(ev)
	if err != nil {
		t.Fatalf("%s: %v", ev.Kind, err)
	}
	g.handled = max(g.handled, ev.Seq)
	g.deliver(g.handled, frames) // a live event's entry contains the events before it
}

// die takes the machine along, and makes a new one from the busy rows.
func (g *gateway) die(t *rapid.T) {
	// Acknowledged, but in no entry: those never come again.
	g.seq = rapid.Int64Range(g.seq, g.handled).Draw(t, "acked")
	g.machine = turn.New(g.ended)
	for lane, id := range g.busy {
		if id != "" {
			g.machine.Believe(link.Turn{Turn: id, ChatID: lane.ChatID})
		}
	}
	g.seen = append(g.seen, turn.Frame{}) // the device connects anew
	g.deliver(0, g.machine.Snapshot())
}

// resume is a hello after n events of the plan and what follows it.
func (g *gateway) resume(t *rapid.T, n int, exact bool) {
	h := g.plan.hello(n, g.seq, func(id string) bool { return exact && g.ended(id) })
	g.deliver(0, g.machine.Resume(h))
	for _, ev := range g.plan.events[:n] {
		if ev.Seq > 0 {
			g.handle(t, ev)
		}
	}
	g.deliver(0, g.machine.Lost())
}

// TestRandom runs random turns with live events lost, the socket cut and the
// gateway killed, and holds the rules of check and that every text, tool end
// and push is there exactly once.
func TestRandom(t *testing.T) {
	t.Parallel()
	for i := range 10 { // a check is 100 runs
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, random)
		})
	}
}

func random(t *rapid.T) {
	p := drawPlan(t)
	g := newGateway(p)
	loss := rapid.SampledFrom([]int{0, 0, 30, 100}).Draw(t, "live events lost, %")
	breaks := rapid.IntRange(0, 2).Draw(t, "breaks")
	died, broke := false, false
	for i := 0; i < len(p.events); i++ {
		if breaks > 0 && rapid.IntRange(0, len(p.events)).Draw(t, "break") < 2 {
			breaks, broke = breaks-1, true
			// The gateway is away for some events.
			i = min(len(p.events), i+rapid.IntRange(0, 12).Draw(t, "away"))
			if rapid.Bool().Draw(t, "gateway dies") {
				died = true
				g.die(t)
			}
			g.resume(t, i, rapid.Bool().Draw(t, "the host knows what is stopped"))
			if i == len(p.events) {
				break
			}
		}
		ev := p.events[i]
		if ev.Seq == 0 && rapid.IntRange(1, 100).Draw(t, "lose") <= loss {
			continue
		}
		g.handle(t, ev)
	}
	g.verify(t, died, broke || loss > 0)
}

func (g *gateway) verify(t *rapid.T, died, lossy bool) {
	for _, fault := range check(g.seen) {
		t.Error(fault)
	}
	for id, want := range g.plan.texts {
		row, ok := g.rows[id]
		switch text := clean(want.raw); {
		case want.vague && lossy:
		case want.part:
			if !strings.HasPrefix(text, row.Text) {
				t.Errorf("%s: text %q is no part of %q", id, row.Text, want.raw)
			}
		case ok != (text != "") && !(ok && row.Text == ""):
			t.Errorf("%s: row %v of %q", id, ok, want.raw)
		case row.Text != text:
			t.Errorf("%s: text %q, want %q", id, row.Text, text)
		case ok && !died && !want.loose && row.Commentary != want.beat:
			t.Errorf("%s: beat %v, want %v", id, row.Commentary, want.beat)
		case ok && row.Commentary && !want.beat:
			t.Errorf("%s: an answer became a beat", id)
		case ok && !lossy && row.ReplyTo != "m_user": // a hello does not tell it
			t.Errorf("%s replies to %q", id, row.ReplyTo)
		}
	}
	if len(g.rows) > len(g.plan.texts) {
		t.Errorf("%d rows of %d texts", len(g.rows), len(g.plan.texts))
	}
	if g.ends < g.plan.tools || g.ends > g.plan.tools+g.plan.cut {
		t.Errorf("%d tools ended of %d", g.ends, g.plan.tools)
	}
	if most := g.plan.pushes + g.plan.cutPushes; !lossy && (g.pushes < g.plan.pushes || g.pushes > most) { // a model.start that is lost hides an interrupted answer
		t.Errorf("%d pushes, want %d", g.pushes, g.plan.pushes)
	}
}
