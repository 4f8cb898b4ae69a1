package turn

import (
	"slices"
	"strings"

	"iris-gateway/handlers/link"
)

// finishTools is the finish_reason of a model call that tool calls follow.
const finishTools = "tool_calls"

// modelStart begins an agent turn: what is open is the answer of the one
// before, unless a hello has run ahead of the event.
func (m *Machine) modelStart(ev link.Event, _ link.ModelStart) error {
	if t := m.find(ev.Turn); t != nil {
		m.nextAgentTurn(t, func(msg *message) bool { return !msg.seen && msg.began >= ev.At })
		t.agent.asked = true
	}
	return nil
}

// nextAgentTurn ends the messages of an agent turn, of which there may be
// several within one processing; those of the new one stay.
func (m *Machine) nextAgentTurn(t *running, stays func(*message) bool) {
	m.releaseNotices(t, nil)
	old := slices.DeleteFunc(t.messages(), func(msg *message) bool { return msg.hidden() || stays(msg) })
	e := ending{footer: t.agent.footer(), notify: t.agent.answered}
	e.last, e.whole = t.answerOf(old)
	for _, msg := range old {
		m.closeMessage(t, msg, e)
	}
	t.agent = agentTurn{}
}

// heard makes up for a model.start that was lost: what the model does after
// its answer belongs to the next agent turn, and so do a message that is not
// complete and one that begins like the text at hand.
func (m *Machine) heard(t *running, text string) {
	if a := t.agent; a.answered {
		m.nextAgentTurn(t, func(msg *message) bool {
			return !msg.held && !msg.final || text != a.answer && msg.of(text)
		})
	}
	t.agent.asked = true
}

// appeared makes up for it when the next agent turn shows a message first: the
// answer is complete, so the new message is none of its agent turn.
func (m *Machine) appeared(t *running) {
	complete := func(msg *message) bool { return msg.final && !msg.hidden() && msg.text == t.agent.answer }
	if t.agent.answered && slices.ContainsFunc(t.messages(), complete) {
		m.nextAgentTurn(t, func(*message) bool { return false })
	}
}

// modelEnd takes the end of a model call. Tool calls make a beat of the
// message that the call streamed.
func (m *Machine) modelEnd(ev link.Event, b link.ModelEnd) error {
	t := m.find(ev.Turn)
	if t == nil {
		return nil
	}
	text, _ := cleanFinal(b.Text)
	m.heard(t, text)
	m.releaseNotices(t, nil)
	t.agent.gather(b)
	if b.FinishReason != finishTools {
		return nil
	}
	if text != "" {
		t.agent.beats = append(t.agent.beats, text)
	}
	m.stopBeats(t, text)
	return nil
}

// gather adds what a model call told about itself. After a hello the host may
// repeat reasoning that the hello has brought already.
func (a *agentTurn) gather(b link.ModelEnd) {
	a.failing = false
	if b.Reasoning != "" && !strings.Contains(a.reasoning, b.Reasoning) {
		a.reasoning = bounded(strings.TrimPrefix(a.reasoning+"\n\n"+b.Reasoning, "\n\n"))
	}
	if b.Model != "" {
		a.model = b.Model[strings.LastIndexByte(b.Model, '/')+1:] // vendor prefix dropped, as in the footer
	}
	a.tokens += b.Usage.Output
}

// stopBeats ends the open messages that calls have streamed whose whole text is
// known. A message that still grows and has no such text is a beat all the same,
// if an event opened it before the end of the call; but whose text is not known
// (a stream that was retried, a call before this one): it ends with its own, by
// its final edit. Of messages that a hello named nothing is known.
func (m *Machine) stopBeats(t *running, newest string) {
	for _, msg := range t.messages() {
		if whole, ok := t.takeBeat(msg); ok {
			m.stopBeat(t, msg, whole)
		}
	}
	for _, msg := range t.messages() {
		if msg.seen && !msg.beat && !msg.held && !msg.final && !msg.hidden() {
			msg.beat = true
			t.agent.beats = slices.DeleteFunc(t.agent.beats, func(s string) bool { return s == newest })
		}
	}
}

// takeBeat returns the whole text of the call that streamed the message, if the
// call has ended with tool calls already and it is certain which one it was.
func (t *running) takeBeat(msg *message) (string, bool) {
	i := slices.IndexFunc(t.agent.beats, msg.of)
	if i < 0 {
		return "", false
	}
	whole := t.agent.beats[i]
	// Callbacks come in order: messages of earlier calls never appear now.
	t.agent.beats = t.agent.beats[i+1:]
	if t.rebuilt && !msg.final {
		// Ends of earlier calls may be forgotten: the beginning may be that of
		// another text.
		msg.beat = true
		return "", false
	}
	return whole, true
}

// of reports whether the message is that of a model call with this whole text.
func (msg *message) of(whole string) bool {
	switch {
	case msg.held || msg.beat || msg.text == "":
		return false
	case msg.final:
		return msg.text == whole
	}
	return strings.HasPrefix(whole, msg.text)
}

// modelError takes a failed model call. Whether the turn has failed is said at
// its end.
func (m *Machine) modelError(ev link.Event, b link.ModelError) error {
	if t := m.find(ev.Turn); t != nil {
		m.heard(t, "")
		t.agent.failing = !b.WillRetry
	}
	return nil
}

// answer takes the whole final text of an agent turn. Without a message it
// means nothing: the agent chose not to reply.
func (m *Machine) answer(ev link.Event, b link.Answer) error {
	if t := m.find(ev.Turn); t != nil {
		text, _ := cleanFinal(b.Text)
		m.heard(t, text)
		t.agent.answer, t.agent.answered = text, true
	}
	return nil
}
