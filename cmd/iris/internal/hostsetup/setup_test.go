package hostsetup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"iris-gateway/cmd/iris/internal/hermes"
	"iris-gateway/cmd/iris/internal/hostsetup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newHome makes a home with the given files; "" makes none.
func newHome(t *testing.T, config, dotenv string) string {
	t.Helper()
	home := t.TempDir()
	put(t, home, "config.yaml", config)
	put(t, home, ".env", dotenv)
	return home
}

func put(t *testing.T, home, name, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read returns a file of a home, "" for none.
func read(t *testing.T, home, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(home, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func options(home string) hostsetup.Options {
	return hostsetup.Options{Home: home, URL: "https://iris.example.org", Token: "host-token"}
}

// install plans and does it.
func install(t *testing.T, opts hostsetup.Options) *hostsetup.Plan {
	t.Helper()
	plan, err := hostsetup.PlanInstall(opts)
	if err != nil {
		t.Fatal(err)
	}
	return apply(t, plan)
}

func remove(t *testing.T, home string) *hostsetup.Plan {
	t.Helper()
	plan, err := hostsetup.PlanRemove(home)
	if err != nil {
		t.Fatal(err)
	}
	return apply(t, plan)
}

func apply(t *testing.T, plan *hostsetup.Plan) *hostsetup.Plan {
	t.Helper()
	if _, err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// value returns what a YAML text says at a dotted path.
func value(t *testing.T, text, path string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// complete checks that a configuration has all that is recommended.
func complete(t *testing.T, config string) {
	t.Helper()
	if list, _ := value(t, config, "plugins.enabled").([]any); !strings.Contains(" "+strings.Trim(strings.Join(texts(list), " "), " ")+" ", " iris ") {
		t.Errorf("plugins.enabled is %v", list)
	}
	for _, path := range []string{
		"approvals.timeout", "display.busy_input_mode", "display.busy_ack_enabled", "display.platforms.iris.streaming",
		"display.platforms.iris.tool_progress", "display.platforms.iris.runtime_footer.enabled", "platforms.iris.typing_indicator",
	} {
		if got, want := value(t, config, path), value(t, hermes.Recommended, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func texts(list []any) []string {
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

const commented = `# my settings
model:
  default: qwen3      # the local one
  provider: custom

plugins:
  # what I trust
  enabled:
  - disk-cleanup   # mine
  disabled:
  - iris
  - noisy

approvals:
  mode: ask
  timeout: 60    # seconds

display:
  # how it looks
  compact: false

  platforms:
    telegram: {streaming: true}
personality: |
  Be brief.

  Be kind.
`

func TestFresh(t *testing.T) {
	t.Parallel()
	home := newHome(t, "", "")
	install(t, options(home))
	complete(t, read(t, home, "config.yaml"))
	if got := read(t, home, ".env"); got != "IRIS_URL=https://iris.example.org\nIRIS_TOKEN=host-token\n" {
		t.Errorf(".env is %q", got)
	}
	for _, name := range []string{".env", "plugins/iris-install.json"} {
		if info, err := os.Stat(filepath.Join(home, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "plugins", "iris", "plugin.yaml")); err != nil {
		t.Error(err)
	}
	remove(t, home)
	left, err := filepath.Glob(filepath.Join(home, "*"))
	if err != nil || len(left) != 1 { // plugins
		t.Errorf("left behind: %v (%v)", left, err)
	}
	if left, err := os.ReadDir(filepath.Join(home, "plugins")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// Only lines that say something else are touched, and all of it comes back.
func TestExisting(t *testing.T) {
	t.Parallel()
	const env = "# keys\nOPENAI_API_KEY=sk-1\nexport IRIS_URL='http://old'\n"
	home := newHome(t, commented, env)
	plan := install(t, options(home))
	config := read(t, home, "config.yaml")
	complete(t, config)
	for line := range strings.Lines(commented) {
		gone := strings.Contains(line, "timeout")
		if strings.Contains(config, line) == gone {
			t.Errorf("line %q: gone = %v in\n%s", line, !gone, config)
		}
	}
	for _, want := range []string{"  - disk-cleanup   # mine\n  - iris\n", "  timeout: 300    # seconds\n"} {
		if !strings.Contains(config, want) {
			t.Errorf("no %q in\n%s", want, config)
		}
	}
	if disabled := value(t, config, "plugins.disabled"); len(disabled.([]any)) != 1 {
		t.Errorf("plugins.disabled is %v", disabled)
	}
	if got, want := read(t, home, ".env"), "# keys\nOPENAI_API_KEY=sk-1\nIRIS_URL=https://iris.example.org\nIRIS_TOKEN=host-token\n"; got != want {
		t.Errorf(".env is %q", got)
	}
	shown := strings.Join(plan.Diff(), "\n")
	for _, secret := range []string{"host-token", "sk-1"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown:\n%s", secret, shown)
		}
	}
	if !strings.Contains(shown, "-   timeout: 60    # seconds\n  +   timeout: 300    # seconds") || !strings.Contains(shown, "+ IRIS_TOKEN=••••") {
		t.Errorf("shown:\n%s", shown)
	}
	backups, err := filepath.Glob(filepath.Join(home, "config.yaml.before-iris-*"))
	if err != nil || len(backups) != 1 || read(t, home, filepath.Base(backups[0])) != commented {
		t.Errorf("backups %v (%v)", backups, err)
	}
	remove(t, home)
	if got := read(t, home, "config.yaml"); got != commented {
		t.Errorf("config.yaml is now\n%s", got)
	}
	if got := read(t, home, ".env"); got != env {
		t.Errorf(".env is now %q", got)
	}
}

// A second time nothing is left to do, and what the user has decided since stays.
func TestRepeated(t *testing.T) {
	t.Parallel()
	home := newHome(t, commented, "")
	install(t, options(home))
	again, err := hostsetup.PlanInstall(hostsetup.Options{Home: home}) // what is there is good
	if err != nil {
		t.Fatal(err)
	}
	if again.Changed() || len(again.Diff()) > 0 {
		t.Errorf("changes %v\n%s", again.Changes, strings.Join(again.Diff(), "\n"))
	}
	config := read(t, home, "config.yaml")
	config = strings.Replace(config, "busy_ack_enabled: false", "busy_ack_enabled: true", 1)
	config = strings.Replace(config, "busy_input_mode: queue", "busy_input_mode: steer", 1)
	put(t, home, "config.yaml", config)
	opts := options(home)
	opts.Token = "new-token"
	plan := install(t, opts)
	if len(plan.Changes) != 1 || plan.Changes[0].Name != "IRIS_TOKEN" || len(plan.Kept) != 2 {
		t.Errorf("changes %v, kept %v", plan.Changes, plan.Kept)
	}
	if got := read(t, home, "config.yaml"); got != config {
		t.Errorf("config.yaml is now\n%s", got)
	}
	plan = remove(t, home)
	after := read(t, home, "config.yaml")
	if value(t, after, "display.busy_ack_enabled") != true || value(t, after, "display.busy_input_mode") != "steer" || len(plan.Kept) != 2 {
		t.Errorf("what the user changed is gone (kept %v):\n%s", plan.Kept, after)
	}
	if read(t, home, ".env") != "" {
		t.Errorf(".env: %q", read(t, home, ".env"))
	}
}

// The user goes on working with the file: only what is ours goes.
func TestRemoveAfterChanges(t *testing.T) {
	t.Parallel()
	home := newHome(t, commented, "A=1\n")
	install(t, options(home))
	edit := func(text string) string {
		text = strings.Replace(text, "provider: custom\n", "provider: custom\n  api_key: sk-2\n", 1)
		return strings.Replace(text, "compact: false", "compact: true", 1)
	}
	put(t, home, "config.yaml", edit(read(t, home, "config.yaml")))
	put(t, home, ".env", read(t, home, ".env")+"B=2\n")
	plan, err := hostsetup.PlanRemove(home)
	if err != nil {
		t.Fatal(err)
	}
	if shown := strings.Join(plan.Diff(), "\n"); strings.Contains(shown, "sk-2") || strings.Contains(shown, "host-token") {
		t.Errorf("a secret is shown:\n%s", shown)
	}
	apply(t, plan)
	want := strings.Replace(edit(commented), "  - iris\n  - noisy\n", "  - noisy\n  - iris\n", 1)
	// The order in a list is not noted: iris comes back as the last one.
	if got := read(t, home, "config.yaml"); got != want {
		t.Errorf("config.yaml is\n%s", strings.Join(hostsetup.Diff(want, got), "\n"))
	}
	if got := read(t, home, ".env"); got != "A=1\nB=2\n" {
		t.Errorf(".env is %q", got)
	}
	if plan, err := hostsetup.PlanRemove(home); err != nil || plan.Changed() || plan.Installed() {
		t.Errorf("a second remove: %v, %v", plan.Changes, err)
	}
}

// Styles that the editing by lines does not know lose their form, never their meaning.
func TestOtherStyles(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"flow":            "plugins: {enabled: [a, b]} # mine\ndisplay: {compact: true}\n",
		"flow over lines": "plugins:\n  enabled: [a,\n    b]\n",
		"quoted":          "\"approvals\":\n    'timeout': '60'\n",
		"null":            "plugins:\napprovals: ~\ndisplay: # nothing yet\nx: 1\n",
		"wide":            "display:\n        platforms:\n                iris:\n                        streaming: false\n",
		"no newline":      "x: 1",
		"anchors":         "base: &b\n  timeout: 5\napprovals:\n  <<: *b\n  mode: ask\n",
		"empty list":      "plugins:\n  enabled: []\n",
		"windows":         "plugins:\r\n  enabled:\r\n  - a\r\nx: 1\r\n",
		"ünïcode":         "approvals: {größe: ü, timeout: 60}\n",
		"document marks":  "---\nx: 1\n...\n",
		"only comments":   "# nothing\n\n# yet\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := newHome(t, config, "")
			install(t, options(home))
			after := read(t, home, "config.yaml")
			complete(t, after)
			for _, path := range []string{"x", "display.compact", "base.timeout", "approvals.mode", "approvals.größe"} {
				if was, is := value(t, config, path), value(t, after, path); was != is {
					t.Errorf("%s was %v, is %v in\n%s", path, was, is, after)
				}
			}
			put(t, home, "config.yaml", after+"# mine\n") // so that the copy is of no use
			remove(t, home)
			got := read(t, home, "config.yaml")
			for _, path := range []string{"x", "display.compact", "base", "plugins.enabled", "approvals.timeout", "platforms"} {
				if was, is := value(t, config, path), value(t, got, path); !equal(was, is) {
					t.Errorf("%s was %v, is %v in\n%s", path, was, is, got)
				}
			}
		})
	}
}

// equal compares as a person would: nothing is nothing.
func equal(a, b any) bool {
	text := func(v any) string {
		out, err := yaml.Marshal(v)
		if s := strings.TrimSpace(string(out)); err == nil && s != "[]" && s != "{}" {
			return s
		}
		return "null"
	}
	return text(a) == text(b)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	put(t, filepath.Dir(file), "file", "x")
	home := func(config string) hostsetup.Options { return options(newHome(t, config, "")) }
	tests := []struct {
		name string
		opts hostsetup.Options
		want string
	}{
		{"no home", options("/nowhere/at/all"), "there is no hermes home at /nowhere/at/all"},
		{"a file", options(file), "is no folder"},
		{"broken", home("a: 1\nb: [\nc: 2\n"), "is no YAML that hermes could read (line "},
		{"a list", home("- a\n"), "line 1: settings must be a mapping"},
		{"twice", home("a: 1\na: 2\n"), `line 2: mapping key "a" already defined at line 1`},
		{"no mapping", home("x: 1\ndisplay: big\n"), "line 2: display should hold settings"},
		{"no address", hostsetup.Options{Home: newHome(t, "", ""), Token: "t"}, "which gateway?"},
		{"no token", hostsetup.Options{Home: newHome(t, "", ""), URL: "http://127.0.0.1:1"}, "which host token?"},
		{"odd address", hostsetup.Options{Home: newHome(t, "", ""), URL: "iris.example.org", Token: "t"}, "is no gateway address"},
		{"odd token", hostsetup.Options{Home: newHome(t, "", ""), URL: "https://x", Token: "a b"}, "no host token"},
	}
	for _, tt := range tests {
		if _, err := hostsetup.PlanInstall(tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Notes that cannot be understood are no notes: what was there before would be
// lost, so nothing is changed until somebody decides.
func TestNotesOfAnother(t *testing.T) {
	t.Parallel()
	for notes, want := range map[string]string{
		`{"version": 99}`: "is of another version of iris",
		`{"version": `:    "is damaged",
	} {
		home := newHome(t, "", "")
		if err := os.Mkdir(filepath.Join(home, "plugins"), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, home, "plugins/iris-install.json", notes)
		if _, err := hostsetup.PlanInstall(options(home)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("install over %s: %v, want %q", notes, err, want)
		}
		if _, err := hostsetup.PlanRemove(home); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("remove with %s: %v, want %q", notes, err, want)
		}
	}
}
