package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// checkers are what checks the plugin's Python, and their versions: what they find
// differs from one to the next.
var checkers = map[string]string{"ruff": "0.17.6", "mypy": "2.4.1"}

// FindCheckers returns the folder with the programs ruff and mypy: the one named by
// IRIS_CHECKERS, else that of a virtual environment in the cache, which is made first
// when it is not there.
func FindCheckers(ctx context.Context) (string, error) {
	if dir := os.Getenv(EnvCheckers); dir != "" {
		return dir, checkCheckers(ctx, dir)
	}
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	venv := filepath.Join(dir, "checkers")
	bin := filepath.Join(venv, "bin")
	err = locked("checkers", func() error {
		if checkCheckers(ctx, bin) == nil {
			return nil
		}
		return makeVenv(ctx, venv, "ruff=="+checkers["ruff"], "mypy=="+checkers["mypy"])
	})
	if err != nil {
		return "", fmt.Errorf("%w; or set %s to a folder with ruff and mypy", err, EnvCheckers)
	}
	return bin, nil
}

// checkCheckers asks the programs for their versions.
func checkCheckers(ctx context.Context, dir string) error {
	for name, want := range checkers {
		out, err := exec.CommandContext(ctx, filepath.Join(dir, name), "--version").Output()
		if err != nil {
			return fmt.Errorf("no %s in %s: %w", name, dir, err)
		}
		if words := strings.Fields(string(out)); len(words) < 2 || words[1] != want {
			return fmt.Errorf("%s in %s is %q, want %s", name, dir, out, want)
		}
	}
	return nil
}
