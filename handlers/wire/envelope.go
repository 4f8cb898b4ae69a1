package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"iris-gateway/iris"
)

// Version is the protocol version spoken here; the gateway writes it on every frame.
const Version = 1

// Limits of what a device may send.
const (
	MaxTextFrame   = 1 << 20   // bytes of a JSON frame
	MaxBinaryFrame = 256 << 10 // bytes of a binary frame
	MaxHelloFrame  = 16 << 10  // bytes of a frame before hello was accepted
	MaxRequestID   = 64        // bytes of a request id that is a string
	MaxDeviceID    = 128       // bytes
	MaxClientID    = 64        // characters
	MaxMessageText = 64 << 10  // bytes of message.send's text
)

// Payload is the type-specific part of a frame.
type Payload interface {
	// FrameType is the frame's "type".
	FrameType() string
}

// RequestID is a request's id as the device wrote it: a JSON number or string,
// echoed verbatim. Nil means that there is none.
type RequestID json.RawMessage

// Request is a frame from a device, its payload not yet decoded.
type Request struct {
	Version int
	ID      RequestID
	Type    string
	Lane    iris.Lane
	Payload json.RawMessage // a JSON object or nil
}

// Encode returns the frame of a payload. A lane that is not zero is written as
// chat_id and thread_id.
func Encode(lane iris.Lane, p Payload) string {
	body, err := json.Marshal(p)
	if err != nil { // payloads are plain structs of this package
		panic(fmt.Sprintf("wire: encode %s: %v", p.FrameType(), err))
	}
	var b bytes.Buffer
	b.WriteString(prefix)
	b.WriteString(`,"type":`)
	b.Write(quote(p.FrameType()))
	if lane.ChatID != "" {
		b.WriteString(`,"chat_id":`)
		b.Write(quote(lane.ChatID))
	}
	if lane.ThreadID != "" {
		b.WriteString(`,"thread_id":`)
		b.Write(quote(lane.ThreadID))
	}
	b.WriteString(`,"payload":`)
	b.Write(body)
	b.WriteByte('}')
	return b.String()
}

// prefix begins every frame that Encode makes; cursor and id are put behind it.
const prefix = `{"v":1`

// WithID returns an encoded frame as the answer to the request id. A nil id
// leaves the frame as it is.
func WithID(frame string, id RequestID) string {
	if id == nil {
		return frame
	}
	return prefix + `,"id":` + string(id) + frame[len(prefix):]
}

// WithCursor returns an encoded frame as sync replays it.
func WithCursor(frame string, cursor int64) string {
	return prefix + `,"cursor":` + strconv.FormatInt(cursor, 10) + frame[len(prefix):]
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return b
}

// ErrMalformed is what Decode says of input that is no JSON object with a type.
var ErrMalformed = iris.Errorf(iris.CodeUnsupported, "frame is not a JSON object with a \"type\"")

// Decode reads the envelope of a text frame. It returns [ErrMalformed] when
// data is no frame at all, and another [iris.Error], together with what could
// be read, when a field of the envelope has the wrong form.
func Decode(data []byte) (Request, error) {
	var raw struct {
		V        json.RawMessage `json:"v"`
		ID       json.RawMessage `json:"id"`
		Type     *string         `json:"type"`
		ChatID   json.RawMessage `json:"chat_id"`
		ThreadID json.RawMessage `json:"thread_id"`
		Payload  json.RawMessage `json:"payload"`
	}
	if !utf8.Valid(data) || json.Unmarshal(data, &raw) != nil || raw.Type == nil || *raw.Type == "" {
		return Request{}, ErrMalformed
	}
	req := Request{Version: Version, Type: *raw.Type}
	var err error
	if req.ID, err = requestID(raw.ID); err != nil {
		return req, err
	}
	if err := field("v", raw.V, &req.Version); err != nil {
		return req, err
	}
	if err := field("chat_id", raw.ChatID, &req.Lane.ChatID); err != nil {
		return req, err
	}
	if err := field("thread_id", raw.ThreadID, &req.Lane.ThreadID); err != nil {
		return req, err
	}
	if p := bytes.TrimSpace(raw.Payload); len(p) > 0 && !bytes.Equal(p, []byte("null")) {
		if p[0] != '{' {
			return req, iris.Errorf(iris.CodeUnsupported, "payload of %s is not an object", req.Type)
		}
		req.Payload = p
	}
	return req, nil
}

// requestID checks the form of an id: a number, or a string of at most
// MaxRequestID bytes; null is none.
func requestID(raw json.RawMessage) (RequestID, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	switch {
	case raw[0] == '"':
		var s string
		if json.Unmarshal(raw, &s) != nil || len(s) > MaxRequestID {
			return nil, iris.Errorf(iris.CodeUnsupported, "id is a string of more than %d bytes", MaxRequestID)
		}
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		if len(raw) > MaxRequestID {
			return nil, iris.Errorf(iris.CodeUnsupported, "id is a number of more than %d digits", MaxRequestID)
		}
	default:
		return nil, iris.Errorf(iris.CodeUnsupported, "id is neither a number nor a string")
	}
	return RequestID(raw), nil
}

// field decodes one envelope field; absent and null leave the target alone.
func field(name string, raw json.RawMessage, target any) error {
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, target); err != nil {
		return iris.Errorf(iris.CodeUnsupported, "%s has the wrong type", name)
	}
	return nil
}

// DecodePayload reads a request's payload into T. An absent payload counts as
// an empty one; unknown fields are ignored.
func DecodePayload[T any](req Request) (T, error) {
	var p T
	if req.Payload == nil {
		return p, nil
	}
	if err := json.Unmarshal(req.Payload, &p); err != nil {
		return p, iris.Errorf(iris.CodeUnsupported, "payload of %s: %s", req.Type, describe(err))
	}
	return p, nil
}

// describe says what was wrong with a payload, without its contents.
func describe(err error) string {
	if e, ok := err.(*json.UnmarshalTypeError); ok {
		return fmt.Sprintf("field %q is a %s, expected %s", e.Field, e.Value, e.Type)
	}
	return "is not valid JSON"
}
