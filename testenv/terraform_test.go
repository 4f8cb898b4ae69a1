package testenv_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iris-gateway/testenv"
)

// A stand-in for terraform, whose command $FAIL fails with the text $SAYS.
const standIn = `#!/bin/sh
if [ "$1" = "$FAIL" ]; then echo "$SAYS"; exit 1; fi
if [ ! -f main.tf ] || [ -f terraform.tfvars ] || [ -d .terraform ]; then echo "wrong copy"; ls -a; exit 1; fi
`

const noNetwork = `
Error: Failed to query available provider packages

Could not retrieve the list of available versions for provider
hashicorp/google: could not connect to registry.terraform.io: Get
"https://registry.terraform.io/": dial tcp: lookup
registry.terraform.io: no such host

To see which modules are currently depending on hashicorp/google and what
versions are specified, run the following command:
    terraform providers`

// It sets the environment, so it cannot run beside others.
func TestCheckTerraform(t *testing.T) {
	module := t.TempDir()
	for _, name := range []string{"main.tf", "terraform.tfvars", ".terraform/x", "tests/a.tftest.hcl"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(module, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(module, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, fail, says, out, err string }{
		{"all is well", "", "", "fmt, validate and test are fine", ""},
		{"not formatted", "fmt", "main.tf", "", "terraform fmt -recursive"},
		{"no network", "init", noNetwork, "skipped validate and test: terraform cannot get the module's providers (dial tcp: lookup registry.terraform.io: no such host)", ""},
		{"a wrong module", "init", "Error: Unsupported block type", "", "Unsupported block type"},
		{"not valid", "validate", "Error: Missing required argument", "", "Missing required argument"},
		{"a failing test", "test", "Failure! 1 passed, 1 failed.", "", "1 failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, "terraform"), []byte(standIn), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			t.Setenv("FAIL", tt.fail)
			t.Setenv("SAYS", tt.says)
			checkTerraform(t, module, tt.out, tt.err)
		})
	}
	t.Run("no terraform", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		checkTerraform(t, module, "skipped fmt, validate and test: there is no terraform", "")
	})
}

// checkTerraform wants one line with out, or an error with text.
func checkTerraform(t *testing.T, module, out, text string) {
	t.Helper()
	var said bytes.Buffer
	err := testenv.CheckTerraform(t.Context(), module, &said)
	switch {
	case text == "" && err != nil:
		t.Error(err)
	case text != "" && (err == nil || !strings.Contains(err.Error(), text)):
		t.Errorf("error %v, want one with %q", err, text)
	}
	if !strings.Contains(said.String(), out) || strings.Count(said.String(), "\n") != min(1, len(out)) {
		t.Errorf("said %q, want one line with %q", said.String(), out)
	}
}
