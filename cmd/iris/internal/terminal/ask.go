package terminal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Confirm asks a question and reports whether the answer is yes. Anything but a
// clear yes is no.
func Confirm(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question+" [y/N] ")
	line, _ := bufio.NewReader(in).ReadString('\n') // what came before an error counts
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

// Secret asks for something that must not be seen on the screen. in must be a
// terminal.
func Secret(in io.Reader, out io.Writer, question string) (string, error) {
	f, ok := in.(*os.File)
	if !ok {
		return "", os.ErrInvalid
	}
	fmt.Fprint(out, question+" (it is not shown): ")
	secret, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(out)
	return strings.TrimSpace(string(secret)), err
}
