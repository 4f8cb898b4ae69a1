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
		if got, err := terminal.Confirm(t.Context(), strings.NewReader(in), io.Discard, "Do it?"); got != want || err != nil {
			t.Errorf("%q: %v, %v", in, got, err)
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
