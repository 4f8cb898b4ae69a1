package importtest

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the module's folder, as seen from here.
const root = ".."

// TestImports fails with the reason when a package imports what it must not.
func TestImports(t *testing.T) {
	t.Parallel()
	touch(t)
	all := list(t)
	for _, must := range []string{"iris", "handlers/wire", "handlers/link"} {
		if _, ok := all[module+"/"+must]; !ok {
			t.Errorf("go list does not know %s: this test looks at nothing", must)
		}
	}
	for _, v := range violations(all) {
		t.Error(v)
	}
}

// touch reads every folder of the module: `go test` keeps a result until a file
// changes that the test itself has looked at, and go list is another process.
func touch(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if errors.Is(err, fs.ErrNotExist) { // others may be at work here
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// list returns all packages of the module and what they depend on. Packages
// that are missing or do not compile are no error here: they fail elsewhere,
// and what they import is known nevertheless.
func list(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Standard,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	all := map[string]pkg{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// clock holds what the package time does besides calculating.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// TestNoClock looks for what imports do not tell: the turn machine may
// calculate with times, but not ask for the time.
func TestNoClock(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "handlers/turn/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Logf("%v: does not compile yet", err)
			continue
		}
		for _, use := range clockUses(file) {
			t.Errorf("%s: %s: the turn machine has no clock of its own. The time is that of the event (At), so that a recording gives the same frames again",
				fset.Position(use.Pos()), use.Sel.Name)
		}
	}
}

// clockUses returns where a file asks for the time, under whatever name it
// imports the package time.
func clockUses(file *ast.File) []*ast.SelectorExpr {
	name := ""
	for _, i := range file.Imports {
		if i.Path.Value == `"time"` {
			name = "time"
			if i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	var uses []*ast.SelectorExpr
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(clock, sel.Sel.Name) {
			if x, ok := sel.X.(*ast.Ident); ok && name != "" && x.Name == name {
				uses = append(uses, sel)
			}
		}
		return true
	})
	return uses
}
