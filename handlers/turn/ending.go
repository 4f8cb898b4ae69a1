package turn

import (
	"math"
	"strings"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// footer is what stands around a final text.
type footer struct {
	reasoning string
	model     string
	tokens    int
	runtime   *iris.Runtime
}

// ending says how the open messages of a turn end.
type ending struct {
	footer
	failed bool     // an error ended the turn
	error  string   // its text, cleaned
	lost   bool     // the host does not know the turn any more
	notify bool     // the answer deserves a push
	last   *message // the answer: the last message of the agent turn
	whole  string   // its text as the host told it, "" if that is not its text
	at     int64    // ms, 0 when nobody knows
}

// footer returns the footer of a turn's answer: what the host says at the end
// goes before what was gathered.
func (t *running) footer(b link.TurnEnd) footer {
	f := t.agent.footer()
	if b.Reasoning != "" && !t.agent.erased {
		f.reasoning = bounded(b.Reasoning)
	}
	if b.Tokens != 0 {
		f.tokens = b.Tokens
	}
	if b.Runtime != (link.Runtime{}) {
		f.runtime = &iris.Runtime{
			Model:      b.Runtime.Model,
			ContextPct: int(math.Round(b.Runtime.ContextPct)),
			Cwd:        b.Runtime.Cwd,
			Latency:    b.Runtime.Latency,
			Cost:       b.Runtime.Cost,
		}
	}
	if b.Runtime.Model != "" {
		f.model = b.Runtime.Model
	}
	return f
}

// thoughts is the reasoning of all calls so far; none if it may be about a message
// that was deleted.
func (a *agentTurn) thoughts() string {
	if a.erased {
		return ""
	}
	return a.reasoning
}

// footer returns what the model's calls told: all there is of an answer that
// the next agent turn ends, not the turn.
func (a *agentTurn) footer() footer {
	return footer{reasoning: a.thoughts(), model: a.model, tokens: a.tokens}
}

// closeMessage ends an open message. It reports whether the message told the
// error of a failed turn.
func (m *Machine) closeMessage(t *running, msg *message, e ending) (toldError bool) {
	if msg.beat {
		m.stopBeat(t, msg, msg.text)
		return false
	}
	if e.failed && !e.lost && !msg.started && (msg.held || msg.text == e.error) && msg.text != "" {
		t.drop(opened{message: msg})
		m.say(wire.Message{MessageID: msg.id, Role: iris.RoleSystem, Text: msg.text, ReplyTo: msg.replyTo, TS: msg.began}, t.lane)
		return true
	}
	text := msg.text
	switch {
	case msg != e.last: // the footer belongs to the answer
		e.footer, e.notify = footer{}, false
	case e.whole != "" && !e.failed:
		text = e.whole
	}
	m.stop(t, msg, text, e)
	return e.failed && text == e.error
}

// answerOf returns which of the messages that an agent turn leaves open is its
// answer, and the answer's whole text, if that is its text: with others still
// open it may be that of another one, or of all of them.
func (t *running) answerOf(open []*message) (last *message, whole string) {
	for _, msg := range open {
		switch {
		case msg.beat:
			continue
		case last == nil && !t.rebuilt && !t.agent.erased: // whatever was streamed
			whole = t.agent.answer
		case last == nil && strings.HasPrefix(t.agent.answer, msg.text):
			whole = t.agent.answer
		case last == nil: // something that this machine has not seen
		case last.text == t.agent.answer || !strings.HasPrefix(t.agent.answer, msg.text):
			whole = ""
		}
		last = msg
	}
	return last, whole
}

// hidden reports whether nothing of the message is to be seen yet: it holds
// nothing but newlines and media tags. It is not the answer.
func (msg *message) hidden() bool { return msg.text == "" && !msg.started }

// dropHidden forgets the hidden messages of a turn that ends.
func (m *Machine) dropHidden(t *running) {
	for _, msg := range t.messages() {
		if msg.hidden() {
			t.drop(opened{message: msg})
			m.stopped.add(msg.id)
		}
	}
}

// stop ends an open message with its whole text.
func (m *Machine) stop(t *running, msg *message, text string, e ending) {
	t.drop(opened{message: msg})
	if e.reasoning == "" {
		e.reasoning = msg.reasoning
	}
	p := wire.Message{
		MessageID: msg.id, Role: iris.RoleAssistant, Text: text, Reasoning: e.reasoning, ReplyTo: msg.replyTo,
		Model: e.model, Tokens: e.tokens, Runtime: e.runtime, TS: msg.began,
	}
	if msg.held {
		m.row(p, rowOf(p, t.lane), e.notify)
		return
	}
	m.start(t, msg)
	m.row(wire.MessageStop{
		MessageID: msg.id, FinalText: text, Interrupted: e.lost,
		Reasoning: p.Reasoning, Model: p.Model, Tokens: p.Tokens, Runtime: p.Runtime,
	}, rowOf(p, t.lane), e.notify)
}

// stopBeat ends a message that tool calls followed: a beat has no footer, and
// its reasoning belongs to the answer.
func (m *Machine) stopBeat(t *running, msg *message, text string) {
	if text == "" {
		text = msg.text
	}
	t.drop(opened{message: msg})
	if text == "" && !msg.started {
		m.stopped.add(msg.id)
		return
	}
	m.start(t, msg)
	m.row(wire.MessageStop{MessageID: msg.id, FinalText: text, Commentary: true}, iris.Message{
		ID: msg.id, Lane: t.lane, Role: iris.RoleAssistant, Commentary: true, Text: text,
		ReplyTo: msg.replyTo, At: began(msg.began),
	}, false)
}

// errors returns the texts by which a failed turn tells its error.
func (t *running) errors(e ending) []string {
	if !e.failed {
		return nil
	}
	all := []string{e.error}
	for _, msg := range t.messages() {
		if msg.held {
			all = append(all, msg.text)
		}
	}
	return all
}

// sayError tells the error of a failed turn that no message told. The id is
// made of the turn's, so that it is the same whoever makes it.
func (m *Machine) sayError(t *running, e ending) {
	m.say(wire.Message{
		MessageID: iris.ClientMessageID(t.id, "error"), Role: iris.RoleSystem, Text: e.error, TS: e.at,
	}, t.lane)
}
