package hostsetup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iris-gateway/cmd/iris/internal/hostsetup"
)

// A failure in the middle can be undone, or done again: it was noted before.
func TestFailsInTheMiddle(t *testing.T) {
	t.Parallel()
	home := newHome(t, commented, "")
	plan, err := hostsetup.PlanInstall(options(home))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, ".env"), 0o700); err != nil { // nothing can be written there
		t.Fatal(err)
	}
	if _, err := plan.Apply(); err == nil || !strings.Contains(err.Error(), ".env") {
		t.Fatalf("Apply = %v", err)
	}
	if err := os.Remove(filepath.Join(home, ".env")); err != nil {
		t.Fatal(err)
	}
	plan = install(t, options(home)) // what was not written yet is not taken for the user's wish
	complete(t, read(t, home, "config.yaml"))
	if len(plan.Kept) > 0 {
		t.Errorf("kept %v", plan.Kept)
	}
	remove(t, home)
	if got := read(t, home, "config.yaml"); got != commented {
		t.Errorf("config.yaml is now\n%s", got)
	}
}

// Links are for people who keep their settings elsewhere, or work on the plugin.
func TestLinks(t *testing.T) {
	t.Parallel()
	home, elsewhere := newHome(t, "", ""), t.TempDir()
	put(t, elsewhere, "my.yaml", commented)
	checkout := filepath.Join(elsewhere, "iris")
	for link, to := range map[string]string{"config.yaml": filepath.Join(elsewhere, "my.yaml"), "plugins/iris": checkout} {
		if err := errors.Join(os.MkdirAll(filepath.Join(home, "plugins"), 0o700), os.MkdirAll(checkout, 0o700), os.Symlink(to, filepath.Join(home, link))); err != nil {
			t.Fatal(err)
		}
	}
	plan := install(t, options(home))
	if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "is a link to "+checkout) {
		t.Errorf("notes %v", plan.Notes)
	}
	complete(t, read(t, elsewhere, "my.yaml"))
	if left, err := os.ReadDir(checkout); err != nil || len(left) > 0 {
		t.Errorf("written into the checkout: %v (%v)", left, err)
	}
	remove(t, home)
	for _, link := range []string{"config.yaml", "plugins/iris"} {
		if info, err := os.Lstat(filepath.Join(home, link)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more (%v)", link, err)
		}
	}
	if got := read(t, elsewhere, "my.yaml"); got != commented {
		t.Errorf("my.yaml is\n%s", got)
	}
}
