package terminal_test

import (
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"iris-gateway/cmd/iris/internal/terminal"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "Grüße, 你好 🌈\n\tend", "Grüße, 你好 🌈\n\tend"},
		{"colour", "a\x1b[31mred\x1b[0m", "ared"},
		{"window title", "a\x1b]0;owned\ab", "ab"},
		{"string ended by ST", "a\x1b]8;;http://x\x1b\\link", "alink"},
		{"unfinished string keeps the next line", "a\x1b]0;never\nb", "a\nb"},
		{"clear screen, C1", "a\u009b2Jb", "ab"},
		{"charset", "a\x1b(0b", "ab"},
		{"cursor, bell, backspace", "a\x1bM\a\bb\r\n", "ab\n"},
		{"right to left", "a\u202Eb\u2066c", "abc"},
		{"cut in the middle", "a\x1b[3", "a"},
		{"invalid UTF-8", "a\xffb", "ab"},
	}
	for _, tt := range tests {
		if got := terminal.Clean(tt.in); got != tt.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestCleanLine(t *testing.T) {
	if got := terminal.CleanLine(" a\n\x1b[2J b\tc "); got != "a b c" {
		t.Errorf("CleanLine = %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31mred\x1b]0;x\ab\x9b2J", 3)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		clean := terminal.Clean(text)
		for _, r := range clean {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q keeps %U", text, r)
			}
		}
		// Streaming: what was printed stays right.
		if cut < 0 || cut > len(text) || cut < len(text) && !utf8.RuneStart(text[cut]) {
			return
		}
		if part := terminal.Clean(text[:cut]); !strings.HasPrefix(clean, part) {
			t.Fatalf("Clean(%q) = %q does not begin with Clean(%q) = %q", text, clean, text[:cut], part)
		}
	})
}

func TestQR(t *testing.T) {
	for _, colour := range []bool{false, true} {
		code, err := terminal.Style{Colour: colour}.QR("iris://pair?url=wss%3A%2F%2Firis.example.org%2Fws&token=x")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(code.Text, "\x1b") != colour {
			t.Errorf("colour %v: %q", colour, code.Text[:20])
		}
		lines := strings.Split(strings.TrimSuffix(code.Text, "\n"), "\n")
		ink := lines[len(lines)-code.Rows:]
		if above := lines[:len(lines)-code.Rows]; len(above) != 2 || above[0] != above[1] || ink[0] == above[0] {
			t.Errorf("colour %v: %d of %d lines must be seen, above are %q", colour, code.Rows, len(lines), above)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(terminal.Clean(line)); n != code.Columns {
				t.Errorf("colour %v: a line of %d columns, want %d", colour, n, code.Columns)
			}
		}
	}
}

// What is no terminal has no size, no colours, and nothing can be taken back
// there; a dumb terminal is one, and still cannot.
func TestMoves(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	var out strings.Builder
	if columns, rows := terminal.Size(&out); terminal.Moves(&out) || terminal.StyleFor(&out).Colour || columns != 0 || rows != 0 {
		t.Errorf("a buffer moves: %v, has %d columns and %d rows", terminal.Moves(&out), columns, rows)
	}
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	defer tty.Close()
	if !terminal.Is(tty) {
		t.Skip("this system's pseudo-terminals are none on this side")
	}
	if !terminal.Moves(tty) || !terminal.StyleFor(tty).Colour {
		t.Error("a terminal does not move")
	}
	t.Setenv("NO_COLOR", "1")
	if !terminal.Moves(tty) || terminal.StyleFor(tty).Colour {
		t.Error("a terminal without colours does not move, or has some")
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if terminal.Moves(tty) || terminal.StyleFor(tty).Colour || !terminal.Is(tty) {
		t.Error("a dumb terminal moves, or is none")
	}
}
