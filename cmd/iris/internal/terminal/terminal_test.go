package terminal_test

import (
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
		if strings.Contains(code, "\x1b") != colour {
			t.Errorf("colour %v: %q", colour, code[:20])
		}
		if n := strings.Count(code, "\n"); n < 15 || n > 40 {
			t.Errorf("%d lines", n)
		}
	}
}
