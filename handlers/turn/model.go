package turn

import (
	"strings"

	"iris-gateway/handlers/link"
)

// finishTools is the finish_reason of a model call that tool calls follow.
const finishTools = "tool_calls"

// modelStart begins an agent turn: what is open is the answer of the one
// before.
func (m *Machine) modelStart(ev link.Event, _ link.ModelStart) error {
	if t := m.find(ev.Turn); t != nil {
		m.nextAgentTurn(t)
		t.agent.asked = true
	}
	return nil
}

// nextAgentTurn ends the messages of an agent turn, of which there may be
// several within one processing.
func (m *Machine) nextAgentTurn(t *running) {
	m.releaseNotices(t, nil)
	open := t.messages()
	for _, msg := range open {
		m.closeMessage(t, msg, ending{footer: t.agent.footer(), notify: t.agent.answered, sole: len(open) == 1})
	}
	t.agent = agentTurn{}
}

// heard makes up for a model.start that was lost: what the model does after
// its answer belongs to the next agent turn.
func (m *Machine) heard(t *running) {
	if t.agent.answered {
		m.nextAgentTurn(t)
	}
	t.agent.asked = true
}

// modelEnd takes the end of a model call. Tool calls make a beat of the
// message that the call streamed.
func (m *Machine) modelEnd(ev link.Event, b link.ModelEnd) error {
	t := m.find(ev.Turn)
	if t == nil {
		return nil
	}
	m.heard(t)
	m.releaseNotices(t, nil)
	t.agent.gather(b)
	if b.FinishReason != finishTools {
		return nil
	}
	text, _ := cleanFinal(b.Text)
	if msg := t.beat(text); msg != nil {
		m.stopBeat(t, msg, text)
	} else if text != "" {
		t.agent.beats = append(t.agent.beats, text)
	}
	return nil
}

// gather adds what a model call told about itself. After a hello the host may
// repeat reasoning that the hello has brought already.
func (a *agentTurn) gather(b link.ModelEnd) {
	a.failing = false
	if b.Reasoning != "" && !strings.Contains(a.reasoning, b.Reasoning) {
		a.reasoning = strings.TrimPrefix(a.reasoning+"\n\n"+b.Reasoning, "\n\n")
	}
	if b.Model != "" {
		a.model = b.Model[strings.LastIndexByte(b.Model, '/')+1:] // vendor prefix dropped, as in the footer
	}
	a.tokens += b.Usage.Output
}

// beat returns the open message that a model call has streamed whose whole
// text is known now.
func (t *running) beat(whole string) *message {
	var all []*message
	for _, msg := range t.messages() {
		if msg.held {
			continue
		}
		if msg.text != "" && (strings.HasPrefix(whole, msg.text) || strings.HasSuffix(msg.text, whole) && whole != "") {
			return msg
		}
		all = append(all, msg)
	}
	// The text may differ (a retried stream, a filter in hermes), but a message
	// that an event opened before the end of the call is no other call's: those
	// of earlier calls are stopped. Of those that a hello named it is not known.
	if len(all) == 1 && all[0].seen {
		return all[0]
	}
	return nil
}

// modelError takes a failed model call. Whether the turn has failed is said at
// its end.
func (m *Machine) modelError(ev link.Event, b link.ModelError) error {
	if t := m.find(ev.Turn); t != nil {
		m.heard(t)
		t.agent.failing = !b.WillRetry
	}
	return nil
}

// answer takes the whole final text of an agent turn. Without a message it
// means nothing: the agent chose not to reply.
func (m *Machine) answer(ev link.Event, b link.Answer) error {
	if t := m.find(ev.Turn); t != nil {
		m.heard(t)
		t.agent.answer, _ = cleanFinal(b.Text)
		t.agent.answered = true
	}
	return nil
}
