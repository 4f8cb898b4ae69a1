package iris

import "time"

// Picker is a question that waits for a person's answer. Its row exists exactly
// as long as it is open, so that whoever closes it first wins by precondition.
// Who answered, and what, is in the log (frame picker.closed).
type Picker struct {
	ID    string // the host's prompt_id
	Lane  Lane
	Frame string // the encoded picker.* frame, as devices get it
	At    time.Time
}

// The changes of a picker's row.
type (
	// PutPicker adds an open picker, or replaces it.
	PutPicker struct{ Picker Picker }
	// AnswerPicker closes a picker, whoever did it: a person by an answer, the
	// host by giving up. The commit is refused unless the picker is open.
	AnswerPicker struct{ ID string }
)

func (PutPicker) change()    {}
func (AnswerPicker) change() {}
