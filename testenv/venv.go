package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// makeVenv installs packages from PyPI into a new virtual environment, over whatever
// an interrupted run left there.
func makeVenv(ctx context.Context, venv string, packages ...string) error {
	base, err := findPython(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "testenv: installing %s into %s (once, a minute or two)\n", strings.Join(packages, ", "), venv)
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	if err := run(ctx, base, "-m", "venv", "--clear", venv); err != nil {
		return fmt.Errorf("no virtual environment for %s: %w; on Debian `apt-get install python3-venv`", packages, err)
	}
	pip := append([]string{"-m", "pip", "install", "-q", "--disable-pip-version-check"}, packages...)
	if err := run(ctx, filepath.Join(venv, "bin", "python"), pip...); err != nil {
		return fmt.Errorf("%s could not be installed from PyPI: %w; check the network", packages, err)
	}
	return nil
}

// findPython looks for a Python that hermes-agent runs on (3.11 to 3.13) and that
// can make virtual environments. Each is tried: a name on PATH may be a shim of
// a version manager with nothing behind it.
func findPython(ctx context.Context) (string, error) {
	names := []string{"python3.11", "python3.12", "python3.13", "python3"}
	if own := os.Getenv("IRIS_PYTHON"); own != "" {
		names = []string{own}
	}
	const check = "import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))"
	for _, name := range names {
		if exec.CommandContext(ctx, name, "-c", check).Run() == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("no Python 3.11 to 3.13 with venv (tried %s): install one (Debian: `apt-get install python3 python3-venv`) or set IRIS_PYTHON", strings.Join(names, ", "))
}

// run runs a command; its error carries the last line the command wrote, which is
// where pip says what went wrong.
func run(ctx context.Context, name string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return errors.New(last)
	}
	return err
}
