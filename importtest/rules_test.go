package importtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// module is the import path of the module's root.
const module = "iris-gateway"

// pkg is a package as `go list -json` describes it.
type pkg struct {
	ImportPath   string
	Standard     bool // part of Go's standard library
	Imports      []string
	TestImports  []string // of the tests inside the package
	XTestImports []string // of the tests outside of it
}

// local returns the path of a package of this module within it.
func (p pkg) local() (string, bool) { return local(p.ImportPath) }

func local(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func withinAny(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

// isSDK reports whether a package belongs to the libraries of Google and
// Firebase.
func isSDK(path string) bool {
	return withinAny(path, "cloud.google.com/go", "firebase.google.com/go", "google.golang.org/api", "google.golang.org/genproto") || isGRPC(path)
}

func isGRPC(path string) bool { return within(path, "google.golang.org/grpc") }

// rule looks at one package of the module and returns what it does that it must
// not, each with the reason.
type rule func(p pkg, path string, all map[string]pkg) []string

// violations applies every rule to every package of the module.
func violations(all map[string]pkg) []string {
	var found []string
	for _, importPath := range slices.Sorted(maps.Keys(all)) {
		p := all[importPath]
		path, ok := p.local()
		if !ok {
			continue
		}
		for _, r := range []rule{nouns, sdks, deciders, stores, wiring, machine} {
			for _, text := range r(p, path, all) {
				found = append(found, path+" "+text)
			}
		}
	}
	return found
}

// nouns: iris/ imports only the standard library.
func nouns(p pkg, path string, all map[string]pkg) []string {
	if !within(path, "iris") {
		return nil
	}
	return describe(p.Imports, func(i string) bool { return !all[i].Standard },
		"imports %s: iris/ holds the nouns and imports only the standard library. Everything else imports it, so whatever it imports would be everywhere")
}

// sdks: only cloudstore/ imports a library of Google or Firebase.
func sdks(p pkg, path string, _ map[string]pkg) []string {
	if path == "cloudstore" {
		return nil
	}
	const reason = "imports %s: only cloudstore/ itself imports an SDK, so that everything else builds, runs and is tested without the cloud"
	found := describe(p.Imports, isSDK, reason)
	inTests := slices.Concat(p.TestImports, p.XTestImports)
	return append(found, describe(inTests, func(i string) bool { return isSDK(i) && !isGRPC(i) }, "in a test "+reason)...)
}

// deciders: handlers/ never get at cloudstore or an SDK, also not through what
// they import.
func deciders(p pkg, path string, all map[string]pkg) []string {
	if !within(path, "handlers") {
		return nil
	}
	var found []string
	for _, chain := range reach(p, all) {
		last := chain[len(chain)-1]
		if to, ok := local(last); isSDK(last) || ok && within(to, "cloudstore") {
			found = append(found, fmt.Sprintf("imports %s: handlers decide, they never see the store or an SDK. They state what they need as an interface beside its user; server/ passes the store in",
				strings.Join(chain, " → ")))
		}
	}
	return found
}

// stores: a store is chosen where the program is wired, and nowhere else.
func stores(p pkg, path string, _ map[string]pkg) []string {
	if withinAny(path, "cloudstore", "server", "cmd", "handlers") { // handlers have a stricter rule
		return nil
	}
	return describe(p.Imports, inModule("cloudstore"),
		"imports %s: server/ and cmd/ wire, nobody else chooses a store")
}

// wiring: nothing depends on the packages that only wire.
func wiring(p pkg, path string, _ map[string]pkg) []string {
	var found []string
	if !withinAny(path, "server", "cmd") {
		found = describe(p.Imports, inModule("server"),
			"imports %s: server/ wires the others together and decides nothing. Only cmd/ and tests start it")
	}
	if !within(path, "cmd") {
		found = append(found, describe(p.Imports, inModule("cmd"), "imports %s: cmd/ holds the programs, which nobody imports")...)
	}
	forTests := []string{"testenv", "e2e", "cmd/iris/internal/gatewaytest"}
	if !withinAny(path, forTests...) {
		found = append(found, describe(p.Imports, func(i string) bool {
			to, ok := local(i)
			return ok && withinAny(to, forTests...)
		},
			"imports %s: that is for tests, and must not get into a program")...)
	}
	return found
}

// machine: handlers/turn is a pure function of the events, as far as its
// imports can tell. TestNoClock looks for the clock.
func machine(p pkg, path string, _ map[string]pkg) []string {
	if !within(path, "handlers/turn") {
		return nil
	}
	impure := func(i string) bool {
		return withinAny(i, "net", "os", "syscall", "io/ioutil", "log", "database/sql", "runtime", "sync", "plugin", "math/rand", "crypto/rand")
	}
	found := describe(p.Imports, impure,
		"imports %s: the turn machine is pure, the same events give the same frames. It has no I/O, no chance, no goroutines: what it needs comes in with the events")
	return append(found, describe(p.Imports, func(i string) bool {
		to, ok := local(i)
		return ok && !withinAny(to, "iris", "handlers/wire", "handlers/link", "handlers/turn")
	}, "imports %s: the turn machine knows events (handlers/link), frames (handlers/wire) and nouns (iris), and nobody who calls it")...)
}

// inModule makes a test for packages of this module that are in dir.
func inModule(dir string) func(string) bool {
	return func(path string) bool {
		to, ok := local(path)
		return ok && within(to, dir)
	}
}

// describe returns a text for each import that is forbidden.
func describe(imports []string, forbidden func(string) bool, format string) []string {
	var found []string
	for _, i := range imports {
		if i != "C" && forbidden(i) {
			found = append(found, fmt.Sprintf(format, i))
		}
	}
	return found
}

// reach returns the shortest chain of imports from p to each package that it
// depends on, but does not look into the standard library, and not behind the
// first package of a chain that is the store's or an SDK's.
func reach(p pkg, all map[string]pkg) [][]string {
	var chains [][]string
	seen := map[string]bool{}
	todo := [][]string{}
	for _, i := range p.Imports {
		todo = append(todo, []string{i})
	}
	for len(todo) > 0 {
		chain := todo[0]
		todo = todo[1:]
		last := chain[len(chain)-1]
		if seen[last] || all[last].Standard {
			continue
		}
		seen[last] = true
		chains = append(chains, chain)
		if isSDK(last) || inModule("cloudstore")(last) {
			continue
		}
		for _, i := range all[last].Imports {
			todo = append(todo, append(slices.Clone(chain), i))
		}
	}
	return chains
}
