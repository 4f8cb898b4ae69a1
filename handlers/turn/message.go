package turn

import (
	"time"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// message is one whose `message` or `message.stop` is still to come.
type message struct {
	id        string
	text      string // cleaned, the newest
	reasoning string // the block that stood in front of the text
	replyTo   string
	began     int64 // ms
	started   bool  // message.start went out
	final     bool  // the text is that of a final edit
	held      bool  // not streamed: goes out whole, once its footer is known
	seen      bool  // an event opened it, not a hello: so it was the newest then
	beat      bool  // tool calls followed it; its text is still to come
}

// send takes a message that appeared. Which kind it is, is the first row of
// host-link.md, "From events to frames", that fits.
func (m *Machine) send(ev link.Event, b link.Send) error {
	if b.MessageID == "" {
		return missing(ev, "message_id")
	}
	t := m.find(ev.Turn)
	if m.stopped.has(b.MessageID) || b.Streaming && t == nil {
		return nil
	}
	text, reasoning := cleanFinal(b.Text)
	say := func(role iris.Role) {
		m.say(wire.Message{MessageID: b.MessageID, Role: role, Text: text, Reasoning: reasoning, ReplyTo: b.ReplyTo, TS: ev.At}, ev.Lane())
	}
	switch {
	case b.Immediate:
		say(iris.RoleSystem)
	case b.Streaming:
		m.stream(t, link.Edit{MessageID: b.MessageID, Text: b.Text, ReplyTo: b.ReplyTo, Began: ev.At})
	case t == nil && b.Notify:
		say(iris.RoleAssistant)
	case t == nil:
		say(iris.RoleSystem)
	case b.Notify && !t.command():
		m.hold(t, &message{id: b.MessageID, text: text, reasoning: reasoning, replyTo: b.ReplyTo, began: ev.At, held: true, seen: true})
	case b.Notify || b.ReplyTo != "":
		say(iris.RoleSystem)
	case m.streaming || t.command():
		m.stopped.add(b.MessageID)
		m.noteIn(t, wire.Notification{Kind: kindGeneric, Title: "notice", Body: text, TS: ev.At})
	default:
		m.commentary(t, b.MessageID, text, ev.At)
	}
	return nil
}

// command reports whether the turn is a slash command that no model was asked
// about: what it says is the command's reply.
func (t *running) command() bool {
	return t.source == link.SourceCommand && !t.agent.asked
}

// say adds a message that is complete by itself. Answers push.
func (m *Machine) say(p wire.Message, lane iris.Lane) {
	if p.Text == "" {
		m.stopped.add(p.MessageID)
		return
	}
	m.row(p, rowOf(p, lane), p.Role == iris.RoleAssistant)
}

// commentary adds a beat that was not streamed.
func (m *Machine) commentary(t *running, id, text string, at int64) {
	t.takeBeat(&message{text: text, final: true})
	if text == "" {
		m.stopped.add(id)
		return
	}
	m.row(wire.Commentary{MessageID: id, Text: text}, iris.Message{
		ID: id, Lane: t.lane, Role: iris.RoleAssistant, Commentary: true, Text: text, At: began(at),
	}, false)
}

// hold keeps an answer that was not streamed until its footer is known. It may
// be sent again under the same id.
func (m *Machine) hold(t *running, msg *message) {
	if t.message(msg.id) == nil {
		m.appeared(t)
		t.open = append(t.open, opened{message: msg})
	}
}

// edit takes the whole text of a message, so far or at its end.
func (m *Machine) edit(ev link.Event, b link.Edit) error {
	if b.MessageID == "" {
		return missing(ev, "message_id")
	}
	if m.stopped.has(b.MessageID) {
		return nil
	}
	if b.Began == 0 {
		b.Began = ev.At
	}
	t := m.find(ev.Turn)
	if t == nil && (!b.Final || m.closed.has(ev.Turn)) {
		return nil
	}
	if m.strange(ev.Turn, b) && m.ended(b.MessageID) { // an earlier process stopped it
		m.stopped.add(b.MessageID)
		return nil
	}
	if t != nil {
		m.stream(t, b)
		return nil
	}
	// A turn that nobody remembers: what is durable is shown all the same.
	text, reasoning := cleanFinal(b.Text)
	m.say(wire.Message{MessageID: b.MessageID, Role: iris.RoleAssistant, Text: text, Reasoning: reasoning, ReplyTo: b.ReplyTo, TS: b.Began}, ev.Lane())
	return nil
}

// strange reports whether an edit is of a message that the machine does not
// know, and would show.
func (m *Machine) strange(turn string, b link.Edit) bool {
	if m.stopped.has(b.MessageID) {
		return false
	}
	if t := m.find(turn); t != nil {
		return t.message(b.MessageID) == nil
	}
	return b.Final && !m.closed.has(turn)
}

// stream takes the newest text of a streamed message, whose start may have
// been lost: then it is opened first.
func (m *Machine) stream(t *running, b link.Edit) {
	msg := t.message(b.MessageID)
	if msg == nil {
		m.appeared(t)
		msg = &message{id: b.MessageID, began: b.Began, seen: true}
		t.open = append(t.open, opened{message: msg})
	}
	if b.ReplyTo != "" {
		msg.replyTo = b.ReplyTo
	}
	if msg.final && !b.Final { // a straggler
		return
	}
	msg.final = b.Final
	clean := cleanLive
	if b.Final {
		clean = cleanFinal
	}
	text, reasoning := clean(b.Text)
	if reasoning != "" {
		msg.reasoning = reasoning
	}
	m.releaseNotices(t, nil)
	old := msg.text
	msg.text = text
	if whole, ok := t.takeBeat(msg); ok { // hooks may overtake callbacks
		m.stopBeat(t, msg, whole)
		return
	}
	if msg.beat && msg.final {
		m.stopBeat(t, msg, text)
		return
	}
	if text != old {
		m.show(t, msg)
	}
}

// show tells devices the newest text of a streamed message. A message without
// text is not shown yet: it may be nothing but a media tag.
func (m *Machine) show(t *running, msg *message) {
	if msg.held || msg.hidden() {
		return
	}
	m.start(t, msg)
	m.live(t.lane, wire.MessageUpdate{MessageID: msg.id, Text: msg.text}, msg.id)
}

// start opens a streamed message on the devices.
func (m *Machine) start(t *running, msg *message) {
	if !msg.started {
		msg.started, t.spoke = true, true
		m.live(t.lane, wire.MessageStart{MessageID: msg.id, Role: iris.RoleAssistant}, msg.id)
	}
}

// remove takes messages back. One that has not ended gets no row but that of
// one that was deleted, so that no late event brings it back.
func (m *Machine) remove(ev link.Event, b link.Delete) error {
	var gone []string
	var rows []iris.Change
	for _, id := range b.MessageIDs {
		t, at := m.find(ev.Turn), ev.At
		if t != nil && t.message(id) != nil {
			msg := t.message(id)
			t.drop(opened{message: msg})
			m.stopped.add(id)
			if !msg.started { // nobody has seen it
				continue
			}
			at = msg.began
		}
		m.stopped.add(id)
		gone = append(gone, id)
		rows = append(rows, iris.PutMessage{Message: iris.Message{
			ID: id, Lane: ev.Lane(), Role: iris.RoleAssistant, At: began(at), Deleted: true,
		}})
	}
	if len(gone) > 0 {
		m.entry(ev.Lane(), wire.MessageDeleted{MessageIDs: gone}, rows...).Messages = gone
	}
	return nil
}

// message returns the open message of that id, or nil.
func (t *running) message(id string) *message {
	for _, o := range t.open {
		if o.message != nil && o.message.id == id {
			return o.message
		}
	}
	return nil
}

// began is when a message of the host began, for its row. What people send is
// stamped with more precision; in the history an answer of the same millisecond
// comes behind its question.
func began(ms int64) time.Time { return time.UnixMilli(ms).Add(999 * time.Microsecond) }

// rowOf returns the row of a message frame.
func rowOf(p wire.Message, lane iris.Lane) iris.Message {
	return iris.Message{
		ID: p.MessageID, Lane: lane, Role: p.Role, Text: p.Text, Reasoning: p.Reasoning, ReplyTo: p.ReplyTo,
		Model: p.Model, Tokens: p.Tokens, Runtime: p.Runtime, At: began(p.TS),
	}
}
