package iris

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
	Kind          string // KindChannel or KindThread; the default channel is named by [Gateway.DefaultChat]
	Auto          bool   // a thread the gateway made itself, whose name may still be replaced by a title
	ReadMessageID string // up to here the people have read
	Busy          string // turn that runs in the lane, "" when none does
}
