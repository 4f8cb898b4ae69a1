package link

import (
	"encoding/json"

	"iris-gateway/iris"
)

// Kinds of inbound item (host-link.md, "Inbound").
const (
	InboundMessage = "message"
)

// Item is an inbound item as the log keeps it: without its place in the log.
type Item struct {
	Kind     string `json:"kind"`
	ChatID   string `json:"chat_id"`
	ThreadID string `json:"thread_id,omitempty"`
	Body     any    `json:"body"`
}

// Inbound is the frame that carries an item to the host, as the host reads it;
// [EncodeInbound] makes it.
type Inbound struct {
	Cursor   int64           `json:"cursor"` // entry that holds the item
	Item     int             `json:"item"`   // from 0, in the entry
	Items    int             `json:"items"`  // how many the entry holds
	Kind     string          `json:"kind"`
	ChatID   string          `json:"chat_id"`
	ThreadID string          `json:"thread_id"`
	Body     json.RawMessage `json:"body"`
}

// Lane returns the lane that the item belongs to.
func (i Inbound) Lane() iris.Lane { return iris.Lane{ChatID: i.ChatID, ThreadID: i.ThreadID} }

// Message is what a person wrote on a device (host-link.md, "Inbound").
type Message struct {
	MessageID string       `json:"message_id"`
	Text      string       `json:"text"`
	ReplyTo   *ReplyTo     `json:"reply_to,omitempty"`
	Media     []Attachment `json:"media,omitempty"`
	Device    Device       `json:"device"`
	Channel   Channel      `json:"channel"`
}

// Attachment is a medium of a person's message; the host fetches its bytes by
// [MediaGet].
type Attachment struct {
	MediaID  string `json:"media_id"`
	Kind     string `json:"kind"` // image, voice, audio, video, document
	Mime     string `json:"mime"`
	Size     int64  `json:"size"` // bytes
	Filename string `json:"filename"`
	SHA256   string `json:"sha256"` // hexadecimal
}

// ReplyTo is the message that another one answers. hermes does not look the
// text up, so it is sent along.
type ReplyTo struct {
	MessageID string    `json:"message_id"`
	Role      iris.Role `json:"role"`
	Text      string    `json:"text"`
	ChatID    string    `json:"chat_id,omitempty"` // its lane, when that is another one
	ThreadID  string    `json:"thread_id,omitempty"`
}

// Lane returns the lane of the quoted message, the zero lane when that is the
// message's own.
func (r ReplyTo) Lane() iris.Lane { return iris.Lane{ChatID: r.ChatID, ThreadID: r.ThreadID} }

// Device says where an inbound item came from.
type Device struct {
	DeviceID string `json:"device_id"`
	Name     string `json:"name"`
}

// Channel names the lane of an inbound item for the model.
type Channel struct {
	Name       string `json:"name"`
	ThreadName string `json:"thread_name,omitempty"`
}
