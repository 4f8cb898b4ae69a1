package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// lines passes on the line that is a pairing URL.
type lines struct {
	b     bytes.Buffer
	found chan string
}

func (l *lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if strings.HasPrefix(line, "iris://") {
			l.found <- strings.TrimSpace(line)
		}
	}
	return l.b.Write(p)
}

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}
