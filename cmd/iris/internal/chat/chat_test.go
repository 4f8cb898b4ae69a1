package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iris-gateway/cmd/iris/internal/agent"
	"iris-gateway/cmd/iris/internal/chat"
	"iris-gateway/cmd/iris/internal/device"
	"iris-gateway/cmd/iris/internal/gatewaytest"
	"iris-gateway/handlers/wire"
	"iris-gateway/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// serve runs the built-in agent and waits until the gateway has it.
func serve(t *testing.T, g *gatewaytest.Gateway) {
	t.Helper()
	attached := make(chan struct{}, 100)
	a := agent.New(agent.Config{
		URL: "ws://" + g.Addr + "/host", Token: g.HostToken, Log: testenv.Logger(t, testenv.CommandLine),
		Attached: func() { attached <- struct{}{} }, MinRetry: time.Millisecond, MaxRetry: 20 * time.Millisecond,
		Pace: time.Millisecond, // a host tells milliseconds: in one of them messages have no order
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-attached:
	case <-time.After(patience):
		t.Fatal("agent not attached")
	}
}

func config(g *gatewaytest.Gateway, id string) device.Config {
	return device.Config{
		URL: "ws://" + g.Addr + "/ws", Token: g.Pair(), DeviceID: id, DeviceName: id,
		MinRetry: time.Millisecond, MaxRetry: 20 * time.Millisecond,
	}
}

// run chats with input as what comes through the pipe.
func run(t *testing.T, opts chat.Options, input string) (out string, err error) {
	t.Helper()
	var b bytes.Buffer
	opts.In, opts.Out, opts.Wait = strings.NewReader(input), &b, patience
	err = chat.Run(t.Context(), opts)
	return b.String(), err
}

func TestPipe(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	out, err := run(t, chat.Options{Device: config(g, "d1")}, "hello\n\nweather in Oslo\n/status")
	if err != nil {
		t.Fatal(err)
	}
	// In this order, whatever stands between.
	rest := out
	for _, want := range []string{
		"› hello ✓✓\n● Hello! I am the small agent", "  thought: A greeting", "  built-in · ", " tokens", "\n\n",
		"› weather in Oslo ✓✓\n● Let me look out of the window.\n⚙ weather: Oslo ✓ 0.0s\n● In **Oslo** it is ",
		"\n\n› /status ✓✓\n▪ The built-in agent", "so far: 2.\n",
	} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("no %q in\n%s\nof\n%s", want, rest, out)
		}
		rest = after
	}

	// A second terminal sees it as history, and nothing else.
	out, err = run(t, chat.Options{Device: config(g, "d2"), History: 20}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"› hello\n● Hello!", "◦ Let me look out of the window.\n", "▪ The built-in agent"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%q stands %d times in\n%s", want, strings.Count(out, want), out)
		}
	}
	if strings.Contains(out, "⚙") {
		t.Errorf("old tools were replayed:\n%s", out)
	}
}

// Search finds what was said, in any channel, and says so when there is
// nothing; the gateway's agent gets none of it.
func TestSearch(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	var notes bytes.Buffer
	out, err := run(t, chat.Options{Device: config(g, "d1"), Notes: &notes}, "weather in Oslo\n/search osló wéath\n/search\n/search hippopotamus")
	if err != nil {
		t.Fatal(err)
	}
	_, found, ok := strings.Cut(out, "[Default] user: weather in Oslo\n")
	if !ok || strings.Count(out, "[Default] user: ") != 1 || strings.Contains(found, "●") {
		t.Errorf("search shows\n%s", out)
	}
	for _, want := range []string{"/search WORDS", "nothing found"} {
		if strings.Count(notes.String(), want) != 1 {
			t.Errorf("no %q in %q", want, notes.String())
		}
	}
}

// What is deleted is gone for other terminals, too; a whole chat is deleted by its
// name only.
func TestDelete(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	var notes bytes.Buffer
	out, err := run(t, chat.Options{Device: config(g, "d1"), Notes: &notes}, "hello\n/status\n/delete 2\n/delete all\n/delete all Else\n/delete all Default")
	if err == nil {
		t.Error("the default channel was deleted")
	}
	if strings.Count(out, "(2 messages above were deleted)") != 1 {
		t.Errorf("the chat shows\n%s", out)
	}
	if strings.Count(notes.String(), "/delete NUMBER") != 2 || !strings.Contains(notes.String(), "default channel, which cannot be deleted") {
		t.Errorf("notes: %s", notes.String())
	}
	out, err = run(t, chat.Options{Device: config(g, "d2"), History: 20}, "")
	if err != nil || !strings.Contains(out, "› hello") || strings.Contains(out, "/status") || strings.Contains(out, "▪") {
		t.Errorf("another terminal sees %v\n%s", err, out)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	out, err := run(t, chat.Options{Device: config(g, "d1"), JSON: true}, "hello")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(out) {
		var f struct {
			Type    string          `json:"type"`
			Payload json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Type == "" {
			t.Fatalf("line %q: %v", line, err)
		}
		seen[f.Type]++
	}
	for _, want := range []string{"client", "message", "read.receipt", "message.stop", "agent.idle"} {
		if seen[want] == 0 {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	cfg := config(g, "d1")
	cfg.Token = "wrong"
	_, err := run(t, chat.Options{Device: cfg}, "hello")
	var closed *device.CloseError
	if !errors.As(err, &closed) || closed.Code != wire.CloseAuth {
		t.Errorf("Run = %v", err)
	}
}

// The host is away: the message is kept, the wait for an answer has an end.
func TestHostAway(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	var out, notes bytes.Buffer
	err := chat.Run(t.Context(), chat.Options{
		Device: config(g, "d1"), In: strings.NewReader("anybody?"), Out: &out, Notes: &notes, Wait: 5 * time.Second,
	})
	if err == nil || !strings.Contains(err.Error(), "no complete answer") {
		t.Errorf("Run = %v", err)
	}
	for _, want := range []string{"the host is away: messages wait for it", "the gateway keeps the message for it"} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("no %q in %q", want, notes.String())
		}
	}
}

// In a terminal the chat says how it is with the connection, and ends with /quit.
func TestInteractive(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	typing, out, quit := interactive(t, g)
	out.await(t, "· connected\n")
	out.await(t, "› ")
	enter(t, typing, "hello")
	out.await(t, "✓✓")
	out.await(t, "built-in · ")
	out.await(t, "\x1b[K› ")
	g.Restart()
	out.await(t, "· the gateway restarts\n")
	out.await(t, "· connected") // the host may be there already, or not yet
	out.await(t, "› ")
	enter(t, typing, "thanks")
	out.await(t, "● With pleasure.")
	quit()
}

// interactive chats in a terminal: what is typed, what is seen, and how to end it.
func interactive(t *testing.T, g *gatewaytest.Gateway) (typing io.Writer, out *watched, quit func()) {
	t.Helper()
	in, keys := io.Pipe()
	t.Cleanup(func() { keys.Close() })
	out = &watched{changed: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() {
		done <- chat.Run(t.Context(), chat.Options{
			Device: config(g, "d1"), In: in, Interactive: true, Out: out, Live: true, Width: func() int { return 80 },
		})
	}()
	return keys, out, func() {
		t.Helper()
		enter(t, keys, "/quit")
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("/quit does not end the chat")
		}
	}
}

func enter(t *testing.T, typing io.Writer, line string) {
	t.Helper()
	if _, err := io.WriteString(typing, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// watched is a screen that a test looks at.
type watched struct {
	mu      sync.Mutex
	text    string
	changed chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += string(p)
	select {
	case w.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

// await waits for a text, and forgets everything up to it.
func (w *watched) await(t *testing.T, want string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		w.mu.Lock()
		_, after, ok := strings.Cut(w.text, want)
		if ok {
			w.text = after
		}
		text := w.text
		w.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-w.changed:
		case <-deadline:
			t.Fatalf("no %q on the screen, only %q", want, text)
		}
	}
}
