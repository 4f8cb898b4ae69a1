package terminal

import (
	"strings"

	"rsc.io/qr"
)

// quiet is the light margin that a scanner needs around the code.
const quiet = 4

// Code is a QR code as it is drawn.
type Code struct {
	Text    string
	Columns int // that it takes
	Rows    int // of it that must be seen: all but the margin above
}

// QR draws a code that holds text, two rows of it in each line. With colours
// it is black on white whatever the terminal's own colours are; without, it is
// right on a dark background, which most scanners take the other way round too.
func (s Style) QR(text string) (Code, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return Code{}, err
	}
	ink := func(x, y int) bool { return code.Black(x, y) } // false outside
	if !s.Colour {
		ink = func(x, y int) bool { return !code.Black(x, y) }
	}
	blocks := map[[2]bool]string{
		{false, false}: " ", {true, false}: "▀", {false, true}: "▄", {true, true}: "█",
	}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		var line strings.Builder
		for x := -quiet; x < code.Size+quiet; x++ {
			line.WriteString(blocks[[2]bool{ink(x, y), ink(x, y+1)}])
		}
		b.WriteString(s.wrap("30;107", line.String()))
		b.WriteByte('\n')
	}
	return Code{Text: b.String(), Columns: code.Size + 2*quiet, Rows: (code.Size + quiet + 1) / 2}, nil
}
