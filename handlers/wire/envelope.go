package wire

import (
	"encoding/json"

	"iris-gateway/iris"
)

// Version is the protocol version spoken here; the gateway writes it on every
// frame (protocol: Opening).
const Version = 1

// Limits of what a device may send (protocol: Opening, Close codes, Rules).
const (
	MaxTextFrame   = 1 << 20   // bytes of a JSON frame
	MaxBinaryFrame = 256 << 10 // bytes of a binary frame
	MaxHelloFrame  = 16 << 10  // bytes of a frame before hello was accepted
	MaxRequestID   = 64        // bytes of a request id
	MaxType        = 64        // bytes of a frame's type
	MaxID          = 128       // bytes of a chat, thread, message or media id
	MaxDeviceID    = 128       // bytes
	MaxDeviceName  = 100       // characters that are kept
	MaxClientID    = 64        // characters
	MaxMessageText = 64 << 10  // bytes of the text of message.send, agent.steer and picker.select
	MaxChannelName = 100       // characters
	MaxPickerValue = 1 << 10   // bytes
	MaxPrefix      = 128       // bytes of a command that is typed
	MaxQuery       = 1 << 10   // bytes
	MaxFilename    = 255       // bytes
	MaxUploadName  = 4096      // bytes of the filename that a device says: it is shortened
	MaxFCMToken    = 4 << 10   // bytes
	MaxNtfyTopic   = 64        // bytes
)

// Limits of a gateway's directory (protocol: Rules).
const (
	MaxChannels = 500
	MaxThreads  = 1000 // of all channels together
)

// Limits of a page of history (protocol: history).
const (
	DefaultHistory = 50
	MaxHistory     = 200
)

// Payload is the type-specific part of a frame (protocol: Envelope).
type Payload interface {
	// FrameType is the frame's "type".
	FrameType() string
}

// RequestID is a request's id as the device wrote it: a JSON number or string,
// echoed verbatim (protocol: Opening). Nil means that there is none.
type RequestID json.RawMessage

// Request is a frame from a device, its payload not yet decoded.
type Request struct {
	Version int
	ID      RequestID
	Type    string
	Lane    iris.Lane
	Payload json.RawMessage // a JSON object or nil; refers to what Decode was given
}
