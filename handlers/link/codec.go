package link

import (
	"encoding/json"
	"fmt"
	"strconv"

	"iris-gateway/iris"
)

// ErrMalformed is what Type says of input that is no JSON object with a type.
var ErrMalformed = iris.Errorf(iris.CodeUnsupported, "frame is not a JSON object with a \"type\"")

// Type returns the type of a frame.
func Type(data []byte) (string, error) {
	var f struct {
		Type *string `json:"type"`
	}
	if json.Unmarshal(data, &f) != nil || f.Type == nil || *f.Type == "" {
		return "", ErrMalformed
	}
	return *f.Type, nil
}

// Decode reads a frame, or an event's body, into T.
func Decode[T any](data []byte) (T, error) {
	var f T
	if len(data) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, iris.Errorf(iris.CodeUnsupported, "host link: %v", err)
	}
	return f, nil
}

// Encode returns the frame of the given type whose other fields are those of v.
func Encode(frameType string, v any) []byte {
	body := mustMarshal(v)
	head := `{"type":` + strconv.Quote(frameType)
	if len(body) == 2 { // {}
		return []byte(head + "}")
	}
	return append([]byte(head+","), body[1:]...)
}

// EncodeItem returns an inbound item as the log keeps it.
func EncodeItem(item Item) string { return string(mustMarshal(item)) }

// EncodeInbound returns the frame of an inbound item taken from the log: item
// i of n in the entry at cursor.
func EncodeInbound(cursor int64, i, n int, item string) []byte {
	return fmt.Appendf(nil, `{"type":%q,"cursor":%d,"item":%d,"items":%d,%s`, TypeInbound, cursor, i, n, item[1:])
}

func mustMarshal(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil { // the frames are plain structs of this package
		panic(fmt.Sprintf("link: encode %T: %v", v, err))
	}
	return body
}
