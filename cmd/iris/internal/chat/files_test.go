package chat_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iris-gateway/cmd/iris/internal/chat"
	"iris-gateway/cmd/iris/internal/gatewaytest"
)

// A file goes to the agent, and what the agent paints is saved.
func TestFiles(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	dir := t.TempDir()
	sent := filepath.Join(dir, "my notes 🐢.bin")
	data := make([]byte, 300_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	if err := os.WriteFile(sent, data, 0o600); err != nil {
		t.Fatal(err)
	}
	opts := chat.Options{Device: config(g, "d1")}
	out, err := run(t, opts, fmt.Sprintf("/send %s\npaint me a picture\nthank you\n/save 1 %s\n/save 1 %s\n/save 9\n", sent, dir, dir))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"📎 my notes 🐢.bin", "300000 bytes", "image/png", "/save 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	pictures, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil || len(pictures) != 2 {
		t.Fatalf("saved: %v, %v; the chat:\n%s", pictures, err, out)
	}
	for _, p := range pictures {
		b, err := os.ReadFile(p)
		if err != nil || !bytes.HasPrefix(b, []byte("\x89PNG")) {
			t.Errorf("%s: %v, begins with %.8q", p, err, b)
		}
	}

	// From the history of another terminal the file comes back as it was.
	opts = chat.Options{Device: config(g, "d2"), History: 20}
	out, err = run(t, opts, "/save 1 "+filepath.Join(dir, "back.bin")+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if back, err := os.ReadFile(filepath.Join(dir, "back.bin")); err != nil || !bytes.Equal(back, data) {
		t.Errorf("%v, %d bytes; the chat:\n%s", err, len(back), out)
	}
	for _, wrong := range []string{"/send " + filepath.Join(dir, "none"), "/send " + dir} {
		if out, err := run(t, chat.Options{Device: config(g, "d3")}, wrong+"\n"); err == nil {
			t.Errorf("%s: no error:\n%s", wrong, out)
		}
	}
}
