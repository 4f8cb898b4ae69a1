package chat

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"iris-gateway/cmd/iris/internal/terminal"
)

// screen writes lines, of which the last may still be growing. On a terminal
// it breaks them between words, and can hold a hint below them, which gives
// way to whatever comes next: the prompt, or what the agent is doing.
type screen struct {
	out   io.Writer
	style terminal.Style
	live  bool       // out is a terminal: hints can be taken back
	width func() int // columns, 0 when unknown

	open    bool    // the last line has no newline yet
	wrapped wrapper // of what grows
	hint    string  // what stands there, "" for nothing
}

// line writes a whole line as it is.
func (s *screen) line(text string) {
	s.fresh()
	fmt.Fprintln(s.out, text)
}

// block writes a whole text behind a mark.
func (s *screen) block(mark, text string, markStyle, textStyle func(string) string) {
	if s.live {
		text = strings.TrimPrefix(wrap(mark+text, s.width()), mark)
	}
	s.line(markStyle(mark) + textStyle(text))
}

// begin starts a growing line with a mark.
func (s *screen) begin(mark string, style func(string) string) {
	s.fresh()
	s.wrapped.reset()
	if s.wraps() {
		s.wrapped.add(mark, s.width()) // all marks end with a space: nothing is held back
	}
	fmt.Fprint(s.out, style(mark))
	s.open = true
}

// grow adds to the growing line, which may become several.
func (s *screen) grow(text string) {
	if s.wraps() {
		text = s.wrapped.add(text, s.width())
	}
	fmt.Fprint(s.out, text)
}

// wraps reports whether this screen breaks lines itself.
func (s *screen) wraps() bool { return s.live && s.width() > 0 }

// fresh brings the cursor to the beginning of an empty line.
func (s *screen) fresh() {
	s.clear()
	if s.open {
		if s.wraps() {
			fmt.Fprint(s.out, s.wrapped.rest(s.width()))
		}
		fmt.Fprintln(s.out)
		s.open = false
	}
}

// unwrite takes the growing line back, if it is certain where it began.
func (s *screen) unwrite() bool {
	rows := s.wrapped.lines
	if !s.open || !s.wraps() || !s.style.Colour || s.wrapped.wide || rows > 15 {
		return false
	}
	if rows > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA", rows)
	}
	fmt.Fprint(s.out, "\r\x1b[J")
	s.open = false
	return true
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
	fmt.Fprint(s.out, style(cut(text, s.columns()-1)))
	s.hint = text
}

// entered tells the screen that a person has pressed Enter: whatever line the
// cursor was on, it is on the next one now.
func (s *screen) entered() {
	s.hint = ""
	s.wrapped.column = 0
	s.wrapped.wide = true // nobody knows any more where it began
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

// cut shortens a text to n characters.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	r := []rune(text)
	return string(r[:max(0, n-1)]) + "…"
}

// plain is the style of text that has none.
func plain(text string) string { return text }
