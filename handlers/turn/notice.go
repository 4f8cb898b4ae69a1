package turn

import (
	"slices"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Kinds of notification.
const (
	kindGeneric = "generic"
	kindCron    = "cron"
)

// previewLength is how much of a text its notification repeats, in characters:
// as much as a push shows.
const previewLength = 200

// preview is the beginning of a text, for its notification.
func preview(text string) string {
	if r := []rune(text); len(r) > previewLength {
		return string(r[:previewLength])
	}
	return text
}

// notice takes something that a person may want to know.
func (m *Machine) notice(ev link.Event, b link.Notice) error {
	text, _ := cleanFinal(b.Text)
	n := wire.Notification{Kind: kindGeneric, Title: b.Key, Body: text, TS: ev.At}
	if t := m.find(ev.Turn); t != nil {
		m.noteIn(t, n)
		return nil
	}
	m.entry(ev.Lane(), n)
	return nil
}

// noteIn shows a notice of a turn. Once the model has failed for good, the
// same text follows as the turn's error: then the notice waits for it.
func (m *Machine) noteIn(t *running, n wire.Notification) {
	if t.agent.failing {
		t.notices = append(t.notices, n)
		return
	}
	m.entry(t.lane, n)
}

// releaseNotices shows the notices that waited, but those that repeat one of
// the texts.
func (m *Machine) releaseNotices(t *running, repeated []string) {
	for _, n := range t.notices {
		if !slices.Contains(repeated, n.Body) {
			m.entry(t.lane, n)
		}
	}
	t.notices = nil
}

// cron takes what a scheduled job says. No turn is needed; the notification
// pushes, not the message: one push per thing.
func (m *Machine) cron(ev link.Event, b link.Cron) error {
	if b.MessageID == "" {
		return missing(ev, "message_id")
	}
	if m.stopped.has(b.MessageID) || m.ended(b.MessageID) {
		return nil
	}
	text, reasoning := cleanFinal(b.Text)
	p := wire.Message{MessageID: b.MessageID, Role: iris.RoleCron, Text: text, Reasoning: reasoning, TS: ev.At}
	m.row(p, rowOf(p, ev.Lane()), false)
	f := m.entry(ev.Lane(), wire.Notification{Kind: kindCron, Title: b.Job, Body: preview(text), TS: ev.At})
	f.Messages = []string{b.MessageID}
	f.Notify = true
	return nil
}
