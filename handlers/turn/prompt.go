package turn

import (
	"slices"

	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// prompt is an approval or a clarify that waits for an answer: its turn waits,
// too, and ends it. Of the other kinds nothing needs to be known once they are
// asked.
type prompt struct {
	id    string
	asked bool // by an event, not only by what a hello tells
}

// prompt asks a person something. What devices get of it are frames alone: the
// rows of the pickers follow from them, and a device that answers does so
// without this machine.
func (m *Machine) prompt(ev link.Event, b link.Prompt) error {
	if b.PromptID == "" {
		return missing(ev, "prompt_id")
	}
	frame := picker(b, ev.Body)
	if frame == nil || m.asked.has(b.PromptID) || m.answered.has(b.PromptID) {
		return nil
	}
	if waits(b.Kind) && m.closed.has(ev.Turn) { // it ended with its turn
		m.answered.add(b.PromptID)
		return nil
	}
	m.asked.add(b.PromptID)
	f := m.entry(ev.Lane(), frame)
	if !waits(b.Kind) {
		f.Notify = true
		return nil
	}
	m.entry(ev.Lane(), promptNotification(ev, b)).Notify = true
	if t := m.find(ev.Turn); t != nil {
		m.wait(t, b.PromptID)
	}
	return nil
}

// waits reports whether the turn of a prompt of this kind waits for its answer.
func waits(kind string) bool { return kind == link.PromptApproval || kind == link.PromptClarify }

// wait has a turn wait for a prompt that was asked.
func (m *Machine) wait(t *running, id string) {
	told := m.waiting(t.lane, func(p *prompt) bool { return p.asked })
	if t.prompt(id) == nil {
		t.open = append(t.open, opened{prompt: &prompt{id: id}})
	}
	t.prompt(id).asked = true
	if !told {
		m.tellBusy(t.lane)
	}
}

// waiting reports whether a turn of the lane waits for such a prompt; nil means
// any.
func (m *Machine) waiting(lane iris.Lane, such func(*prompt) bool) bool {
	return slices.ContainsFunc(m.turns, func(t *running) bool {
		return t.lane == lane && slices.ContainsFunc(t.open, func(o opened) bool {
			return o.prompt != nil && (such == nil || such(o.prompt))
		})
	})
}

// tellBusy says anew with what a lane is busy.
func (m *Machine) tellBusy(lane iris.Lane) {
	for _, t := range m.turns {
		if t.lane == lane && t.announced {
			m.announce(t)
			return
		}
	}
}

// promptClosed ends a prompt. If a device has answered it, it knows already:
// then only the lane goes on.
func (m *Machine) promptClosed(ev link.Event, b link.PromptClosed) error {
	if b.PromptID == "" {
		return missing(ev, "prompt_id")
	}
	if m.answered.has(b.PromptID) {
		return nil
	}
	t := m.asker(b.PromptID)
	switch {
	case t != nil:
		t.drop(opened{prompt: t.prompt(b.PromptID)})
	case !m.asked.has(b.PromptID): // perhaps an earlier machine has said that the lane waits
		t = m.find(ev.Turn)
	}
	if t != nil && !m.waiting(t.lane, nil) {
		m.tellBusy(t.lane)
	}
	end := wire.PickerClosed{PickerID: b.PromptID}
	if b.Why == link.ClosedAnswered {
		end.Value, end.Text = b.Value, b.Text
	}
	m.closePrompt(ev.Lane(), end)
	return nil
}

// closePrompt takes a picker away. If it is not open any more, the frame is
// dropped where the rows are known.
func (m *Machine) closePrompt(lane iris.Lane, end wire.PickerClosed) {
	m.answered.add(end.PickerID)
	m.entry(lane, end)
}

// asker returns the turn that waits for a prompt, or nil.
func (m *Machine) asker(id string) *running {
	for _, t := range m.turns {
		if t.prompt(id) != nil {
			return t
		}
	}
	return nil
}

// prompt returns the prompt of that id, if the turn waits for it, or nil.
func (t *running) prompt(id string) *prompt {
	for _, o := range t.open {
		if o.prompt != nil && o.prompt.id == id {
			return o.prompt
		}
	}
	return nil
}

// openPrompts returns the prompts that the turn waits for, oldest first.
func (t *running) openPrompts() []string {
	var all []string
	for _, o := range t.open {
		if o.prompt != nil {
			all = append(all, o.prompt.id)
		}
	}
	return all
}

// restorePrompts takes a hello's word for what a turn waits for. What it does
// not name was closed; but a prompt that was asked here gets its prompt.closed,
// which the host repeats.
func (m *Machine) restorePrompts(t *running, ids []string) {
	before := m.waiting(t.lane, nil)
	t.open = slices.DeleteFunc(t.open, func(o opened) bool {
		return o.prompt != nil && !o.prompt.asked && !slices.Contains(ids, o.prompt.id)
	})
	for _, id := range ids {
		if !m.asked.has(id) && !m.answered.has(id) && t.prompt(id) == nil {
			t.open = append(t.open, opened{prompt: &prompt{id: id}})
		}
	}
	if t.announced && m.waiting(t.lane, nil) != before {
		m.live(t.lane, m.busy(t))
	}
}
