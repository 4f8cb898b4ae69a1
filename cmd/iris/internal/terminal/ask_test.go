package terminal_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"iris-gateway/cmd/iris/internal/terminal"
)

func TestConfirm(t *testing.T) {
	for in, want := range map[string]bool{"y\n": true, " YES \n": true, "n\n": false, "\n": false, "": false, "yeah\n": false, "y": true} {
		var out strings.Builder
		if got, err := terminal.Confirm(t.Context(), strings.NewReader(in), &out, "Do it?"); got != want || err != nil {
			t.Errorf("%q: %v, %v", in, got, err)
		}
		// A person ends the line of the question; at the end of the input nobody does.
		if strings.HasSuffix(out.String(), "\n") == strings.HasSuffix(in, "\n") {
			t.Errorf("%q: asked with %q", in, out.String())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, typing := io.Pipe()
	defer typing.Close()
	if got, err := terminal.Confirm(ctx, in, io.Discard, "Do it?"); got || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v, %v", got, err)
	}
}
