package deploytest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// cloudBuild is cloudbuild.yaml.
type cloudBuild struct {
	Substitutions map[string]string
	Options       struct {
		AutomapSubstitutions bool   `yaml:"automapSubstitutions"`
		DynamicSubstitutions bool   `yaml:"dynamicSubstitutions"`
		Logging              string `yaml:"logging"`
	}
	Steps []struct{ ID, Name, Script string }
}

func readCloudBuild(t *testing.T) cloudBuild {
	t.Helper()
	raw, err := os.ReadFile("../cloudbuild.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var b cloudBuild
	if err := yaml.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// Every value is a substitution, and each one is used.
func TestCloudBuildSubstitutions(t *testing.T) {
	t.Parallel()
	b := readCloudBuild(t)
	if !b.Options.AutomapSubstitutions || !b.Options.DynamicSubstitutions {
		t.Error("the scripts would not find the substitutions")
	}
	used := map[string]bool{}
	name := regexp.MustCompile(`\$\{?(_[A-Z_]+)`)
	note := func(text string) {
		for _, m := range name.FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
		}
	}
	for _, value := range b.Substitutions {
		note(value)
	}
	for _, step := range b.Steps {
		if !regexp.MustCompile(`^\$\{_[A-Z]+\}$`).MatchString(step.Name) {
			t.Errorf("step %s: its image %q is no substitution", step.ID, step.Name)
		}
		note(step.Name)
		note(step.Script)
	}
	for s := range used {
		if _, ok := b.Substitutions[s]; !ok {
			t.Errorf("%s is used, but has no value", s)
		}
	}
	for s := range b.Substitutions {
		if !used[s] {
			t.Errorf("%s is not used", s)
		}
	}
}

const (
	digest = "registry.example/p/iris/gateway@sha256:0000000000000000000000000000000000000000000000000000000000000000"

	// standIn writes down how it was called, and plays docker, gcloud or curl.
	standIn = `#!/bin/sh
echo "${0##*/} $*" >> "$CALLS"
case "${0##*/} $*" in
"docker inspect"*) echo "$DIGEST" ;;
"gcloud run services describe"*) echo https://iris-abc-uc.a.run.app ;;
curl*) [ -z "$FAIL" ] || exit 22 ;;
go*) [ "$FAIL" != tests ] || exit 1 ;;
esac
`
)

// runBuild runs the steps one after the other, as Cloud Build does, and returns
// the calls of other programs, and the step that failed.
func runBuild(t *testing.T, env ...string) (calls []string, failed string) {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"docker", "gcloud", "curl", "go"} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte(standIn), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := readCloudBuild(t)
	record := filepath.Join(dir, "calls")
	env = append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "CALLS=" + record, "DIGEST=" + digest, "PROJECT_ID=p"}, env...)
	for name, value := range b.Substitutions {
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			env = append(env, name+"="+value)
		}
	}
	for _, step := range b.Steps {
		script := filepath.Join(dir, "script")
		if err := os.WriteFile(script, []byte(step.Script), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "bash", script)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			failed = step.ID
			t.Logf("%s: %s", step.ID, out)
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n"), failed
}

// find returns where the call is that begins with prefix and has all the words.
func find(calls []string, prefix string, words ...string) int {
	return slices.IndexFunc(calls, func(c string) bool {
		for _, w := range words {
			if !strings.Contains(c+" ", " "+w+" ") {
				return false
			}
		}
		return strings.HasPrefix(c, prefix)
	})
}

func TestCloudBuildDeploys(t *testing.T) {
	t.Parallel()
	calls, failed := runBuild(t, "_IMAGE=registry.example/p/iris/gateway", "_TAG=b1", "_VERSION=v1.2.3")
	if failed != "" {
		t.Fatalf("step %s failed", failed)
	}
	want := []int{
		find(calls, "go test"),
		find(calls, "docker build", "VERSION=v1.2.3", "registry.example/p/iris/gateway:b1"),
		find(calls, "docker push", "registry.example/p/iris/gateway:b1"),
		find(calls, "gcloud run deploy iris", digest, "--no-traffic", "candidate"),
		find(calls, "curl", "https://candidate---iris-abc-uc.a.run.app/health"),
		find(calls, "curl", "https://candidate---iris-abc-uc.a.run.app/ready"),
		find(calls, "gcloud run services update-traffic iris", "--to-latest"),
	}
	if want[0] < 0 || !slices.IsSorted(want) {
		t.Errorf("calls at %v of\n%s", want, strings.Join(calls, "\n"))
	}
}

func TestCloudBuildKeepsTraffic(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, env, failed, never string }{
		{"a probe fails", "FAIL=probe", "probe", "gcloud run services update-traffic"},
		{"a test fails", "FAIL=tests", "test", "docker"},
		{"only the image is wanted", "_DEPLOY=false", "", "gcloud"},
		{"the digest is another image's", "DIGEST=elsewhere@sha256:00", "push", "gcloud"},
	} {
		calls, failed := runBuild(t, tt.env, "_IMAGE=registry.example/p/iris/gateway")
		if failed != tt.failed || find(calls, tt.never) >= 0 {
			t.Errorf("%s: step %q failed, want %q; never %q in\n%s", tt.name, failed, tt.failed, tt.never, strings.Join(calls, "\n"))
		}
	}
}
