package turn_test

import (
	"maps"
	"slices"
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
	looked  []string // messages whose rows the machine asked for
	busy    map[iris.Lane]string
	seen    []turn.Frame
	pushes  int
	ends    int // tool.end frames

	pickers map[string]iris.Lane // rows
	asked   map[string]int
	closed  map[string]int
	reason  map[iris.Lane]string // of the last agent.busy, "" when idle
	waiter  waiter
}

func newGateway(p *plan) *gateway {
	g := &gateway{
		plan: p, rows: map[string]iris.Message{}, busy: map[iris.Lane]string{}, reason: map[iris.Lane]string{},
		pickers: map[string]iris.Lane{}, asked: map[string]int{}, closed: map[string]int{},
		waiter: waiter{turns: map[string][]string{}},
	}
	g.machine = turn.New(g.ended)
	g.machine.Resume(link.Hello{Agent: link.Agent{Streaming: true}})
	g.machine.Lost()
	return g
}

func (g *gateway) ended(id string) bool {
	g.looked = append(g.looked, id)
	_, ok := g.rows[id]
	return ok
}

// deliver commits what is durable and shows everything.
func (g *gateway) deliver(seq int64, frames []turn.Frame) {
	for _, f := range frames {
		if f.Durable && seq > 0 {
			g.seq = seq
		}
		if _, message := f.Payload.(wire.Notification); f.Notify && !message && !strings.HasPrefix(f.Payload.FrameType(), "picker.") {
			g.pushes++
		}
		if !g.see(f) {
			continue
		}
		for _, c := range f.Changes {
			switch c := c.(type) {
			case iris.PutMessage:
				g.rows[c.Message.ID] = c.Message
			case iris.SetBusy:
				g.busy[c.Lane] = c.Turn
			}
		}
		g.seen = append(g.seen, f)
	}
}

// see counts a frame. It reports false for a picker.closed that comes too late:
// those are dropped where the rows are.
func (g *gateway) see(f turn.Frame) bool {
	switch p := f.Payload.(type) {
	case wire.ToolEnd:
		g.ends++
	case wire.AgentBusy:
		g.reason[f.Lane] = p.Reason
	case wire.AgentIdle:
		g.reason[f.Lane] = ""
	case wire.PickerClosed:
		if _, open := g.pickers[p.PickerID]; !open {
			return false
		}
		delete(g.pickers, p.PickerID)
		g.closed[p.PickerID]++
	case wire.PickerApproval, wire.PickerClarify, wire.PickerConfirm, wire.PickerChoice, wire.PickerModel:
		g.pickers[pickerID(p)] = f.Lane
		g.asked[pickerID(p)]++
	}
	return true
}

// answer has a device answer a picker, which the machine does not learn.
func (g *gateway) answer(t *rapid.T) {
	if ids := slices.Sorted(maps.Keys(g.pickers)); len(ids) > 0 && rapid.IntRange(0, 9).Draw(t, "a device answers") == 0 {
		id := rapid.SampledFrom(ids).Draw(t, "picker")
		g.deliver(0, []turn.Frame{{Lane: g.pickers[id], Payload: wire.PickerClosed{PickerID: id, DeviceID: "d"}, Durable: true}})
	}
}

// waits holds that lanes show waiting_input exactly while a turn waits, after n
// events.
func (g *gateway) waits(t *rapid.T, n int) {
	waiting := g.waiter.lanes(g.plan, n)
	for lane, reason := range g.reason {
		if reason != "" && (reason == "waiting_input") != waiting[lane] {
			t.Errorf("after %d events %v is busy with %s, waiting: %v", n, lane, reason, waiting[lane])
		}
	}
}

func (g *gateway) handle(t *rapid.T, ev link.Event) {
	if ev.Seq != 0 && ev.Seq <= g.seq {
		return // the log has it
	}
	asks := g.machine.Asks(ev)
	g.looked = nil
	frames, err := g.machine.Handle(ev)
	if err != nil {
		t.Fatalf("%s: %v", ev.Kind, err)
	}
	for _, id := range g.looked {
		if id != asks {
			t.Errorf("%s asks for the row of %q, it was to be %q", ev.Kind, id, asks)
		}
	}
	if ev.Seq > 0 && rapid.IntRange(0, 9).Draw(t, "twice") == 0 {
		if again, err := g.machine.Handle(ev); err != nil || len(again) > 0 {
			t.Errorf("%s again: %v, %v", ev.Kind, again, err)
		}
	}
	g.handled = max(g.handled, ev.Seq)
	g.deliver(g.handled, frames) // a live event's entry contains the events before it
}

// die takes the machine along, and makes a new one from the busy rows, the rows
// of the pickers and, if there are some, live documents.
func (g *gateway) die(t *rapid.T, live bool) {
	// Acknowledged, but in no entry: those never come again.
	g.seq = rapid.Int64Range(g.seq, g.handled).Draw(t, "acked")
	open := g.machine.Open()
	g.machine = turn.New(g.ended)
	for _, lane := range slices.SortedFunc(maps.Keys(g.busy), func(a, b iris.Lane) int { return strings.Compare(a.ChatID, b.ChatID) }) {
		id := g.busy[lane]
		if id == "" {
			continue
		}
		b := link.Turn{Turn: id, ChatID: lane.ChatID}
		if i := slices.IndexFunc(open, func(o link.Turn) bool { return o.Turn == id }); live && i >= 0 {
			b = open[i]
		}
		b.Prompts = g.open(lane)
		g.machine.Believe(b)
	}
	g.seen = append(g.seen, turn.Frame{}) // the device connects anew
	g.deliver(0, g.machine.Snapshot())
}

// open returns the pickers of a lane that end with its turn: their rows tell.
func (g *gateway) open(lane iris.Lane) (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(g.pickers)) {
		if g.pickers[id] == lane && g.plan.waits[id] {
			ids = append(ids, id)
		}
	}
	return ids
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
			kill := rapid.IntRange(0, 3).Draw(t, "hermes dies") == 0
			if rapid.Bool().Draw(t, "gateway dies") {
				died = true
				// What nobody knows any more cannot be stopped.
				g.die(t, kill || rapid.Bool().Draw(t, "live documents"))
			}
			if kill {
				p.kill(i)
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
		g.waits(t, i+1)
		g.answer(t)
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
		case ok && row.ReplyTo != "m_user":
			t.Errorf("%s replies to %q", id, row.ReplyTo)
		}
	}
	for id, closes := range g.plan.prompts {
		if g.asked[id] != 1 || g.closed[id] > 1 || closes && g.closed[id] == 0 {
			t.Errorf("%s: asked %d times, closed %d times", id, g.asked[id], g.closed[id])
		}
	}
	if len(g.asked) > len(g.plan.prompts) {
		t.Errorf("%d pickers of %d prompts", len(g.asked), len(g.plan.prompts))
	}
	files := g.plan.files()
	for _, id := range files {
		if row := g.rows[id]; len(row.Media) != 1 || row.Media[0].ID != "md_"+id {
			t.Errorf("%s: row %+v", id, row)
		}
	}
	if len(g.rows) > len(g.plan.texts)+len(files) {
		t.Errorf("%d rows of %d texts and %d files", len(g.rows), len(g.plan.texts), len(files))
	}
	if g.ends < g.plan.tools || g.ends > g.plan.tools+g.plan.cut {
		t.Errorf("%d tools ended of %d", g.ends, g.plan.tools)
	}
	least := g.plan.pushes + len(files)
	if most := least + g.plan.cutPushes; !lossy && (g.pushes < least || g.pushes > most) { // a model.start that is lost hides an interrupted answer
		t.Errorf("%d pushes, want %d", g.pushes, least)
	}
}
