package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Confirm asks a question and reports whether the answer is yes. Anything but a
// clear yes is no. It fails only with ctx's error.
func Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprint(out, question+" [y/N] ")
	line, err := interruptible(ctx, func() (string, error) {
		line, _ := bufio.NewReader(in).ReadString('\n') // what came before an error counts
		return line, nil
	})
	if err == nil && !strings.HasSuffix(line, "\n") {
		fmt.Fprintln(out) // nobody has ended the line
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, err
	}
	return false, err
}

// Secret asks for something that must not be seen on the screen. in must be a
// terminal.
func Secret(ctx context.Context, in io.Reader, out io.Writer, question string) (string, error) {
	f, ok := in.(*os.File)
	if !ok {
		return "", os.ErrInvalid
	}
	before, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", err
	}
	fmt.Fprint(out, question+" (it is not shown): ")
	secret, err := interruptible(ctx, func() (string, error) {
		secret, err := term.ReadPassword(int(f.Fd()))
		return string(secret), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(int(f.Fd()), before) // or the shell shows nothing that is typed
	}
	if ctx.Err() == nil {
		fmt.Fprintln(out)
	}
	return strings.TrimSpace(secret), err
}

// interruptible waits for a read or for the end of ctx: Ctrl-C is caught, so it
// does not end a read, whose goroutine then ends with the process.
func interruptible(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
