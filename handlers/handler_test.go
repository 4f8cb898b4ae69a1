package handlers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A request x.y is handled by handleXY, whoever adds it. hello is the opening
// of a connection.
func TestEveryRequestHasHandler(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	handlers := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				handlers[strings.ToLower(f.Name.Name)] = true
			}
		}
	}
	for _, request := range goldenTypes(t, true) {
		want := "handle" + strings.NewReplacer(".", "", "_", "").Replace(request)
		if request != "hello" && !handlers[want] {
			t.Errorf("the request %s has no method %s", request, want)
		}
	}
}
