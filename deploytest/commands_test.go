package deploytest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// command finds what a page tells to type: the words behind the program's name,
// up to the first flag, placeholder or sign.
var command = regexp.MustCompile(`go run \./cmd/iris((?: [a-z][a-z-]*)+)`)

// The commands that pages and terraform tell of are there.
func TestCommandsExist(t *testing.T) {
	t.Parallel()
	told := map[string]string{} // by words, where
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ext := filepath.Ext(path); ext != ".md" && ext != ".tf" {
			return nil
		}
		raw, err := os.ReadFile(path)
		for _, m := range command.FindAllStringSubmatch(string(raw), -1) {
			told[strings.TrimSpace(m[1])] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(told) < 5 {
		t.Fatalf("found only %v", told)
	}
	iris := filepath.Join(t.TempDir(), "iris")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", iris, "../cmd/iris")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for words, path := range told {
		args := strings.Fields(words)
		if args[0] == "gateway" && len(args) > 2 { // iris gateway create home
			args = args[:2]
		}
		out, err := exec.CommandContext(t.Context(), iris, append(args, "--help")...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "iris "+strings.Join(args, " ")) {
			t.Errorf("%s tells of `iris %s`, which there is not: %v\n%s", path, words, err, out)
		}
	}
}

// What terraform passes to Cloud Build is what cloudbuild.yaml knows.
func TestTerraformKnowsCloudBuild(t *testing.T) {
	t.Parallel()
	known := readCloudBuild(t).Substitutions
	passed := regexp.MustCompile(`[",](_[A-Z_]+)=`).FindAllStringSubmatch(read(t, "terraform/build.tf"), -1)
	if len(passed) < 5 {
		t.Fatalf("found only %v", passed)
	}
	for _, m := range passed {
		if _, ok := known[m[1]]; !ok {
			t.Errorf("terraform/build.tf sets %s, which cloudbuild.yaml does not know", m[1])
		}
	}
}
