package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		return makeVenv(ctx, venv, "hermes-agent=="+HermesVersion)
	})
	if err == nil {
		err = checkHermes(ctx, python)
	}
	if err != nil {
		return "", fmt.Errorf("%w; or set %s to a Python that has hermes-agent %s", err, EnvHermes, HermesVersion)
	}
	return python, nil
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
