package importtest

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestRulesCanBeBroken breaks each rule once: a rule that cannot fail holds
// nothing.
func TestRulesCanBeBroken(t *testing.T) {
	t.Parallel()
	const (
		firestore = "cloud.google.com/go/firestore"
		iris      = module + "/iris"
		store     = module + "/cloudstore"
		mem       = module + "/cloudstore/memstore"
		handlers  = module + "/handlers"
		hub       = module + "/handlers/hub"
		turn      = module + "/handlers/turn"
		testenv   = module + "/testenv"
	)
	imports := func(path string, imports ...string) pkg { return pkg{ImportPath: path, Imports: imports} }
	tests := map[string]struct {
		packages []pkg
		want     string // "" = fine
	}{
		"nouns use the standard library": {[]pkg{imports(iris, "time", "crypto/rand")}, ""},
		"nouns import a library":         {[]pkg{imports(iris, "github.com/x/y")}, "iris imports github.com/x/y: iris/ holds the nouns"},
		"nouns import the module":        {[]pkg{imports(iris, module+"/handlers/wire")}, "iris imports iris-gateway/handlers/wire: iris/ holds the nouns"},

		"the store imports SDKs":        {[]pkg{imports(store, firestore, "google.golang.org/api/option", "google.golang.org/grpc/codes", iris)}, ""},
		"memstore imports an SDK":       {[]pkg{imports(mem, firestore)}, "cloudstore/memstore imports cloud.google.com/go/firestore: only cloudstore/ itself"},
		"memstore imports gRPC":         {[]pkg{imports(mem, "google.golang.org/grpc/codes")}, "cloudstore/memstore imports google.golang.org/grpc/codes: only cloudstore/ itself"},
		"server imports Firebase":       {[]pkg{imports(module+"/server", "firebase.google.com/go/v4")}, "server imports firebase.google.com/go/v4: only cloudstore/ itself"},
		"a test of server uses gRPC":    {[]pkg{{ImportPath: module + "/server", XTestImports: []string{"google.golang.org/grpc"}}}, ""},
		"a test of server uses storage": {[]pkg{{ImportPath: module + "/server", XTestImports: []string{"cloud.google.com/go/storage"}}}, "server in a test imports cloud.google.com/go/storage"},

		"handlers import the store":              {[]pkg{imports(handlers, store)}, "handlers imports iris-gateway/cloudstore: handlers decide"},
		"handlers import memstore":               {[]pkg{imports(hub, mem)}, "handlers/hub imports iris-gateway/cloudstore/memstore: handlers decide"},
		"a test of handlers uses memstore":       {[]pkg{{ImportPath: handlers, XTestImports: []string{mem}}}, ""},
		"handlers import an SDK through another": {[]pkg{imports(handlers, "github.com/x/y"), imports("github.com/x/y", firestore)}, "handlers imports github.com/x/y → cloud.google.com/go/firestore: handlers decide"},
		"handlers import something missing":      {[]pkg{imports(handlers, module+"/handlers/later", iris)}, ""},

		"server and cmd choose a store":   {[]pkg{imports(module+"/server", store, mem), imports(module+"/cmd/iris", mem)}, ""},
		"testenv chooses a store":         {[]pkg{imports(testenv, mem)}, "testenv imports iris-gateway/cloudstore/memstore: server/ and cmd/ wire"},
		"cmd starts server":               {[]pkg{imports(module+"/cmd/gateway", module+"/server")}, ""},
		"the store imports server":        {[]pkg{imports(store, module+"/server")}, "cloudstore imports iris-gateway/server: server/ wires"},
		"server imports cmd":              {[]pkg{imports(module+"/server", module+"/cmd/iris")}, "server imports iris-gateway/cmd/iris: cmd/ holds the programs"},
		"a program imports a test helper": {[]pkg{imports(module+"/cmd/iris", testenv)}, "cmd/iris imports iris-gateway/testenv: that is for tests"},
		"a test uses a test helper":       {[]pkg{{ImportPath: store, TestImports: []string{testenv}}}, ""},

		"the machine calculates":           {[]pkg{imports(turn, "time", "strings", "slices", iris, module+"/handlers/link", module+"/handlers/wire")}, ""},
		"the machine reads files":          {[]pkg{imports(turn, "os")}, "handlers/turn imports os: the turn machine is pure"},
		"the machine talks to others":      {[]pkg{imports(turn, "net/http")}, "handlers/turn imports net/http: the turn machine is pure"},
		"the machine draws lots":           {[]pkg{imports(turn, "math/rand/v2")}, "handlers/turn imports math/rand/v2: the turn machine is pure"},
		"the machine knows its caller":     {[]pkg{imports(turn, hub)}, "handlers/turn imports iris-gateway/handlers/hub: the turn machine knows events"},
		"a name that only begins the same": {[]pkg{imports(module+"/irish", "github.com/x/y"), imports(module+"/handlersx", module+"/cloudstorex")}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := map[string]pkg{}
			for _, p := range []string{"time", "strings", "slices", "crypto/rand", "os", "net/http", "math/rand/v2"} {
				all[p] = pkg{ImportPath: p, Standard: true}
			}
			for _, p := range tt.packages {
				all[p.ImportPath] = p
			}
			got := violations(all)
			if tt.want == "" {
				if len(got) > 0 {
					t.Errorf("got %q", got)
				}
				return
			}
			if len(got) == 0 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestClockUses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{
		`import "time"; var _ = time.UnixMilli(7).Add(time.Second)`:          0,
		`import "time"; var _ = time.Now`:                                    1,
		`import clock "time"; func f() { clock.Sleep(1); <-clock.After(1) }`: 2,
		`type s struct{ Now func() }; func f(time s) { time.Now() }`:         0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x; "+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(clockUses(file)); got != want {
			t.Errorf("%s: found %d uses, want %d", source, got, want)
		}
	}
}
