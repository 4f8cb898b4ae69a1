package turn

import (
	"maps"
	"slices"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Believe tells a new machine of a turn that the log believes open: the busy
// turn of a lane, with what is known of its messages and tools. It is called
// before Resume. Without it the repeated end of a turn whose start is in the
// log already would find no turn to end.
func (m *Machine) Believe(b link.Turn) {
	if m.find(b.Turn) != nil {
		return
	}
	t := m.begin(b.Turn, b.Lane(), b.StartedAt)
	t.started, t.announced, t.named, t.rebuilt = true, true, false, true
	// The texts are clean: Open has returned them.
	m.restore(t, b, func(text string) (string, string) { return text, "" })
	m.out = nil // devices get it by Snapshot
}

// Resume takes a host's hello: what runs now, including what the events that
// the host repeats next will tell. It returns the live frames that connected
// devices lack.
func (m *Machine) Resume(h link.Hello) []Frame {
	m.streaming = h.Agent.Streaming
	m.catching = true
	if m.epoch != h.Epoch {
		m.epoch, m.taken = h.Epoch, 0
	}
	for _, t := range m.turns {
		t.named = false
	}
	for _, b := range h.Turns {
		t := m.find(b.Turn)
		if t == nil {
			t = m.begin(b.Turn, b.Lane(), b.StartedAt)
			t.rebuilt = true
		}
		t.named = true
		m.restore(t, b, cleanLive)
	}
	for _, t := range m.turns {
		m.settleTyping(t.lane)
	}
	return m.take()
}

// restore adds what is told of a turn, by a hello or by an earlier machine; clean
// is what the texts of unfinished messages need.
func (m *Machine) restore(t *running, b link.Turn, clean func(string) (text, reasoning string)) {
	if b.Source != "" {
		t.source = b.Source
	}
	if b.Reasoning != "" {
		t.agent.reasoning = bounded(b.Reasoning)
	}
	for _, bm := range b.Messages {
		m.restoreMessage(t, bm, clean)
	}
	for _, bt := range b.Tools {
		if _, seen := t.tools[bt.Call]; !seen {
			m.openTool(t, &tool{call: bt.Call, index: bt.Index, name: bt.Name, args: bt.Args})
		}
	}
	m.restorePrompts(t, b.Prompts)
}

// restoreMessage adds what is told of a message.
func (m *Machine) restoreMessage(t *running, b link.TurnMessage, clean func(string) (text, reasoning string)) {
	if m.stopped.has(b.MessageID) {
		return
	}
	msg := t.message(b.MessageID)
	if msg == nil && m.ended(b.MessageID) { // the host does not know yet
		m.stopped.add(b.MessageID)
		return
	}
	if msg == nil {
		msg = &message{id: b.MessageID, began: b.Began, held: b.Streamed != nil && !*b.Streamed}
		t.open = append(t.open, opened{message: msg})
	}
	if b.ReplyTo != "" {
		msg.replyTo = b.ReplyTo
	}
	if msg.final { // nothing newer will come
		return
	}
	if msg.held {
		clean = cleanFinal
	}
	text, reasoning := clean(b.Text)
	msg.reasoning = reasoning
	if msg.text == text {
		return
	}
	msg.text = text
	if _, ok := t.takeBeat(msg); ok { // it ends by its final edit
		msg.beat = true
	}
	if t.started {
		m.show(t, msg)
	}
}

// reveal shows what a hello told of a turn whose start was still to come.
func (m *Machine) reveal(t *running) {
	for _, msg := range t.messages() {
		if !msg.started {
			m.show(t, msg)
		}
	}
	for _, tl := range t.openTools() {
		m.live(t.lane, tl.start())
	}
}

// Lost closes the turns that the host's last hello did not name: nobody works
// on them any more. It is called once the hello's last_seq has been taken (at
// once if it is in the log already): until then the host may repeat their end.
func (m *Machine) Lost() []Frame {
	m.catching = false
	for _, t := range slices.Clone(m.turns) {
		if !t.named {
			m.closeAll(t, ending{failed: true, lost: true})
		}
	}
	for _, t := range m.turns {
		if !t.started { // its start was taken by an earlier process
			m.started(t)
			m.settleTyping(t.lane)
		}
	}
	return m.take()
}

// Open returns the turns that are open, as [Machine.Believe] takes them.
func (m *Machine) Open() []link.Turn {
	var all []link.Turn
	for _, t := range m.turns {
		b := link.Turn{
			Turn: t.id, ChatID: t.lane.ChatID, ThreadID: t.lane.ThreadID,
			StartedAt: t.began, Source: t.source, Reasoning: t.agent.thoughts(), Prompts: t.openPrompts(),
		}
		for _, msg := range t.messages() {
			bm := link.TurnMessage{MessageID: msg.id, Text: msg.text, Began: msg.began, ReplyTo: msg.replyTo}
			if msg.held {
				bm.Streamed = new(bool)
			}
			b.Messages = append(b.Messages, bm)
		}
		for _, tl := range t.openTools() {
			b.Tools = append(b.Tools, link.TurnTool{Call: tl.call, Index: tl.index, Name: tl.name, Args: tl.args})
		}
		all = append(all, b)
	}
	return all
}

// Snapshot returns what a device that connects in the middle of a turn must be
// told of each busy lane, as live frames.
func (m *Machine) Snapshot() []Frame {
	told := make(map[iris.Lane]bool)
	for _, t := range m.turns {
		if t.started && !told[t.lane] {
			told[t.lane] = true
			m.snapshotLane(t.lane, m.busy(t))
		}
	}
	return m.take()
}

func (m *Machine) snapshotLane(lane iris.Lane, busy wire.AgentBusy) {
	m.live(lane, busy)
	for _, t := range m.turns {
		if t.lane != lane || !t.started {
			continue
		}
		for _, msg := range t.messages() {
			if msg.started {
				m.live(lane, wire.MessageStart{MessageID: msg.id, Role: iris.RoleAssistant}, msg.id)
				m.live(lane, wire.MessageUpdate{MessageID: msg.id, Text: msg.text}, msg.id)
			}
		}
		for _, tl := range t.openTools() {
			m.live(lane, tl.start())
		}
	}
	if m.typing[lane] {
		m.live(lane, wire.Typing{On: true})
	}
}

// Forget drops what is known of lanes that were deleted.
func (m *Machine) Forget(gone func(iris.Lane) bool) {
	kept := m.turns[:0]
	for _, t := range m.turns {
		if gone(t.lane) {
			m.closed.add(t.id)
			continue
		}
		kept = append(kept, t)
	}
	m.turns = kept
	maps.DeleteFunc(m.typing, func(lane iris.Lane, _ bool) bool { return gone(lane) })
}

// Drop takes messages that a person has deleted out of their turns, which go on:
// what they still say of them is not shown.
func (m *Machine) Drop(messages []string) {
	for _, id := range messages {
		m.stopped.add(id)
		for _, t := range m.turns {
			if msg := t.message(id); msg != nil {
				t.drop(opened{message: msg})
				t.agent.erased = true
			}
		}
	}
}
