package main

import (
	"fmt"
	"io"

	"iris-gateway/cmd/iris/internal/terminal"
)

// showCode draws the QR code of a pairing. Its URL and all that is to be read
// stand above, so that a window of 24 lines shows the whole code; below are how
// many lines follow, with that of the cursor.
func showCode(w io.Writer, url string, below int) error {
	code, err := terminal.StyleFor(w).QR(url)
	if err != nil {
		return fmt.Errorf("QR code: %w", err)
	}
	columns, rows := terminal.Size(w)
	drawCode(w, code, columns, rows, below)
	return nil
}

// drawCode draws a code into a window of so many columns and rows, 0 when it is
// none, and says so when it cannot be read there. Broken over lines it is only
// noise, so then it is left out.
func drawCode(w io.Writer, code terminal.Code, columns, rows, below int) {
	const todo = "and try again, or give the device the URL above.\n"
	if columns > 0 && columns < code.Columns {
		fmt.Fprintf(w, "This window has %d columns and the QR code needs %d: make it wider "+todo, columns, code.Columns)
		return
	}
	fmt.Fprint(w, code.Text)
	if need := code.Rows + below; rows > 0 && rows < need {
		fmt.Fprintf(w, "This window has %d lines and the QR code needs %d: make it higher "+todo, rows, need)
	}
}
