package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"iris-gateway/iris"
)

// prefix begins every frame that Encode makes; cursor and id are put behind it.
const prefix = `{"v":1`

// Encode returns the frame of a payload (protocol: Envelope). A lane that is
// not zero is written as chat_id and thread_id. The order is always v, type,
// chat_id, thread_id, payload: the log is searched by how frames begin.
func Encode(lane iris.Lane, p Payload) string {
	var b bytes.Buffer
	b.WriteString(prefix + `,"type":`)
	write(&b, p.FrameType())
	if lane.ChatID != "" {
		b.WriteString(`,"chat_id":`)
		write(&b, lane.ChatID)
	}
	if lane.ThreadID != "" {
		b.WriteString(`,"thread_id":`)
		write(&b, lane.ThreadID)
	}
	b.WriteString(`,"payload":`)
	write(&b, p)
	b.WriteByte('}')
	return b.String()
}

// write appends v as JSON. HTML escaping is off: nobody puts frames into a
// page, and it would write each <, > and & of an answer's code as six bytes.
func write(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // payloads are plain structs of this package
		panic(fmt.Sprintf("wire: encode %T: %v", v, err))
	}
	b.Truncate(b.Len() - 1) // Encode ends with a newline
}

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
