package chaos

import (
	"bytes"
	"encoding/json"
	"strconv"

	"iris-gateway/handlers/wire"
)

// visit is one connection of a phone: what it asked for and all that it got.
// Its fields are guarded by the phone's mutex until the phone has ended.
type visit struct {
	phone    string
	n        int // of the phone's visits
	instance string

	frames []frame
	bytes  []byte            // of binary frames
	syncs  map[string]*int64 // cursor asked for by request id, nil for none
	base   int64             // hello.ack.sync_cursor
	acked  bool              // hello.ack came
	done   int               // sync.done that came
	ended  error             // nil while the connection lives
}

// frame is a frame as a device got it.
type frame struct {
	Type    string
	ID      string // of the request that it answers, "" for none
	Cursor  int64  // of a replayed one
	Text    string // the encoded frame without id and cursor: as it stands in the log
	Payload json.RawMessage
}

// parseFrame reads a frame that the gateway sent.
func parseFrame(data []byte) (frame, error) {
	var env struct {
		ID      json.RawMessage
		Cursor  int64
		Type    string
		Payload json.RawMessage
	}
	if err := json.Unmarshal(data, &env); err != nil {
		return frame{}, err
	}
	f := frame{Type: env.Type, Cursor: env.Cursor, Payload: env.Payload}
	rest := data
	if env.ID != nil {
		if err := json.Unmarshal(env.ID, &f.ID); err != nil {
			return frame{}, err
		}
		rest = bytes.Replace(rest, append([]byte(`,"id":`), env.ID...), nil, 1)
	}
	if env.Cursor != 0 {
		rest = bytes.Replace(rest, strconv.AppendInt([]byte(`,"cursor":`), env.Cursor, 10), nil, 1)
	}
	f.Text = string(rest)
	return f, nil
}

// decode reads a frame's payload.
func decode[T any](f frame) (T, error) {
	var p T
	err := json.Unmarshal(f.Payload, &p)
	return p, err
}

// syncDone reads a sync.done.
func (f frame) syncDone() (wire.SyncDone, bool) {
	if f.Type != (wire.SyncDone{}).FrameType() {
		return wire.SyncDone{}, false
	}
	p, err := decode[wire.SyncDone](f)
	return p, err == nil
}
