package chat

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"iris-gateway/cmd/iris/internal/terminal"
)

// screen writes lines, of which the last may still be growing. On a terminal
// it can also hold a hint below them, which gives way to whatever comes next:
// the prompt, or what the agent is doing.
type screen struct {
	out   io.Writer
	style terminal.Style
	live  bool       // out is a terminal: hints can be taken back
	width func() int // columns, 0 when unknown

	open bool   // the last line has no newline yet
	hint string // what stands there, "" for nothing
}

// line writes a whole line.
func (s *screen) line(text string) {
	s.fresh()
	fmt.Fprintln(s.out, text)
}

// grow adds to the growing line.
func (s *screen) grow(text string) {
	if text == "" {
		return
	}
	s.clear()
	fmt.Fprint(s.out, text)
	s.open = !strings.HasSuffix(text, "\n")
}

// fresh brings the cursor to the beginning of an empty line.
func (s *screen) fresh() {
	s.clear()
	if s.open {
		fmt.Fprintln(s.out)
		s.open = false
	}
}

// clear takes the hint away.
func (s *screen) clear() {
	if s.hint != "" {
		fmt.Fprint(s.out, "\r\x1b[K")
		s.hint = ""
	}
}

// show puts up a hint, in style, unless a line is growing.
func (s *screen) show(text string, style func(string) string) {
	if !s.live || s.open || text == s.hint {
		return
	}
	s.clear()
	if w := s.width(); w > 0 {
		text = cut(text, w-1)
	}
	fmt.Fprint(s.out, style(text))
	s.hint = text
}

// entered tells the screen that a person has pressed Enter: whatever line the
// cursor was on, it is on the next one now.
func (s *screen) entered() {
	s.hint = ""
	s.open = false
}

// above writes a mark behind the line above the cursor, at the given column.
func (s *screen) above(column int, mark string) {
	fmt.Fprintf(s.out, "\x1b7\x1b[1A\x1b[%dG%s\x1b8", column, mark)
}

// columns is how wide a line should be at most.
func (s *screen) columns() int {
	if w := s.width(); w > 0 {
		return max(w, 30)
	}
	return 100
}

// rows is how many lines of the terminal a text takes, 0 when that is not
// certain: nobody knows how wide a terminal draws all of Unicode.
func (s *screen) rows(text string) int {
	w := s.width()
	if w <= 0 || !simple(text) {
		return 0
	}
	rows := 0
	for line := range strings.SplitSeq(text, "\n") {
		rows += max(1, (utf8.RuneCountInString(line)+w-1)/w)
	}
	return rows
}

// simple reports whether every character takes exactly one column.
func simple(text string) bool {
	for _, r := range text {
		if r >= 0x300 && !strings.ContainsRune("●◦›·…“”‘’–—", r) || r == '\t' {
			return false
		}
	}
	return true
}

// cut shortens a text to n characters.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	r := []rune(text)
	return string(r[:max(0, n-1)]) + "…"
}
