package simtest

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"iris-gateway/testenv"
)

var (
	withMutants = flag.Bool("sim.mutants", false, "take each rule of log.md out of the source and expect a failure")
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

// directed is a mutant whose rule the histories meet too seldom: a test of its
// own, which runs always, makes just that happen.
type directed struct {
	mutant
	in, test string // package below the module, and name of the test
}

// TestMutants builds with one rule taken out of the source, and runs the other
// tests of this package, or the directed one: they must fail. It takes ten
// minutes: .cache/bin/testenv -- go test ./handlers/simtest -run TestMutants -sim.mutants
func TestMutants(t *testing.T) {
	if !*withMutants {
		t.Skip("slow: -sim.mutants")
	}
	for _, m := range mutants {
		m.run(t, func(t *testing.T, overlay string) string {
			return cmp.Or(tryHistories(t, overlay, 200), tryHistories(t, overlay, 800))
		})
	}
	testenv.Firestore(t) // some of the directed tests need it
	for _, d := range directedMutants {
		d.run(t, func(t *testing.T, overlay string) string {
			return tryMutant(t, overlay, "iris-gateway/"+d.in, "-run=^"+d.test+"$")
		})
	}
}

// run expects that try says how a test has failed.
func (m mutant) run(t *testing.T, try func(t *testing.T, overlay string) string) {
	if !regexp.MustCompile(*onlyMutant).MatchString(m.name) {
		return
	}
	t.Run(m.name, func(t *testing.T) {
		how := try(t, m.overlay(t))
		if how == "" {
			t.Fatalf("survived: %s", m.rule)
		}
		t.Logf("%s\n    fails: %s", m.rule, how)
	})
}

// TestMutantsApply holds the tables against the source, so that a rule which
// moves takes its mutant along.
func TestMutantsApply(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) { m.overlay(t) })
	}
	for _, d := range directedMutants {
		t.Run(d.name, func(t *testing.T) { d.overlay(t) })
	}
}

// overlay writes the edited files and what tells the go command to build with
// them in the place of the real ones.
func (m mutant) overlay(t *testing.T) (path string) {
	edited := map[string]string{}
	for _, e := range m.edits {
		text, ok := edited[e.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join("../..", e.file))
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Fatalf("%s holds %d times %q", e.file, n, e.old)
		}
		edited[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for file, text := range edited {
		real, err := filepath.Abs(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		replace[real] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replace[real], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	path = filepath.Join(dir, "overlay.json")
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// brokenLine is how a failed history is told.
var brokenLine = regexp.MustCompile(`(?m)(failed after \d+ tests: .*|Original traceback \(.*|--- FAIL: .*\s+(?:--- FAIL: .*\s+)?\w+\.go:\d+: .*|panic: .*|fatal error: .*)`)

// tryHistories runs those that failed once, and n new ones.
func tryHistories(t *testing.T, overlay string, n int) string {
	return tryMutant(t, overlay, ".", "-run=TestSimulation|TestFound", fmt.Sprintf("-sim.histories=%d", n), "-rapid.shrinktime=1ms", "-sim.again=10")
}

// tryMutant runs tests of a package and returns how they failed, "" if they did
// not.
func tryMutant(t *testing.T, overlay, in string, args ...string) string {
	args = append([]string{"test", "-overlay=" + overlay, "-timeout=180s", "-count=1", in}, args...)
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
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
