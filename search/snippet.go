package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes of a snippet, in characters.
const (
	snippetBefore = 40
	snippetLength = 160
)

// Snippet returns the part of a text around what the query finds in it, on one
// line. An ellipsis stands for what was cut off.
func (q Query) Snippet(text string) string {
	text = compose(text)
	at, _ := q.find(text)
	from := back(text, at, snippetBefore)
	to := forward(text, from, snippetLength)
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	b.WriteString(oneLine(text[from:to]))
	if strings.TrimSpace(text[to:]) != "" {
		b.WriteString("…")
	}
	return b.String()
}

// back returns the beginning of a word up to n characters in front of at; of
// what has no spaces, the place n characters in front of it.
func back(text string, at, n int) int {
	from, word := at, -1
	for n > 0 && from > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:from])
		if unicode.IsSpace(r) {
			word = from
		}
		from -= size
		if !unicode.IsMark(r) {
			n--
		}
	}
	if from > 0 && word >= 0 {
		return word
	}
	return from
}

// forward returns the end of the last word within n characters behind from.
func forward(text string, from, n int) int {
	word := -1
	for i, r := range text[from:] {
		if unicode.IsSpace(r) {
			word = from + i
		}
		if unicode.IsMark(r) {
			continue
		}
		if n--; n >= 0 {
			continue
		}
		if word > from+i/2 { // else one word is most of it
			return word
		}
		return from + i
	}
	return len(text)
}

// oneLine replaces all white space by single spaces, and drops controls.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
