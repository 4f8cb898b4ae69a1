package exact

import (
	"bytes"
	"encoding/json"
	"iter"
)

// The functions of this file walk over JSON that is known to be valid (but for
// depth, which takes anything), so they look only for where values end.

// depth returns how deep data is nested: 1 for an object of plain values.
func depth(data []byte) int {
	level, deepest := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i) - 1
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}

// members yields the members of an object in their order.
func members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := nextToken(object, 1); i < len(object) && object[i] == '"'; {
			end := stringEnd(object, i)
			name := text(object[i:end])
			i = nextToken(object, end) // the colon
			i = nextToken(object, i+1) // the value
			end = valueEnd(object, i)  //
			if !yield(name, object[i:end:end]) {
				return
			}
			i = nextItem(object, end)
		}
	}
}

// items yields the items of an array in their order.
func items(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := nextToken(array, 1); i < len(array) && array[i] != ']'; {
			end := valueEnd(array, i)
			if !yield(array[i:end:end]) {
				return
			}
			i = nextItem(array, end)
		}
	}
}

// nextToken returns the place of the first byte from i on that is no space.
func nextToken(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// nextItem returns where the item behind a comma begins, or where the closing
// bracket is.
func nextItem(data []byte, i int) int {
	i = nextToken(data, i)
	if i < len(data) && data[i] == ',' {
		i = nextToken(data, i+1)
	}
	return i
}

// stringEnd returns the place behind the string that begins at i.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0 // an odd number of them escapes the quote
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(data)
}

// valueEnd returns the place behind the value that begins at i.
func valueEnd(data []byte, i int) int {
	level := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
		case '{', '[':
			level++
			i++
		case '}', ']':
			level--
			i++
		case ',', ':':
			i++
		default:
			i = scalarEnd(data, i)
		}
		if level == 0 {
			return i
		}
	}
	return i
}

// scalarEnd returns the place behind the spaces, number, true, false or null
// that begin at i.
func scalarEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r', '"', '{', '[', ':':
			return i
		}
	}
	return i
}

// text returns what a JSON string says. A lone surrogate becomes U+FFFD.
func text(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil { // it is valid JSON
		panic("exact: " + err.Error())
	}
	return s
}
