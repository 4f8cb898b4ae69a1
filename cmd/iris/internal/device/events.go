package device

import (
	"encoding/json"
	"fmt"
	"time"

	"iris-gateway/handlers/wire"
	"iris-gateway/iris"
)

// Event is something that a [Client] tells its owner.
type Event interface{ event() }

// The kinds of event.
type (
	// Connecting: the client dials.
	Connecting struct{}

	// Connected: the gateway has accepted the hello. Requests that had no
	// answer before it never get one.
	Connected struct{ Ack wire.HelloAck }

	// Synced: everything that was missed has been told. First is true once in
	// a client's life; Complete is false when entries are gone, so that only
	// history has what is missing.
	Synced struct{ First, Complete bool }

	// Lost: there is no connection. The client dials again after Retry.
	Lost struct {
		Err   error
		Retry time.Duration
	}

	// Sent: the gateway has the message and gave it an id.
	Sent struct {
		ClientID string
		Lane     iris.Lane // where it went to
		Message  wire.Message
		Raw      []byte // the whole frame
	}

	// Refused: the gateway will never take the message.
	Refused struct {
		ClientID string
		Code     iris.Code
		Message  string
	}

	// Frame: a frame from the gateway. ID is that of the request it answers,
	// "" for all others; Cursor is 0 for a live frame.
	Frame struct {
		Type    string
		ID      string
		Cursor  int64
		Lane    iris.Lane
		Payload json.RawMessage
		Raw     []byte // the whole frame
	}
)

func (Connecting) event() {}
func (Connected) event()  {}
func (Synced) event()     {}
func (Lost) event()       {}
func (Sent) event()       {}
func (Refused) event()    {}
func (Frame) event()      {}

// Payload decodes the payload of a frame into T.
func Payload[T any](f Frame) (T, error) {
	var p T
	if len(f.Payload) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(f.Payload, &p); err != nil {
		return p, fmt.Errorf("%s frame: %w", f.Type, err)
	}
	return p, nil
}

// decode reads a frame from the gateway.
func decode(data []byte) (Frame, error) {
	var raw struct {
		Type     string          `json:"type"`
		ID       json.RawMessage `json:"id"`
		Cursor   int64           `json:"cursor"`
		ChatID   string          `json:"chat_id"`
		ThreadID string          `json:"thread_id"`
		Payload  json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return Frame{}, fmt.Errorf("frame from the gateway: %w", err)
	}
	f := Frame{
		Type: raw.Type, Cursor: raw.Cursor, Payload: raw.Payload, Raw: data,
		Lane: iris.Lane{ChatID: raw.ChatID, ThreadID: raw.ThreadID},
	}
	if len(raw.ID) > 0 && string(raw.ID) != "null" {
		// Our ids are strings; anything else belongs to nobody.
		_ = json.Unmarshal(raw.ID, &f.ID)
	}
	return f, nil
}

// encode returns a request as the gateway reads it.
func encode(id, frameType string, lane iris.Lane, payload any) ([]byte, error) {
	body := struct {
		V        int    `json:"v"`
		ID       string `json:"id,omitempty"`
		Type     string `json:"type"`
		ChatID   string `json:"chat_id,omitempty"`
		ThreadID string `json:"thread_id,omitempty"`
		Payload  any    `json:"payload"`
	}{wire.Version, id, frameType, lane.ChatID, lane.ThreadID, payload}
	return json.Marshal(body)
}
