package iris

import "time"

// Deletion is a deletion that people asked for, from the entry that begins it to
// the one that tells everybody (log.md, "Deleting"). Its row exists exactly as
// long: whoever opens the gateway meanwhile finishes it.
type Deletion struct {
	ID       string
	Lane     Lane
	Messages []string // what goes; none: the whole lane, and with a channel its threads
	Threads  []string // of a channel: the threads that go with it
	// Names are the SHA-256 of names that threads got from the first words of
	// the messages.
	Names []string
	Media []string // that belong to the messages
	At    time.Time
}

// Covers reports whether the deletion takes a whole lane.
func (d Deletion) Covers(lane Lane) bool {
	return len(d.Messages) == 0 && d.Lane.ChatID == lane.ChatID && (d.Lane.ThreadID == "" || d.Lane.ThreadID == lane.ThreadID)
}

// Touching says which entries of the log are looked for: those that touch one
// of the messages or lanes.
type Touching struct {
	Messages []string
	Lanes    []Lane
}

// The changes of a deletion.
type (
	// BeginDeletion adds a deletion; the commit is refused if its id is taken.
	BeginDeletion struct{ Deletion Deletion }
	// EndDeletion removes a deletion that has been carried out. The commit is
	// refused if it is gone: of two that finish it, one tells everybody.
	EndDeletion struct{ ID string }
	// DropChannel removes a channel or thread. The commit is refused if it is
	// gone.
	DropChannel struct{ Lane Lane }
)

func (BeginDeletion) change() {}
func (EndDeletion) change()   {}
func (DropChannel) change()   {}
