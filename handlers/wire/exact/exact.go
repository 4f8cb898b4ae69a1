// Package exact reads JSON from strangers into structs, more strictly than
// encoding/json does, and says in words what was wrong:
//
//   - names of fields are exact: "Text" is not "text", but an unknown field,
//     which is ignored;
//   - a known field that appears twice is an error, since two parsers could
//     disagree about which one counts;
//   - input that is nested more than MaxDepth levels deep is an error, since
//     what is read here is written again for parsers that give up earlier than
//     Go's (255 levels, 64 in some);
//   - a list may have at most as many items as its struct tag max:"…" says,
//     and this is known before anything is allocated for them;
//   - numbers in free-form objects (map[string]any) stay as they were written;
//   - an error names the field and the kind of value, never the value: errors
//     are logged, and values are people's messages and tokens;
//   - reading goes on behind an error, so that the caller knows what else the
//     frame holds, such as the id of a request to answer.
//
// Null counts as absent.
package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// MaxDepth is how many levels deep input may be nested.
const MaxDepth = 64

// What Decode says of input as a whole.
var (
	ErrNoObject = errors.New("not a JSON object in UTF-8")
	ErrDepth    = fmt.Errorf("nested more than %d levels deep", MaxDepth)
)

// Error says what is wrong with one field.
type Error struct {
	Field   string // its path, such as turns[2].chat_id
	Problem string // continues the name of the field: "is a number, expected a string"
}

// Error returns the field and its problem.
func (e *Error) Error() string {
	return "field " + e.Field + " " + e.Problem
}

// Inside returns the error of a field that is itself inside another one.
func (e *Error) Inside(outer string) *Error {
	return &Error{Field: outer + "." + e.Field, Problem: e.Problem}
}

// Decode reads data, an object, into T, a struct. It returns ErrNoObject or
// ErrDepth, or the [Error] of the first field that is wrong; all other fields
// are filled nevertheless. A json.RawMessage in T refers to data.
func Decode[T any](data []byte) (T, error) {
	var target T
	err := decode(data, &target)
	return target, err
}

func decode(data []byte, target any) error {
	data = bytes.Trim(data, " \t\r\n")
	if len(data) == 0 || data[0] != '{' {
		return ErrNoObject
	}
	deep := depth(data) > MaxDepth
	switch {
	case utf8.Valid(data) && json.Valid(data):
	case deep: // deeper than encoding/json goes: then it is not its syntax that is wrong
		return ErrDepth
	default:
		return ErrNoObject
	}
	var d decoder
	d.value(reflect.ValueOf(target).Elem(), data, "", 0)
	if deep {
		return ErrDepth
	}
	if d.err != nil {
		return d.err
	}
	return nil
}
