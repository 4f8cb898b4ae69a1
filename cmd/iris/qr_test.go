package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"iris-gateway/cmd/iris/internal/terminal"
)

// A code that a window cannot show is said to be of no use there; what else to
// do is said too.
func TestCodeInSmallWindow(t *testing.T) {
	t.Parallel()
	code, err := terminal.Style{}.QR("iris://pair?url=wss%3A%2F%2Firis-123456789012.europe-west1.run.app%2Fws&token=" + strings.Repeat("x", 43))
	if err != nil {
		t.Fatal(err)
	}
	wide := func(columns int) string {
		return fmt.Sprintf("This window has %d columns and the QR code needs %d: make it wider", columns, code.Columns)
	}
	const below = 1
	high := func(rows int) string {
		return fmt.Sprintf("This window has %d lines and the QR code needs %d: make it higher", rows, code.Rows+below)
	}
	for _, tt := range []struct {
		columns, rows int
		drawn         bool
		said          string // "" = nothing
	}{
		{0, 0, true, ""}, // no window
		{80, 24, true, ""},
		{code.Columns, code.Rows + below, true, ""},
		{code.Columns - 1, 24, false, wide(code.Columns - 1)},
		{40, 10, false, wide(40)},
		{80, code.Rows, true, high(code.Rows)},
	} {
		var out bytes.Buffer
		drawCode(&out, code, tt.columns, tt.rows, below)
		rest, drawn := strings.CutPrefix(out.String(), code.Text)
		if drawn != tt.drawn || !strings.HasPrefix(rest, tt.said) || (rest == "") != (tt.said == "") {
			t.Errorf("%d columns, %d rows: drawn %v, said %q, want %v and %q", tt.columns, tt.rows, drawn, rest, tt.drawn, tt.said)
		}
		if tt.said != "" && !strings.Contains(rest, "give the device the URL above") {
			t.Errorf("%d columns, %d rows: no way out in %q", tt.columns, tt.rows, rest)
		}
	}
}
