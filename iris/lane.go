package iris

import "time"

// DefaultChat is the channel that every gateway has from the start.
const DefaultChat = "android:default"

// Lane addresses one conversation: the flat lane of a channel (ThreadID "") or
// one of the channel's threads. Both ids are opaque.
type Lane struct {
	ChatID   string
	ThreadID string
}

// Key returns a string that is different for each lane, to derive ids from.
func (l Lane) Key() string { return l.ChatID + "\x00" + l.ThreadID }

// Channel kinds, as devices see them.
const (
	KindDefault = "default"
	KindChannel = "channel"
	KindThread  = "thread"
)

// Channel is a row of the directory: a channel, or a thread of one.
type Channel struct {
	Lane          Lane
	Name          string
	Kind          string    // KindChannel or KindThread; the default channel is named by [Gateway.DefaultChat]
	Auto          bool      // a thread the gateway made itself, whose name may still be replaced by a title
	ReadMessageID string    // up to here the people have read
	ReadAt        time.Time // when that message began: what came before it was read too
	Busy          string    // turn that runs in the lane, "" when none does
}

// The changes of a row of the directory that leave the rest of it. The commit
// is refused if the channel or thread is gone.
type (
	// SetChannelName renames a channel or thread. The name that it gets is no
	// longer provisional.
	SetChannelName struct {
		Lane Lane
		Name string
	}
	// SetRead says up to which message the people have read.
	SetRead struct {
		Lane      Lane
		MessageID string
		At        time.Time
	}
	// SetDefaultChat makes a channel the default one.
	SetDefaultChat struct{ ChatID string }
)

func (SetChannelName) change() {}
func (SetRead) change()        {}
func (SetDefaultChat) change() {}
