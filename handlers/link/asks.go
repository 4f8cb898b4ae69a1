package link

import (
	"cmp"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Kinds of inbound item beside messages (host-link.md, "Inbound"). The host answers
// stop, steer and answer with the event "done".
const (
	InboundStop       = "stop"
	InboundSteer      = "steer"
	InboundAnswer     = "answer"
	InboundLaneRename = "lane.rename"
	InboundLaneDelete = "lane.delete" // every session of the lane; without thread_id those of the channel's threads too
	InboundDelete     = "delete"
	InboundDeleted    = "deleted" // what was deleted before the host had it: it keeps its place, with an empty body
)

// Bodies of the inbound items beside messages.
type (
	// Stop ends the turn that runs in the lane.
	Stop struct {
		ExpiresAt int64 `json:"expires_at"` // ms; past it the host does nothing
	}

	// Steer tells the turn that runs in the lane something.
	Steer struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
		ExpiresAt int64  `json:"expires_at"` // ms
	}

	// PromptAnswer is what a person answered to a prompt: the value of a choice,
	// or free text.
	PromptAnswer struct {
		PromptID string  `json:"prompt_id"`
		Value    *string `json:"value"`
		Text     string  `json:"text,omitempty"`
	}

	// MessageDelete names messages that people have deleted.
	MessageDelete struct {
		Messages []DeletedMessage `json:"messages"`
	}

	// DeletedMessage tells the host what to look for in its store, in case it no
	// longer knows the id. Of a message whose end never came only the id is known.
	DeletedMessage struct {
		MessageID string    `json:"message_id"`
		Role      iris.Role `json:"role"`
		TS        int64     `json:"ts"`     // ms, when it began; 0 = not known
		SHA256    string    `json:"sha256"` // of its text, hexadecimal; "" = not known
	}

	// LaneRename: a person gave the lane another name.
	LaneRename struct {
		Name string `json:"name"`
	}
)

// HostSend is the body of POST /host/send: what a scheduled job says in another
// process than the one with the link (host-link.md, "Opening").
type HostSend struct {
	MessageID string `json:"message_id"`
	ChatID    string `json:"chat_id"`
	ThreadID  string `json:"thread_id"`
	Text      string `json:"text"`
	Job       string `json:"job"` // how people call the job; may be empty
}

// Validate checks that the message can be shown.
func (s *HostSend) Validate() error {
	return cmp.Or(
		need("message_id", s.MessageID), need("chat_id", s.ChatID), wire.CheckID("thread_id", s.ThreadID), present("text", s.Text),
	)
}
