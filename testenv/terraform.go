package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// errNoProviders is terraform without the providers of the module: no network,
// mostly. Then there is nothing to validate with.
var errNoProviders = errors.New("terraform cannot get the module's providers")

// CheckTerraform formats, validates and tests the terraform module in dir, on a
// copy, so that nothing is left there. Its tests mock all providers: nothing is
// called, nobody is asked for credentials. What cannot be done on this machine is
// said in one line to out and is no error.
func CheckTerraform(ctx context.Context, dir string, out io.Writer) error {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		fmt.Fprintln(out, "terraform: skipped fmt, validate and test: there is no terraform on this machine")
		return nil
	}
	copied, err := os.MkdirTemp("", "terraform-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	if err := copyModule(filepath.Join(copied, "module"), dir); err != nil {
		return err
	}
	run := func(args ...string) error { return runTerraform(ctx, terraform, copied, args...) }
	if err := run("fmt", "-check", "-recursive", "-diff"); err != nil {
		return fmt.Errorf("%w\n(`terraform fmt -recursive %s` mends it)", err, dir)
	}
	switch err := run("init", "-backend=false", "-input=false"); {
	case errors.Is(err, errNoProviders):
		fmt.Fprintf(out, "terraform: fmt is fine; skipped validate and test: %v\n", err)
		return nil
	case err != nil:
		return err
	}
	if err := errors.Join(run("validate"), run("test")); err != nil {
		return err
	}
	fmt.Fprintln(out, "terraform: fmt, validate and test are fine")
	return nil
}

// copyModule copies what belongs to a module, and not what a person's own use of
// it left there: variables would change the tests.
func copyModule(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.Name() == ".terraform":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case strings.HasSuffix(name, ".tfvars"), strings.Contains(name, ".tfstate"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), content, 0o644)
	})
}

// runTerraform runs one command in the copied module. Its error holds what
// terraform wrote.
func runTerraform(ctx context.Context, terraform, copied string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, terraform, append(args, "-no-color")...)
	cmd.Dir = filepath.Join(copied, "module")
	cmd.Env = append(os.Environ(), "TF_DATA_DIR="+filepath.Join(copied, "data"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if args[0] == "init" && unreachable(output.String()) {
		return fmt.Errorf("%w (%s)", errNoProviders, cause(output.String()))
	}
	return fmt.Errorf("terraform %s: %w\n%s", strings.Join(args, " "), err, output.String())
}

// unreachable says whether terraform's output is about a registry that it could
// not ask or load from, and not about the module.
func unreachable(output string) bool {
	for _, told := range []string{"Failed to query available provider packages", "Failed to install provider"} {
		if strings.Contains(output, told) {
			return true
		}
	}
	return false
}

// cause is the last part of terraform's first error: the system's own words.
func cause(output string) string {
	_, text, _ := strings.Cut(output, "Error: ")
	text, _, _ = strings.Cut(text, "\n\nTo see which modules")
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.LastIndex(text, "dial tcp"); i >= 0 {
		return text[i:]
	}
	return text
}
