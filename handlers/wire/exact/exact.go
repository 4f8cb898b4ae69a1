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
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// MaxDepth is how many levels deep input may be nested.
const MaxDepth = 64

// What Decode says of input as a whole.
var (
	ErrSyntax = errors.New("not valid JSON in UTF-8")
	ErrDepth  = errors.New("nested too deep")
)

// Error says what is wrong with one field.
type Error struct {
	Field   string // its path, such as turns[2].chat_id; "" for the input itself
	Problem string // continues the name of the field: "is a number, expected a string"
}

// Error returns the field and its problem.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return "field " + e.Field + " " + e.Problem
}

// Decode reads data into *T. It returns ErrSyntax or ErrDepth, or the [Error] of
// the first field that is wrong; all other fields are filled nevertheless.
// A json.RawMessage in T refers to data.
func Decode[T any](data []byte) (T, error) {
	var target T
	if err := decode(data, &target); err != nil {
		return target, err
	}
	return target, nil
}

func decode(data []byte, target any) error {
	deep := depth(data) > MaxDepth
	switch {
	case utf8.Valid(data) && json.Valid(data):
	case deep: // deeper than encoding/json goes: then it is not its syntax that is wrong
		return ErrDepth
	default:
		return ErrSyntax
	}
	var d decoder
	d.fill(target, data)
	if deep {
		return ErrDepth
	}
	if d.err != nil {
		return d.err
	}
	return nil
}
