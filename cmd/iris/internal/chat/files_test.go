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

// Whatever a file is called, it is saved in the folder that was named, to be seen,
// and as often as it is asked for.
func TestFileNames(t *testing.T) {
	t.Parallel()
	g := gatewaytest.Start(t)
	serve(t, g)
	from, to := t.TempDir(), t.TempDir()
	long := strings.Repeat("長", 83) + "a.jpeg" // 255 bytes
	names := map[string][]string{              // what each is called when it is saved twice
		".profile":                      {"profile", "profile (2)"},
		"Nul.tar.gz":                    {"_Nul.tar.gz", "_Nul.tar (2).gz"},
		"console.txt":                   {"console.txt", "console (2).txt"},
		"photo\u202egnp.exe":            {"photognp.exe", "photognp (2).exe"},
		`..\..\boot.ini`:                {"boot.ini", "boot (2).ini"},
		"写真 🐢 \"x\" 'y'.png":            {"写真 🐢 \"x\" 'y'.png", "写真 🐢 \"x\" 'y' (2).png"},
		long:                            {long, strings.Repeat("長", 82) + " (2).jpeg"},
		"x." + strings.Repeat("e", 253): {"x." + strings.Repeat("e", 253), "x." + strings.Repeat("e", 249) + " (2)"},
	}
	var send strings.Builder
	for name := range names {
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&send, "/send %s\n", filepath.Join(from, name))
	}
	if out, err := run(t, chat.Options{Device: config(g, "d1")}, send.String()); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var save strings.Builder
	for n := range len(names) {
		fmt.Fprintf(&save, "/save %d %s\n/save %d %s\n", n+1, to, n+1, to)
	}
	if out, err := run(t, chat.Options{Device: config(g, "d2"), History: 50}, save.String()); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	saved := 0
	for name, want := range names {
		for _, as := range want {
			b, err := os.ReadFile(filepath.Join(to, as))
			if err != nil || string(b) != name {
				t.Errorf("%q: %v, holds %q", as, err, b)
			}
			saved++
		}
	}
	if all, err := os.ReadDir(to); err != nil || len(all) != saved {
		t.Errorf("%d files were saved, want %d: %v", len(all), saved, all)
	}
}
