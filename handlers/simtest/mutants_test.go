package simtest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	withMutants = flag.Bool("sim.mutants", false, "take each rule of log.md out of the source, in a copy, and expect a failure")
	onlyMutant  = flag.String("sim.mutant", "", "run only the mutants whose name matches")
)

// mutant is a rule taken out of the source.
type mutant struct {
	name  string
	rule  string // in the words of log.md
	edits []edit
}

// edit replaces a text that occurs exactly once in a file.
type edit struct{ file, old, new string }

// TestMutants copies the module, takes one rule out of it, and runs the tests of
// this package there: they must fail. It takes some minutes.
func TestMutants(t *testing.T) {
	if !*withMutants {
		t.Skip("slow: -sim.mutants")
	}
	only := regexp.MustCompile(*onlyMutant)
	for _, m := range mutants {
		if !only.MatchString(m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			root := copyModule(t)
			for _, e := range m.edits {
				e.apply(t, root)
			}
			how := tryMutant(t, root, 200)
			if how == "" {
				how = tryMutant(t, root, 1500)
			}
			if how == "" {
				t.Fatalf("survived: %s", m.rule)
			}
			t.Logf("%s\n    fails: %s", m.rule, how)
		})
	}
}

func (e edit) apply(t *testing.T, root string) {
	path := filepath.Join(root, e.file)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), e.old); n != 1 {
		t.Fatalf("%s holds %d times %q", e.file, n, e.old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), e.old, e.new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyModule copies what this package is built from.
func copyModule(t *testing.T) string {
	root := t.TempDir()
	for _, dir := range []string{"iris", "handlers", "cloudstore"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join("../..", dir))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join("../..", file))
		if err == nil {
			err = os.WriteFile(filepath.Join(root, file), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// brokenLine is how a failed history is told.
var brokenLine = regexp.MustCompile(`(?m)(failed after \d+ tests: .*|Original traceback \(.*|found_test.go:\d+: .*|panic: .*|fatal error: .*)`)

// tryMutant runs the tests there and returns how they failed, "" if they did not.
func tryMutant(t *testing.T, root string, histories int) string {
	test := exec.CommandContext(t.Context(), "go", "test", "-timeout=180s", "-run=TestSimulation|TestFound", "./handlers/simtest",
		fmt.Sprintf("-sim.histories=%d", histories), "-rapid.shrinktime=1ms")
	test.Dir = root
	out, err := test.CombinedOutput()
	switch {
	case err == nil:
		return ""
	case strings.Contains(string(out), "[build failed]"):
		t.Fatalf("does not build: %s", out)
	}
	how := brokenLine.FindString(string(out))
	if how == "" {
		t.Fatalf("failed in an unknown way: %s", out)
	}
	if len(how) > 200 {
		how = how[:200] + "…"
	}
	return how
}
