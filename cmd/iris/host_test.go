package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHostInstall(t *testing.T) {
	dir := isolate(t)
	t.Setenv("IRIS_TOKEN", "")
	t.Setenv("HERMES_HOME", "")
	home := filepath.Join(dir, ".hermes")
	code, _, errs := irisCLI(t, "", "host", "install", "--url", "https://x", "--token", "t")
	if code != exitFailed || !strings.Contains(errs, "there is no hermes home at "+home) {
		t.Errorf("no home: exit %d, %q", code, errs)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("IRIS_TOKEN", "secret-token")
	t.Setenv("IRIS_URL", "http://127.0.0.1:1")
	code, out, errs := irisCLI(t, "y\n", "host", "install")
	if code != exitUsage || !strings.Contains(out, "+ IRIS_URL=http://127.0.0.1:1") || !strings.Contains(errs, "nobody to ask") {
		t.Errorf("without --yes: exit %d, %q, %q", code, out, errs)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("written without --yes: %v (%v)", left, err)
	}
	code, out, errs = irisCLI(t, "", "host", "install", "--yes")
	if code != exitDone || !strings.Contains(out, "+   enabled: [iris]") || !strings.Contains(out, "hermes gateway restart") {
		t.Errorf("install: exit %d, %q, %q", code, out, errs)
	}
	if strings.Contains(out+errs, "secret-token") {
		t.Errorf("the token is shown: %q %q", out, errs)
	}
	if code, out, _ = irisCLI(t, "", "host", "install"); code != exitDone || !strings.Contains(out, "Everything is in place") {
		t.Errorf("again: exit %d, %q", code, out)
	}
	code, out, errs = irisCLI(t, "", "host", "install", "--remove", "--yes", "--json")
	var did struct {
		Home    string           `json:"home"`
		Changed bool             `json:"changed"`
		Changes []map[string]any `json:"changes"`
	}
	if err := json.Unmarshal([]byte(out), &did); code != exitDone || err != nil || !did.Changed || did.Home != home || len(did.Changes) < 10 || strings.Contains(out, "null") {
		t.Errorf("remove: exit %d, %q, %q", code, out, errs)
	}
	if code, out, _ = irisCLI(t, "", "host", "install", "--remove"); code != exitDone || !strings.Contains(out, "Nothing to undo") {
		t.Errorf("again: exit %d, %q", code, out)
	}
}

func TestHostInstallUsage(t *testing.T) {
	isolate(t)
	t.Setenv("IRIS_TOKEN", "")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--json"}, "goes with --yes"},
		{[]string{"--remove", "--url", "https://x"}, "do not go with --remove"},
		{[]string{"--remove", "--token", "t"}, "do not go with --remove"},
		{[]string{"--hermes-home", t.TempDir()}, "which gateway?"},
		{[]string{"--hermes-home", t.TempDir(), "--url", "https://x"}, "which host token?"},
	} {
		code, _, errs := irisCLI(t, "", append([]string{"host", "install"}, tt.args...)...)
		if code != exitUsage || !strings.Contains(errs, tt.want) {
			t.Errorf("%v: exit %d, %q", tt.args, code, errs)
		}
	}
}
