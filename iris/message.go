package iris

import "time"

// Role says who a message is from.
type Role string

// The roles of the wire protocol.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleCron      Role = "cron"
)

// Message is a row of the history.
type Message struct {
	ID         string
	Lane       Lane
	Role       Role
	Commentary bool // a beat between tools, not an answer
	Text       string
	Reasoning  string
	Media      []Media // in the order they are shown
	ReplyTo    string
	Model      string
	Tokens     int
	Runtime    *Runtime
	At         time.Time // when it began; history is sorted by it
	Cursor     int64     // entry that holds it; filled in by the commit
	Deleted    bool      // a tombstone: the text is gone, the id is still taken
	Expires    time.Time // when it goes by itself, zero for never; filled in by the commit
	Terms      []string  // what search finds it by; filled in by the commit, never read
}

// HistoryBytes bounds what the messages of a page of history say: however it is
// written in JSON, it has to fit the queue of the device that asked. A page of one
// message is as large as that is.
const HistoryBytes = 512 << 10

// MediaIDs returns the ids of the message's media.
func (m Message) MediaIDs() []string {
	var ids []string
	for _, medium := range m.Media {
		ids = append(ids, medium.ID)
	}
	return ids
}

// Tombstone is what is left of a message that was deleted: its id, so that a
// late resend of it is known and does not land again.
func (m Message) Tombstone() Message {
	return Message{ID: m.ID, Lane: m.Lane, Role: m.Role, At: m.At, Deleted: true}
}

// Runtime is the footer of an answer (wire protocol, "message"). Absent values
// are zero.
type Runtime struct {
	Model      string  `json:"model,omitempty"`
	ContextPct int     `json:"context_pct,omitempty"` // 0–100
	Cwd        string  `json:"cwd,omitempty"`
	Latency    float64 `json:"latency,omitempty"` // seconds
	Cost       float64 `json:"cost,omitempty"`    // USD
}
