package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"iris-gateway/handlers/wire/exact"
	"iris-gateway/iris"
)

// ErrMalformed is what Decode says of input that is no JSON object with a type.
// Twenty of them end the connection (protocol: Close codes, 4408).
var ErrMalformed = iris.Errorf(iris.CodeUnsupported, "frame is not a JSON object in UTF-8 with a \"type\"")

// envelope is a frame as it stands on the wire. What has rules of its own stays
// raw at first.
type envelope struct {
	V        *int            `json:"v"`
	ID       json.RawMessage `json:"id"`
	Type     json.RawMessage `json:"type"`
	ChatID   string          `json:"chat_id"`
	ThreadID string          `json:"thread_id"`
	Payload  json.RawMessage `json:"payload"`
}

// Decode reads the envelope of a text frame (protocol: Envelope, Opening). It
// returns [ErrMalformed] when data is no frame at all, and another
// [iris.Error] when a part of the envelope has the wrong form. What could be
// read is returned with either, so that an error can carry the request's id.
//
// chat_id and thread_id may also stand in the payload (protocol: Envelope); at
// the top level they count first. Names of fields are exact: "Type" is no type.
func Decode(data []byte) (Request, error) {
	env, err := exact.Decode[envelope](data)
	if errors.Is(err, exact.ErrNoObject) {
		return Request{}, ErrMalformed
	}
	if env.Type == nil && errors.Is(err, exact.ErrDepth) { // too deep to read anything
		return Request{}, unsupported(err)
	}
	req := Request{Version: Version, Payload: env.Payload}
	if env.V != nil {
		req.Version = *env.V
	}
	var typeErr, fieldErr, idErr, payloadErr, laneErr error
	req.Type, typeErr = frameType(env.Type)
	if err != nil {
		fieldErr = unsupported(err)
	}
	req.ID, idErr = requestID(env.ID)
	if env.Payload != nil && env.Payload[0] != '{' {
		req.Payload, payloadErr = nil, iris.Errorf(iris.CodeUnsupported, "payload is not an object")
	}
	req.Lane, laneErr = lane(env.ChatID, env.ThreadID, req.Payload)
	return req, cmp.Or(typeErr, fieldErr, idErr, payloadErr, laneErr)
}

// frameType checks the form of a type: none is malformed, a wrong one an error.
func frameType(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", ErrMalformed
	}
	var t string
	if json.Unmarshal(raw, &t) != nil {
		return "", iris.Errorf(iris.CodeUnsupported, "type is not a string")
	}
	if t == "" {
		return "", ErrMalformed
	}
	if err := checkLength("type", t, MaxType); err != nil {
		return "", err
	}
	return t, nil
}

// requestID checks the form of an id: a number or a string of at most
// MaxRequestID bytes; null is none. The id is copied: it may be kept until a
// turn ends, and the frame around it may be large.
func requestID(raw json.RawMessage) (RequestID, error) {
	if raw == nil {
		return nil, nil
	}
	text := string(raw)
	switch raw[0] {
	case '"':
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, ErrMalformed
		}
	case '{', '[', 't', 'f':
		return nil, iris.Errorf(iris.CodeUnsupported, "id is neither a number nor a string")
	}
	if err := checkLength("id", text, MaxRequestID); err != nil {
		return nil, err
	}
	return RequestID(bytes.Clone(raw)), nil
}

// lane returns where a frame belongs to: what the top level says, completed by
// the payload unless that speaks of another channel. The ids in the payload are
// looked for only where their names appear, since few frames have them there.
func lane(chat, thread string, payload []byte) (iris.Lane, error) {
	if (chat == "" || thread == "") &&
		(bytes.Contains(payload, []byte(`"chat_id"`)) || bytes.Contains(payload, []byte(`"thread_id"`))) {
		p, err := exact.Decode[struct {
			ChatID   string `json:"chat_id"`
			ThreadID string `json:"thread_id"`
		}](payload)
		if err != nil {
			return iris.Lane{}, unsupported(err)
		}
		if chat == "" || p.ChatID == "" || p.ChatID == chat {
			chat, thread = cmp.Or(chat, p.ChatID), cmp.Or(thread, p.ThreadID)
		}
	}
	if err := cmp.Or(CheckID("chat_id", chat), CheckID("thread_id", thread)); err != nil {
		return iris.Lane{}, err
	}
	return iris.Lane{ChatID: chat, ThreadID: thread}, nil
}

func unsupported(err error) error {
	return iris.Errorf(iris.CodeUnsupported, "%s", err.Error())
}

// DecodePayload reads a request's payload into T and, when *T has a Validate
// method, checks it. An absent payload counts as an empty one; unknown fields
// are ignored (protocol: Envelope).
func DecodePayload[T any](req Request) (T, error) {
	data := []byte(req.Payload)
	if data == nil {
		data = []byte("{}")
	}
	p, err := exact.Decode[T](data)
	if err != nil {
		return p, iris.Errorf(iris.CodeUnsupported, "payload of %s: %s", req.Type, err)
	}
	if v, ok := any(&p).(interface{ Validate() error }); ok {
		return p, v.Validate()
	}
	return p, nil
}
