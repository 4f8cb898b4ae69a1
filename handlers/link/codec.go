package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"iris-gateway/handlers/wire/exact"
	"iris-gateway/iris"
)

// ErrMalformed is what Type says of input that is no JSON object with a type.
var ErrMalformed = iris.Errorf(iris.CodeUnsupported, "frame is not a JSON object in UTF-8 with a \"type\"")

// maxType is the longest type or kind, in bytes: they appear in errors.
const maxType = 64

// Type returns the type of a frame.
func Type(data []byte) (string, error) {
	f, err := exact.Decode[struct {
		Type *string `json:"type"`
	}](data)
	switch {
	case errors.Is(err, exact.ErrNoObject):
		return "", ErrMalformed
	case err != nil:
		return "", failed(err)
	case f.Type == nil || *f.Type == "":
		return "", ErrMalformed
	case len(*f.Type) > maxType:
		return "", failed(fmt.Errorf("type has %d bytes, the limit is %d", len(*f.Type), maxType))
	}
	return *f.Type, nil
}

// Decode reads a frame, or an event's body, into T and, when *T has a Validate
// method, checks it. Of an [Event] that is refused, Seq is filled nevertheless
// if it could be read: such an event is acked and dropped (host-link.md, "Events").
// No data counts as an empty object.
func Decode[T any](data []byte) (T, error) {
	if len(data) == 0 {
		data = []byte("{}")
	}
	f, err := exact.Decode[T](data)
	if err != nil {
		return f, failed(err)
	}
	if v, ok := any(&f).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return f, failed(err)
		}
	}
	return f, nil
}

// failed makes an error that the host is told, and that says where it is from.
func failed(err error) error {
	return iris.Errorf(iris.CodeUnsupported, "host link: %s", err)
}

// Encode returns the frame of the given type whose other fields are those of v.
func Encode(frameType string, v any) []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":`)
	write(&b, frameType)
	at := b.Len()
	write(&b, v)
	switch frame := b.Bytes(); {
	case len(frame) == at+2: // {}
		return append(frame[:at], '}')
	default:
		frame[at] = ','
		return frame
	}
}

// EncodeItem returns an inbound item as the log keeps it.
func EncodeItem(item Item) string {
	var b bytes.Buffer
	write(&b, item)
	return b.String()
}

// EncodeInbound returns the frame of an inbound item taken from the log: item
// i of n in the entry at cursor.
func EncodeInbound(cursor int64, i, n int, item string) []byte {
	b := make([]byte, 0, len(item)+80)
	b = append(b, `{"type":"`+TypeInbound+`","cursor":`...)
	b = strconv.AppendInt(b, cursor, 10)
	b = append(b, `,"item":`...)
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, `,"items":`...)
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, ',')
	return append(b, item[1:]...)
}

// write appends v as JSON. HTML escaping is off: it would write each <, > and &
// of a program as six bytes.
func write(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // the frames are plain structs of this package
		panic(fmt.Sprintf("link: encode %T: %v", v, err))
	}
	b.Truncate(b.Len() - 1) // Encode ends with a newline
}
