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

// HermesVersion is the hermes-agent that the plugin is tested with.
const HermesVersion = "0.19.0"

// FindHermes returns a Python with hermes-agent: the one named by
// IRIS_HERMES_PYTHON, else that of a virtual environment in the cache, which is
// made first when it is not there.
func FindHermes(ctx context.Context) (string, error) {
	if python := os.Getenv(EnvHermes); python != "" {
		if err := checkHermes(ctx, python); err != nil {
			return "", fmt.Errorf("%s=%s: %w", EnvHermes, python, err)
		}
		return python, nil
	}
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	venv := filepath.Join(dir, "hermes-"+HermesVersion)
	python := filepath.Join(venv, "bin", "python")
	err = locked("hermes", func() error {
		if checkHermes(ctx, python) == nil {
			return nil
		}
		return makeVenv(ctx, venv, python)
	})
	return python, err
}

// checkHermes asks a Python for the version of its hermes-agent. The version is
// in the package's metadata, which pip writes last.
func checkHermes(ctx context.Context, python string) error {
	out, err := exec.CommandContext(ctx, python, "-c",
		"import importlib.metadata as m; print(m.version('hermes-agent'))").Output()
	if err != nil {
		return fmt.Errorf("has no hermes-agent: %w", err)
	}
	if got := strings.TrimSpace(string(out)); got != HermesVersion {
		return fmt.Errorf("has hermes-agent %s, want %s", got, HermesVersion)
	}
	return nil
}

// makeVenv installs hermes-agent from PyPI into a new environment, over whatever
// an interrupted run left there.
func makeVenv(ctx context.Context, venv, python string) error {
	base, err := findPython(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "testenv: installing hermes-agent %s into %s (once, a minute or two)\n", HermesVersion, venv)
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	if err := run(ctx, base, "-m", "venv", "--clear", venv); err != nil {
		return fmt.Errorf("no virtual environment for hermes: %w; on Debian `apt-get install python3-venv`, or set %s to a Python that has hermes-agent %s", err, EnvHermes, HermesVersion)
	}
	if err := run(ctx, python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "hermes-agent=="+HermesVersion); err != nil {
		return fmt.Errorf("hermes-agent %s could not be installed from PyPI: %w; check the network, or set %s to a Python that has it", HermesVersion, err, EnvHermes)
	}
	return checkHermes(ctx, python)
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
	return "", fmt.Errorf("no Python 3.11 to 3.13 with venv for hermes-agent (tried %s): install one (Debian: `apt-get install python3 python3-venv`) or set IRIS_PYTHON", strings.Join(names, ", "))
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
