package deploytest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The metrics that the operator is told of are those that the code has.
func TestMetricsAreDescribed(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for _, name := range []string{"server/metrics.go", "handlers/hub/metrics.go"} {
		source.WriteString(read(t, name))
	}
	has := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?:Name: |gauge\(|counter\()"([a-z_]+)"`).FindAllStringSubmatch(source.String(), -1) {
		has["iris_"+m[1]] = true
	}
	told := map[string]bool{}
	for _, name := range regexp.MustCompile("`(iris_[a-z_]+)`").FindAllStringSubmatch(read(t, "docs/operations.md"), -1) {
		told[name[1]] = true
		if !has[name[1]] {
			t.Errorf("docs/operations.md tells of %s, which there is not", name[1])
		}
	}
	for name := range has {
		if !told[name] {
			t.Errorf("docs/operations.md does not tell of %s", name)
		}
	}
}

// Links between our own pages lead somewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(raw), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
