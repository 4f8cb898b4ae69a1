package link

import "iris-gateway/iris"

// Kinds of inbound item.
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

// Message is what a person wrote on a device.
type Message struct {
	MessageID string   `json:"message_id"`
	Text      string   `json:"text"`
	ReplyTo   *ReplyTo `json:"reply_to,omitempty"`
	Device    Device   `json:"device"`
	Channel   Channel  `json:"channel"`
}

// ReplyTo is the message that another one answers. hermes does not look the
// text up, so it is sent along.
type ReplyTo struct {
	MessageID string    `json:"message_id"`
	Role      iris.Role `json:"role"`
	Text      string    `json:"text"`
}

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
