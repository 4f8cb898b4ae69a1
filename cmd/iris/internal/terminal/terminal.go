// Package terminal knows what a terminal can show: colours, QR codes, and
// text from outside that must not reach it as it is.
package terminal

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Style colours text, or leaves it alone.
type Style struct{ Colour bool }

// StyleFor returns the style for what is written to w: colours only on a
// terminal, and never against NO_COLOR (https://no-color.org).
func StyleFor(w io.Writer) Style {
	return Style{Colour: Moves(w) && os.Getenv("NO_COLOR") == ""}
}

// Is reports whether a reader or writer is a terminal.
func Is(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Moves reports whether w is a terminal that can go back to what it has
// written: a dumb one cannot.
func Moves(w any) bool { return Is(w) && os.Getenv("TERM") != "dumb" }

// Size returns how many columns and rows w has, 0 when it is no terminal.
func Size(w any) (columns, rows int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// Width returns how many columns w has, 0 when it is no terminal.
func Width(w any) int {
	columns, _ := Size(w)
	return columns
}

func (s Style) wrap(code, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Dim is for what is beside the point.
func (s Style) Dim(text string) string { return s.wrap("2", text) }

// Bold is for what must be found.
func (s Style) Bold(text string) string { return s.wrap("1", text) }

// Good, Bad and Accent are green, red and cyan.
func (s Style) Good(text string) string   { return s.wrap("32", text) }
func (s Style) Bad(text string) string    { return s.wrap("31", text) }
func (s Style) Accent(text string) string { return s.wrap("36", text) }

// Clean makes text from outside safe to print: escape sequences and control
// characters other than newline and tab are gone, and so are the marks that
// turn the writing direction around. The clean form of a longer text begins
// with that of a shorter one, so that text can be cleaned while it streams.
func Clean(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	var esc escape
	for _, r := range text {
		if esc.swallows(r) || r == unicode.ReplacementChar {
			continue
		}
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// CleanLine is Clean for what must stay on one line.
func CleanLine(text string) string {
	return strings.Join(strings.Fields(Clean(text)), " ")
}

// escape follows terminal escape sequences through a text.
type escape int

const (
	plain   escape = iota
	began          // after ESC
	control        // in a CSI sequence: ends with a letter
	stringy        // in an OSC, DCS, APC, PM or SOS string: ends with BEL or ESC \
)

// swallows reports whether r belongs to an escape sequence.
func (e *escape) swallows(r rune) bool {
	switch {
	case r == 0x1b:
		*e = began
	case r == 0x9b:
		*e = control
	case r == 0x90 || r == 0x98 || r == 0x9d || r == 0x9e || r == 0x9f:
		*e = stringy
	case *e == began && r == '[':
		*e = control
	case *e == began && strings.ContainsRune("]PX^_", r):
		*e = stringy
	case *e == began:
		// ESC, intermediates, one final byte.
		if r < 0x20 || r > 0x2f {
			*e = plain
		}
	case *e == control:
		if r < 0x20 || r > 0x3f {
			*e = plain
		}
	case *e == stringy:
		// No string of a friend spans lines: an unfinished one must not
		// swallow the rest of the text.
		if r == '\a' || r == 0x9c {
			*e = plain
		} else if r == '\n' {
			*e = plain
			return false
		}
	default:
		return false
	}
	return true
}
