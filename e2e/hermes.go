package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"iris-gateway/testenv"
	"iris-gateway/testenv/proc"
)

// Hermes is a real hermes-agent on a home of its own, with the plugin from the
// work tree and the scripted model. Stopped or killed it can be started again on
// the same home.
type Hermes struct {
	python string // of the environment with hermes-agent
	home   string // HERMES_HOME and HOME
	env    []string
	out    *output
	p      *proc.Process // nil while it does not run
}

// HermesConfig says where a hermes belongs.
type HermesConfig struct {
	Python   string // has hermes-agent
	Dir      string // empty folder for its state
	Plugin   string // folder plugin/iris
	ModelURL string
	IrisURL  string
	Token    string // host token
	Source   string // a source tree that is run instead of the installed hermes-agent; "" for none
}

// NewHermes prepares a home; Start starts it.
func NewHermes(c HermesConfig) (*Hermes, error) {
	home, work := filepath.Join(c.Dir, "home"), filepath.Join(c.Dir, "work")
	for _, d := range []string{filepath.Join(home, "plugins"), work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	plugin, err := filepath.Abs(c.Plugin)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(plugin, "plugin.yaml")); err != nil {
		return nil, fmt.Errorf("no plugin: %w", err)
	}
	if err := os.Symlink(plugin, filepath.Join(home, "plugins", "iris")); err != nil {
		return nil, err
	}
	config := fmt.Sprintf(hermesConfig, c.ModelURL, work)
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	// A clean environment: no key, proxy or platform variable of the caller gets in.
	env := []string{
		"PATH=" + filepath.Dir(c.Python) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + home, "HERMES_HOME=" + home, "LANG=C.UTF-8", "TZ=UTC",
		"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "HERMES_ACCEPT_HOOKS=1",
		// hermes fetches lists of models and tools from the internet and goes on without
		// them: a proxy that refuses at once keeps the tests on this machine, and saves
		// the ten seconds of retries that a machine without a network costs.
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
		"IRIS_URL=" + c.IrisURL, "IRIS_TOKEN=" + c.Token, runMark,
	}
	if c.Source != "" {
		env = append(env, "PYTHONPATH="+c.Source)
	}
	log, err := openLogs(home)
	if err != nil {
		return nil, err
	}
	return &Hermes{python: c.Python, home: home, env: env, out: newOutput(log)}, nil
}

// openLogs has hermes write its log files among those of the run, and returns where
// its output goes.
func openLogs(home string) (*os.File, error) {
	folder, err := testenv.LogFolder(testenv.Hermes)
	if err == nil && folder != "" {
		err = os.Symlink(folder, filepath.Join(home, "logs"))
	}
	if err != nil {
		return nil, err
	}
	return testenv.OpenLog(testenv.Hermes, "output") // hermes may be there for longer than a test
}

// hermesConfig is what the settings recommended for Iris come to, and a model.
const hermesConfig = `
model:
  default: test-model
  provider: custom
  base_url: %s
  api_key: none
  supports_vision: true
plugins: {enabled: [iris]}
terminal: {backend: local, cwd: %s}
approvals: {mode: manual, timeout: 300}
compression: {enabled: false}
agent: {restart_drain_timeout: 3}
stt: {enabled: false}
display:
  busy_input_mode: queue
  busy_ack_enabled: false
  platforms:
    iris:
      streaming: true
      tool_progress: "off"
      interim_assistant_messages: true
      show_reasoning: false
      long_running_notifications: false
      busy_steer_ack_enabled: false
      runtime_footer: {enabled: false}
platforms:
  iris:
    gateway_restart_notification: false
    typing_indicator: false
`

// Work is the folder in which its tools run.
func (h *Hermes) Work() string { return filepath.Join(filepath.Dir(h.home), "work") }

// Running tells whether the process runs.
func (h *Hermes) Running() bool { return h.p != nil && !h.p.Wait(0) }

// Configure replaces texts of its settings, in pairs of old and new, until the test
// ends. hermes reads some when it needs them, others when it starts.
func (h *Hermes) Configure(t testing.TB, oldnew ...string) {
	t.Helper()
	file := filepath.Join(h.home, "config.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(string(before), oldnew[i]) {
			t.Fatalf("no %q in hermes' settings:\n%s", oldnew[i], before)
		}
	}
	write := func(text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Error(err)
		}
	}
	write([]byte(strings.NewReplacer(oldnew...).Replace(string(before))))
	t.Cleanup(func() { write(before) })
}

// Run runs a command of hermes beside the gateway that runs.
func (h *Hermes) Run(t testing.TB, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.python, append([]string{"-m", "hermes_cli.main"}, args...)...)
	cmd.Dir, cmd.Env = h.home, h.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("hermes %v: %v\n%s", args, err, out)
	}
	t.Logf("hermes %v: %s", args, out)
}

// Start starts the process. Whether it has reached the gateway is seen there
// (Gateway.AwaitHost).
func (h *Hermes) Start(t testing.TB) {
	t.Helper()
	cmd := exec.Command(h.python, "-m", "hermes_cli.main", "gateway", "run")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = h.home, h.env, h.out, h.out
	p, err := proc.Start(cmd)
	if err != nil {
		t.Fatalf("start hermes: %v", err)
	}
	h.p = p
}

// Terminate stops it as a service manager does: SIGTERM, and time to finish.
func (h *Hermes) Terminate(t testing.TB) {
	t.Helper()
	h.p.Signal(syscall.SIGTERM)
	if !h.p.Wait(30 * time.Second) {
		t.Errorf("hermes still runs 30 s after SIGTERM")
	}
	h.p.Kill()
}

// Kill ends it, and all that its tools started, at once.
func (h *Hermes) Kill() { h.p.Kill() }

// Stop ends it at the end of the tests.
func (h *Hermes) Stop() {
	if h.p != nil {
		h.p.Stop(10 * time.Second)
	}
}

// log is hermes' own log file: all levels, where its output has only warnings.
func (h *Hermes) log() string {
	b, _ := os.ReadFile(filepath.Join(h.home, "logs", "agent.log")) // not there before the first start
	return string(b)
}

// Holding lists the files of its home that hold a text, byte for byte, but for its
// own logs: those are hermes' and rotate.
func (h *Hermes) Holding(t testing.TB, text string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(h.home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone meanwhile
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "logs":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte(text)) {
			found = append(found, strings.TrimPrefix(path, h.home))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// LoseSpool removes all that the plugin keeps, while hermes does not run.
func (h *Hermes) LoseSpool(t testing.TB) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(h.home, "iris")); err != nil {
		t.Fatal(err)
	}
}

// LogMark is the position behind all that hermes has logged so far.
func (h *Hermes) LogMark() int { return len(h.log()) }

// AwaitTurns waits until hermes has finished so many turns. Its log is asked again
// and again: with the gateway away, nothing else tells.
func (h *Hermes) AwaitTurns(t testing.TB, mark, n int) {
	t.Helper()
	const end = "gateway.run: response ready:"
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if log := h.log(); len(log) > mark && strings.Count(log[mark:], end) >= n {
			return
		}
	}
	t.Fatalf("awaited %q %d times in hermes' log; after %s it has:\n%s", end, n, waitLimit, h.log()[mark:])
}

// AwaitLog waits until hermes has logged a line that holds a text.
func (h *Hermes) AwaitLog(t testing.TB, mark int, text string) {
	t.Helper()
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if log := h.log(); len(log) > mark && strings.Contains(log[mark:], text) {
			return
		}
	}
	t.Fatalf("awaited %q in hermes' log; after %s it has:\n%s", text, waitLimit, h.log()[mark:])
}

// ShowOnFailure prints what it wrote during this test, if the test fails.
func (h *Hermes) ShowOnFailure(t testing.TB) {
	h.out.showOnFailure(t, "hermes")
	mark := h.LogMark()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("hermes logged during this test:\n%s", lastLines(h.log()[mark:], 150))
		}
	})
}
