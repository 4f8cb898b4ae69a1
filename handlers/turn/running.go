package turn

import (
	"slices"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// running is an open turn: one processing of hermes. It may hold several agent
// turns, one after the other, or none.
type running struct {
	id        string
	lane      iris.Lane
	source    string
	began     int64 // ms
	started   bool  // its turn.start was taken; a hello alone may run ahead of it
	announced bool  // its agent.busy is in the log
	named     bool  // the host's last hello names it, or it began after that
	rebuilt   bool  // this machine has not seen all of it
	spoke     bool  // something of an answer is visible: no typing indicator until a tool runs

	open    []opened            // in the order they were opened
	tools   map[string]bool     // tool calls seen; false once they have ended
	notices []wire.Notification // those that the turn's error may repeat

	agent agentTurn
}

// agentTurn is what is gathered between one model.start and the next.
type agentTurn struct {
	asked     bool     // a model was asked
	failing   bool     // the last word of the model was an error that is not tried again
	answered  bool     // the answer is known
	answer    string   // cleaned
	erased    bool     // a message was deleted: it may have been the answer
	beats     []string // texts of calls that ended with tool calls, their message still to come
	reasoning string   // of all calls so far, joined
	model     string
	tokens    int
}

// opened is something whose end is still to come: a message, a tool, or an
// answer that the turn waits for.
type opened struct {
	message *message
	tool    *tool
	prompt  *prompt
}

// begin adds an open turn.
func (m *Machine) begin(id string, lane iris.Lane, at int64) *running {
	t := &running{id: id, lane: lane, began: at, named: !m.catching, tools: make(map[string]bool)}
	m.turns = append(m.turns, t)
	return t
}

// find returns the open turn of that id, or nil.
func (m *Machine) find(id string) *running {
	for _, t := range m.turns {
		if t.id == id {
			return t
		}
	}
	return nil
}

// turnStart opens a turn. Several may be open in a lane: it is busy with the
// first and idle after the last.
func (m *Machine) turnStart(ev link.Event, b link.TurnStart) error {
	if ev.Turn == "" {
		return missing(ev, "turn")
	}
	if m.closed.has(ev.Turn) {
		return nil
	}
	t := m.find(ev.Turn)
	if t == nil {
		t = m.begin(ev.Turn, ev.Lane(), ev.At)
	}
	t.source = b.Source
	m.started(t)
	return nil
}

// started makes the turn known to the devices: before that they get nothing of
// it, afterwards what a hello has told of it.
func (m *Machine) started(t *running) {
	busy := slices.ContainsFunc(m.turns, func(other *running) bool {
		return other != t && other.lane == t.lane && other.announced
	})
	t.started = true
	if !busy {
		m.announce(t)
	}
	m.reveal(t)
}

// announce says that the lane is busy with the turn.
func (m *Machine) announce(t *running) {
	t.announced = true
	m.entry(t.lane, m.busy(t), iris.SetBusy{Lane: t.lane, Turn: t.id})
}

// busy is the agent.busy frame of the turn's lane.
func (m *Machine) busy(t *running) wire.AgentBusy {
	switch {
	case m.waiting(t.lane, nil):
		return wire.AgentBusy{Reason: "waiting_input"}
	case t.source == link.SourceCron:
		return wire.AgentBusy{Reason: "cron"}
	}
	return wire.AgentBusy{Reason: "processing"}
}

// turnEnd closes everything that the turn left open, and the turn.
func (m *Machine) turnEnd(ev link.Event, b link.TurnEnd) error {
	if ev.Turn == "" {
		return missing(ev, "turn")
	}
	t := m.find(ev.Turn)
	if t == nil {
		m.closed.add(ev.Turn)
		return nil
	}
	e := ending{
		footer: t.footer(b),
		failed: b.Outcome == link.OutcomeFailed,
		notify: b.Outcome == link.OutcomeCompleted || t.agent.answered, // stopped after its answer
		at:     ev.At,
	}
	if e.failed {
		e.error, _ = cleanFinal(b.Error)
		e.footer, e.notify = footer{}, false
	}
	m.releaseNotices(t, t.errors(e))
	m.closeAll(t, e)
	return nil
}

// closeAll ends what is open in the order it was opened, and the turn with it.
func (m *Machine) closeAll(t *running, e ending) {
	told := !e.failed || e.error == ""
	m.dropHidden(t)
	e.last, e.whole = t.answerOf(t.messages())
	for _, o := range slices.Clone(t.open) {
		switch {
		case o.tool != nil:
			m.cutTool(t, o.tool, e.at)
		case o.prompt != nil:
			m.closePrompt(t.lane, wire.PickerClosed{PickerID: o.prompt.id})
		default:
			told = m.closeMessage(t, o.message, e) || told
		}
	}
	if !told {
		m.sayError(t, e)
	}
	m.turns = slices.DeleteFunc(m.turns, func(other *running) bool { return other == t })
	m.closed.add(t.id)
	m.settleTyping(t.lane)
	m.release(t)
}

// release says that the lane is idle, or goes over to another of its turns:
// the row must name a turn that runs. Perhaps the lane waited only for this one.
func (m *Machine) release(t *running) {
	for _, other := range m.turns {
		if other.lane != t.lane || !other.started {
			continue
		}
		switch {
		case t.announced:
			m.announce(other)
		case len(t.openPrompts()) > 0 && !m.waiting(t.lane, nil):
			m.tellBusy(t.lane)
		}
		return
	}
	m.entry(t.lane, wire.AgentIdle{}, iris.SetBusy{Lane: t.lane})
}

// drop takes something off the list of what is open.
func (t *running) drop(o opened) {
	t.open = slices.DeleteFunc(t.open, func(other opened) bool { return other == o })
}

// messages returns the open messages, oldest first.
func (t *running) messages() []*message {
	var all []*message
	for _, o := range t.open {
		if o.message != nil {
			all = append(all, o.message)
		}
	}
	return all
}

// openTools returns the open tools, oldest first.
func (t *running) openTools() []*tool {
	var all []*tool
	for _, o := range t.open {
		if o.tool != nil {
			all = append(all, o.tool)
		}
	}
	return all
}

// settleTyping derives the typing indicator of a lane: on from the start of a
// turn until something of an answer is visible, and again while tools run.
func (m *Machine) settleTyping(lane iris.Lane) {
	want := slices.ContainsFunc(m.turns, func(t *running) bool {
		return t.lane == lane && t.started && (!t.spoke || len(t.openTools()) > 0)
	})
	switch {
	case want == m.typing[lane]:
	case want:
		m.typing[lane] = true
		m.live(lane, wire.Typing{On: true})
	default:
		delete(m.typing, lane)
		m.live(lane, wire.Typing{On: false})
		m.live(lane, wire.TypingStop{})
	}
}
