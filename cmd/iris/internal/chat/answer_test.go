package chat_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"iris-gateway/cmd/iris/internal/chat"
	"iris-gateway/cmd/iris/internal/gatewaytest"
)

// Through a pipe, the line after a question is its answer.
func TestPipeAnswers(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	out, err := run(t, chat.Options{Device: config(g, "d1"), Quiet: 200 * time.Millisecond},
		"dinner\n2\ndinner\nRice with beans\ndelete it\ndeny\n/model\n3\n/undo\ncancel\nhello")
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	rest := out
	for _, want := range []string{
		"? What shall I pretend to cook?", "   2  Pasta", "✓ Pasta", "**Pasta** it is",
		"✓ Rice with beans", "**Rice with beans** it is",
		"? May this run?\n  rm -rf /tmp/pretended", "✓ Deny", "Then I leave it",
		"? Which model?", "built-in  Iris, current", "✓ very-large", "pretend to be dream/very-large",
		"? /undo", "✓ Cancel", "Nothing was undone", "● Hello!",
	} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("no %q in\n%s\nof\n%s", want, rest, out)
		}
		rest = after
	}
}

// A number that no answer has is refused, and the question goes on waiting.
func TestPipeWrongNumber(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	out, err := run(t, chat.Options{Device: config(g, "d1")}, "delete it\n9\n4")
	if err == nil || !strings.Contains(out, "✓ Deny") || !strings.Contains(out, "Then I leave it") {
		t.Errorf("%v in\n%s", err, out)
	}
}

func TestPipeNobodyAnswers(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	err := chat.Run(t.Context(), chat.Options{
		Device: config(g, "d1"), In: strings.NewReader("dinner"), Out: io.Discard, Wait: time.Second,
	})
	if err == nil || !strings.Contains(err.Error(), `nobody has answered "What shall I pretend to cook?"`) {
		t.Errorf("Run = %v", err)
	}
}

// /stop is for the gateway, not for the agent to read; and a person can go to
// another lane, where the message then goes.
func TestStopAndGo(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	typing, out, quit := interactive(t, g)
	out.await(t, "› ")
	enter(t, typing, "/stop")
	out.await(t, "nothing is running")
	enter(t, typing, "dinner")
	out.await(t, "type a number")
	out.await(t, "? ")
	enter(t, typing, "/stop")
	out.await(t, "closed without an answer")
	out.await(t, "› ")
	enter(t, typing, "/go nowhere")
	out.await(t, `there is no channel or thread "nowhere"`)
	out.await(t, "/go NAME: Default")
	quit()
}

// What follows from the answer to a menu is waited for, at the end of the input too.
func TestPipeEndsWithMenu(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	for range 5 {
		out, err := run(t, chat.Options{Device: config(g, "d1"), Quiet: 200 * time.Millisecond}, "/reasoning\nhard")
		if err != nil || !strings.Contains(out, "▪ Thinking: high.") {
			t.Fatalf("%v in\n%s", err, out)
		}
	}
}
