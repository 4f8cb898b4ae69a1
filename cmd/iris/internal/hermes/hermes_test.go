package hermes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"iris-gateway/cmd/iris/internal/hermes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// script writes a program that stands in for hermes.
func script(t *testing.T, body string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), "hermes")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// home makes a home of the user's own hermes and moves the test's HOME there.
func home(t *testing.T, config, dotenv string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("HERMES_HOME", "")
	for _, name := range []string{"OPENAI_API_KEY", "OPENROUTER_API_KEY"} {
		t.Setenv(name, "")
	}
	write(t, filepath.Join(dir, ".hermes", "config.yaml"), config)
	write(t, filepath.Join(dir, ".hermes", ".env"), dotenv)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readYAML(t *testing.T, path string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := yaml.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOwnHome(t *testing.T) {
	home(t, "model: {default: m, provider: p}\nplatforms: {telegram: {enabled: true}}\n",
		"# mine\nexport OPENROUTER_API_KEY='sk-1'\nTELEGRAM_BOT_TOKEN=bot\n")
	t.Setenv("DISCORD_BOT_TOKEN", "bot")
	dir := t.TempDir()
	h, err := hermes.Prepare(hermes.Config{
		Path: script(t, "env > \"$HERMES_HOME/env\"; echo \"$@\" > \"$HERMES_HOME/args\"\n"), Dir: dir, URL: "http://127.0.0.1:1", Token: "host-token",
	})
	if err != nil {
		t.Fatal(err)
	}
	if h.NoModel {
		t.Error("the user's model was not found")
	}
	if _, err := os.Stat(filepath.Join(h.Home, "plugins", "iris", "plugin.yaml")); err != nil {
		t.Errorf("plugin: %v", err)
	}
	cfg := readYAML(t, filepath.Join(h.Home, "config.yaml"))
	if got := fmt.Sprint(cfg["model"], cfg["plugins"]); got != "map[default:m provider:p] map[enabled:[iris]]" {
		t.Errorf("settings %s", got)
	}
	platforms, _ := cfg["platforms"].(map[string]any)
	if len(platforms) != 1 || platforms["iris"] == nil {
		t.Errorf("platforms %v: another bot of the user would be started", platforms)
	}
	// It ends at once, which is an error, and tells where to look.
	if err := h.Run(t.Context()); err == nil || !strings.Contains(err.Error(), h.Log) {
		t.Errorf("Run = %v", err)
	}
	env, err := os.ReadFile(filepath.Join(h.Home, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"IRIS_URL=http://127.0.0.1:1", "IRIS_TOKEN=host-token", "OPENROUTER_API_KEY=sk-1", "HERMES_HOME=" + h.Home} {
		if !strings.Contains(string(env), want+"\n") {
			t.Errorf("no %s in\n%s", want, env)
		}
	}
	if strings.Contains(string(env), "BOT_TOKEN") {
		t.Errorf("another platform's token got through:\n%s", env)
	}
	if args, _ := os.ReadFile(filepath.Join(h.Home, "args")); string(args) != "gateway run\n" {
		t.Errorf("called with %q", args)
	}
}

func TestModelOfTheCommandLine(t *testing.T) {
	home(t, "model: {default: m, provider: p, api_key: sk-1}\n", "")
	h, err := hermes.Prepare(hermes.Config{
		Path: script(t, ""), Dir: t.TempDir(), Model: hermes.Model{URL: "http://127.0.0.1:2/v1", Name: "qwen"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(readYAML(t, filepath.Join(h.Home, "config.yaml"))["model"])
	if want := "map[api_key:none base_url:http://127.0.0.1:2/v1 default:qwen provider:custom]"; got != want {
		t.Errorf("model %s, want %s", got, want)
	}
}

func TestNoModel(t *testing.T) {
	home(t, "", "")
	h, err := hermes.Prepare(hermes.Config{Path: script(t, ""), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if !h.NoModel {
		t.Error("nobody says which model, and nobody notices")
	}
}

func TestUsersHome(t *testing.T) {
	home(t, "", "")
	tests := []struct{ name, config, want string }{
		{"new", "", ""},
		{"plugin enabled", "plugins: {enabled: [other, iris]}\n", ""},
		{"plugin not enabled", "plugins: {enabled: [other]}\n", "plugins enable iris"},
		{"damaged", "plugins: [\n", "config.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "config.yaml")
			write(t, path, tt.config)
			_, err := hermes.Prepare(hermes.Config{Path: script(t, ""), Home: dir, Dir: t.TempDir()})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Prepare = %v, want %q", err, tt.want)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if tt.config != "" && string(after) != tt.config {
				t.Errorf("the user's settings were changed to\n%s", after)
			}
		})
	}
}

// Ctrl-C ends hermes and all that it started, even what does not listen.
func TestRunEndsTheGroup(t *testing.T) {
	home(t, "", "")
	h, err := hermes.Prepare(hermes.Config{
		Path: script(t, `
trap 'exit 0' TERM
(trap '' TERM; while :; do sleep 1; done) &
echo ready
wait
`), Dir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	deadline := time.After(patience)
	for tick := time.Tick(5 * time.Millisecond); ; {
		select {
		case <-tick:
		case err := <-done:
			t.Fatalf("ended early: %v", err)
		case <-deadline:
			t.Fatal("does not start")
		}
		if log, _ := os.ReadFile(h.Log); strings.Contains(string(log), "ready") {
			break
		}
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run = %v", err)
		}
	case <-time.After(patience):
		t.Fatal("does not end")
	}
}

func TestFind(t *testing.T) {
	home(t, "", "")
	venv := t.TempDir()
	write(t, filepath.Join(venv, "bin", "hermes"), "#!/bin/sh\n")
	for path, ok := range map[string]bool{venv: false, "/nowhere": false, "": false} {
		_, err := hermes.Prepare(hermes.Config{Path: path, Dir: t.TempDir()})
		if (err == nil) != ok {
			t.Errorf("Prepare(%q) = %v", path, err)
		}
	}
	if err := os.Chmod(filepath.Join(venv, "bin", "hermes"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := hermes.Prepare(hermes.Config{Path: venv, Dir: t.TempDir()}); err != nil {
		t.Error(err)
	}
}
