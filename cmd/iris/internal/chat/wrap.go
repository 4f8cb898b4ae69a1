package chat

import (
	"strings"
	"unicode"
)

// wrapper breaks lines between words, while text is still coming. It holds a
// word back until it is whole.
type wrapper struct {
	column int    // where the next character goes
	lines  int    // newlines written since reset
	word   []rune // held back
	wide   bool   // there was a character whose width is a guess
}

// reset begins a new line.
func (w *wrapper) reset() { *w = wrapper{} }

// add returns what can be written of text on a screen of the given width.
func (w *wrapper) add(text string, width int) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			w.flush(&out, width)
			out.WriteByte('\n')
			w.lines++
			w.column = 0
		case r == ' ' || r == '\t':
			w.flush(&out, width)
			if n := columns(r); w.column+n <= width {
				out.WriteRune(r)
				w.column += n
			} // else the line breaks here anyway
		case columns(r) == 2: // these break anywhere
			w.flush(&out, width)
			w.word = append(w.word, r)
			w.flush(&out, width)
		default:
			w.word = append(w.word, r)
		}
		w.wide = w.wide || r == '\t' || !certain(r)
	}
	return out.String()
}

// rest returns the word that was held back.
func (w *wrapper) rest(width int) string {
	var out strings.Builder
	w.flush(&out, width)
	return out.String()
}

// flush writes the word, on the next line if it does not fit on this one.
func (w *wrapper) flush(out *strings.Builder, width int) {
	n := 0
	for _, r := range w.word {
		n += columns(r)
	}
	if w.column > 0 && w.column+n > width && n <= width {
		out.WriteByte('\n')
		w.lines++
		w.column = 0
	}
	for _, r := range w.word {
		if w.column+columns(r) > width { // longer than a line, such as a URL: the terminal breaks it
			w.lines++
			w.column = 0
		}
		out.WriteRune(r)
		w.column += columns(r)
	}
	w.word = w.word[:0]
}

// columns guesses how wide a terminal draws a character.
func columns(r rune) int {
	switch {
	case r == '\t':
		return 4
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff,
		r >= 0x20000 && r <= 0x3fffd:
		return 2
	default:
		return 1
	}
}

// certain reports whether every terminal draws a character one column wide.
func certain(r rune) bool {
	return r < 0x300 || strings.ContainsRune("●◦›▪·…“”‘’–—✓", r)
}

// simple reports whether that holds for all of a text.
func simple(text string) bool {
	for _, r := range text {
		if !certain(r) || r == '\t' {
			return false
		}
	}
	return true
}

// wrap breaks a whole text.
func wrap(text string, width int) string {
	if width <= 0 {
		return text
	}
	var w wrapper
	return w.add(text, width) + w.rest(width)
}
