package deploytest

import (
	"bufio"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// readLines are the lines of a file in the root that are no comments.
func readLines(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open("../" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// ignores says whether a pattern of ours leaves name out: a path from the root,
// or a name anywhere.
func ignores(pattern, name string) bool {
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "**/"), "/")
	for ; name != "." && name != "/"; name = path.Dir(name) {
		whole, _ := path.Match(pattern, name)
		base, _ := path.Match(pattern, path.Base(name))
		if whole || base && !strings.Contains(pattern, "/") {
			return true
		}
	}
	return false
}

// What the build of the image needs must get into it, and must be uploaded.
func TestNothingNeededIsIgnored(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", `{{if not .Standard}}{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}{{end}}`, "./cmd/gateway")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	needed := []string{"go.mod", "go.sum", "cmd/gateway/main.go"}
	for _, pkg := range strings.Fields(string(out)) {
		_, dir, _ := strings.Cut(pkg, "/")
		needed = append(needed, dir)
	}
	if len(needed) < 10 {
		t.Fatalf("go list found only %v", needed)
	}
	for file, more := range map[string][]string{
		".dockerignore": nil,
		".gcloudignore": {"Dockerfile", "cloudbuild.yaml", ".dockerignore", ".gitignore", ".ci/run", "Makefile", "terraform/main.tf", "docs/protocol.md", "handlers/wire/testdata/ping.json"},
	} {
		for _, pattern := range readLines(t, file) {
			for _, name := range append(more, needed...) {
				if ignores(pattern, name) {
					t.Errorf("%s: %q leaves out %s", file, pattern, name)
				}
			}
		}
	}
}

// terraform's state holds the admin token.
func TestSecretsAreIgnored(t *testing.T) {
	t.Parallel()
	for file, secrets := range map[string][]string{
		".gitignore":    {"terraform/terraform.tfstate", "terraform/terraform.tfstate.backup", "terraform/terraform.tfvars", "terraform/.terraform/x"},
		".gcloudignore": {"terraform/terraform.tfstate", "terraform/terraform.tfstate.backup", "terraform/terraform.tfvars", ".git/config"},
		".dockerignore": {"terraform/terraform.tfstate", ".git/config"},
	} {
		for _, secret := range secrets {
			left := false
			for _, pattern := range readLines(t, file) {
				left = left || ignores(pattern, secret)
			}
			if !left {
				t.Errorf("%s does not leave out %s", file, secret)
			}
		}
	}
}
