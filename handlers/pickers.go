package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"iris-gateway/handlers/hub"
	"iris-gateway/handlers/link"
	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// handlePickerSelect answers a picker. The first answer wins; the others learn
// by picker.closed that there is nothing to answer any more (protocol: Pickers).
func (d *deviceSession) handlePickerSelect(ctx context.Context, req wire.Request) error {
	p, err := wire.DecodePayload[wire.PickerSelect](req)
	if err != nil {
		return err
	}
	return d.propose(ctx, req, iris.Lane{}, func(s *hub.State) (hub.Draft, error) { return selectPicker(s, d.device.ID, p) })
}

// selectPicker decides about an answer.
func selectPicker(s *hub.State, device string, p wire.PickerSelect) (hub.Draft, error) {
	picker, open := s.Picker(p.PickerID)
	switch {
	case !open:
		return hub.Draft{}, iris.Errorf(iris.CodeNotFound, "picker %q is not open: it was already answered or closed", printable(p.PickerID))
	case s.Full():
		return hub.Draft{}, errFull
	}
	if err := fits(picker, p); err != nil {
		return hub.Draft{}, err
	}
	draft := hub.Draft{
		Changes: []iris.Change{iris.AnswerPicker{ID: picker.ID}},
		Inbound: []string{link.EncodeItem(link.Item{
			Kind: link.InboundAnswer, ChatID: picker.Lane.ChatID, ThreadID: picker.Lane.ThreadID,
			Body: link.PromptAnswer{PromptID: picker.ID, Value: p.Value, Text: p.Text},
		})},
	}
	draft.Add(picker.Lane, wire.PickerClosed{PickerID: picker.ID, Value: p.Value, Text: p.Text, DeviceID: device})
	return draft, nil
}

// fits says what is wrong with an answer that the picker does not offer. The host
// would refuse it, and nobody could give another one. What offers nothing takes
// anything.
func fits(picker iris.Picker, answer wire.PickerSelect) error {
	var f struct {
		Payload struct {
			Choices   []wire.Choice         `json:"choices"`
			Providers []wire.PickerProvider `json:"providers"`
			AllowText bool                  `json:"allow_text"`
		} `json:"payload"`
	}
	if err := json.Unmarshal([]byte(picker.Frame), &f); err != nil {
		return fmt.Errorf("picker %s: %w", picker.ID, err)
	}
	var values []string
	for _, c := range f.Payload.Choices {
		values = append(values, c.Value)
	}
	for _, p := range f.Payload.Providers {
		for _, m := range p.Models {
			values = append(values, p.ID+"/"+m.ID)
		}
	}
	switch {
	case len(values) == 0:
		return nil
	case answer.Value != nil && !slices.Contains(values, *answer.Value):
		return iris.Errorf(iris.CodeUnsupported, "value %q is none of the choices of picker %q", printable(*answer.Value), printable(picker.ID))
	case answer.Value == nil && !f.Payload.AllowText:
		return iris.Errorf(iris.CodeUnsupported, "picker %q takes no text: send the value of one of its choices", printable(picker.ID))
	}
	return nil
}

// pickerRows completes a host's draft: the rows follow from the frames. What
// closes a picker that is closed already is left out: a person was quicker, and
// the devices know.
func pickerRows(s *hub.State, draft *hub.Draft) {
	rows := map[string]iris.Change{}
	open := func(id string) bool {
		if change, ok := rows[id]; ok {
			_, opened := change.(iris.PutPicker)
			return opened
		}
		_, ok := s.Picker(id)
		return ok
	}
	var frames []string
	for _, frame := range draft.Frames {
		p, closed, ok := hub.PickerOf(frame)
		switch {
		case !ok:
		case !closed:
			rows[p.ID] = iris.PutPicker{Picker: p}
		case !open(p.ID):
			continue
		default:
			rows[p.ID] = iris.AnswerPicker{ID: p.ID}
		}
		frames = append(frames, frame)
	}
	draft.Frames = frames
	draft.Changes = slices.DeleteFunc(slices.Clone(draft.Changes), isPickerRow)
	for id, change := range rows {
		if _, known := s.Picker(id); !known && !open(id) {
			continue // opened and closed at once: there never is a row
		}
		draft.Changes = append(draft.Changes, change)
	}
}

// isPickerRow reports whether a change is one that pickerRows makes.
func isPickerRow(c iris.Change) bool {
	switch c.(type) {
	case iris.PutPicker, iris.AnswerPicker:
		return true
	}
	return false
}

// replayed says which pickers a replay leaves alone: those that were answered,
// as far as this instance knows; picker.closed follows. The entries behind what
// it knows are sent as they are.
type replayed struct {
	state  *hub.State      // when the page was read
	closed map[string]bool // pickers whose picker.closed was sent
}

// leaveOut reports whether a frame of an old entry is a picker that was
// answered, and notes the answers that it sees.
func (r *replayed) leaveOut(frame string, cursor int64) bool {
	p, closed, ok := hub.PickerOf(frame)
	if !ok {
		return false
	}
	if closed {
		r.closed[p.ID] = true
		return false
	}
	_, open := r.state.Picker(p.ID)
	return !open && cursor <= r.state.Cursor
}

// sendOpen sends the pickers that wait for an answer, but those whose answer
// the device has just been told of.
func (d *deviceSession) sendOpen(a *hub.Actor, closed map[string]bool) {
	for _, p := range a.State().Pickers() {
		if !closed[p.ID] {
			d.socket.Send(p.Frame)
		}
	}
}
