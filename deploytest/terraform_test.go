package deploytest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"iris-gateway/iris"
	"iris-gateway/server"
)

// notDeployed are the settings that terraform leaves alone, and why.
var notDeployed = map[string]string{
	"PORT":                        "Cloud Run sets it",
	"K_SERVICE":                   "Cloud Run sets it",
	"IRIS_ADDR":                   "the container listens everywhere",
	"IRIS_STORE":                  "Firestore, the default, is what is deployed",
	"IRIS_LOG":                    "JSON, the default, is what Cloud Logging reads",
	"IRIS_RATE_LIMITS":            "off is for tests",
	"IRIS_FCM_ENDPOINT":           "for tests",
	"FIRESTORE_EMULATOR_HOST":     "for tests",
	"IRIS_METRICS_ADDR":           "nothing on Cloud Run could reach it",
	"OTEL_EXPORTER_OTLP_PROTOCOL": "the gateway speaks only one",
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Every setting of the gateway is set by terraform or left alone for a reason,
// and terraform sets none that the gateway does not know.
func TestSettings(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for f := range reflect.TypeFor[server.Config]().Fields() {
		known[f.Tag.Get("envconfig")] = true
	}
	set := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\s+(?:name += )?"?((?:IRIS|OTEL|STORAGE)_[A-Z_]+)"?(?: +=.*)?$`).FindAllStringSubmatch(read(t, "terraform/service.tf"), -1) {
		set[m[1]] = true
	}
	for name := range set {
		if !known[name] {
			t.Errorf("terraform sets %s, which server.Config does not know", name)
		}
		if _, ok := notDeployed[name]; ok {
			t.Errorf("terraform sets %s, which notDeployed says it does not", name)
		}
	}
	for name := range known {
		if _, ok := notDeployed[name]; !ok && !set[name] {
			t.Errorf("server.Config has %s: set it in terraform/service.tf, or say in notDeployed why not", name)
		}
	}
	for name := range notDeployed {
		if !known[name] {
			t.Errorf("notDeployed has %s, which server.Config does not know", name)
		}
	}
}

// A broken upload may be resumed for some time; only then is it removed.
func TestUploadsOutliveTheirResumption(t *testing.T) {
	t.Parallel()
	m := regexp.MustCompile(`age += ([0-9]+)\s+matches_prefix = \["uploads/"\]`).FindStringSubmatch(read(t, "terraform/bucket.tf"))
	if m == nil {
		t.Fatal("terraform/bucket.tf has no rule for uploads/")
	}
	days, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	if kept := time.Duration(days) * 24 * time.Hour; kept < iris.UploadLifetime {
		t.Errorf("parts of uploads are kept for %s; uploads may be resumed for %s", kept, iris.UploadLifetime)
	}
}

// What alerts count in the log is what the code logs, word for word.
func TestAlertsCountWhatIsLogged(t *testing.T) {
	t.Parallel()
	logged := loggedMessages(t)
	counted := regexp.MustCompile(`jsonPayload\.message=\\"([^"\\]+)\\"`).FindAllStringSubmatch(read(t, "terraform/alerts.tf"), -1)
	if len(counted) == 0 {
		t.Fatal("no alert counts a message: this test reads terraform/alerts.tf in a way that is out of date")
	}
	for _, m := range counted {
		if !logged[m[1]] {
			t.Errorf("an alert counts %q, which nothing logs as a warning or error", m[1])
		}
	}
}

// loggedMessages are the first arguments of all calls of Warn and Error.
func loggedMessages(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, dir := range []string{"../handlers", "../server", "../cloudstore"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				ast.Inspect(file, func(n ast.Node) bool { noteLogged(n, found); return true })
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func noteLogged(n ast.Node, found map[string]bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(method.Sel.Name, "Warn") && !strings.HasPrefix(method.Sel.Name, "Error") {
		return
	}
	for _, arg := range call.Args {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				found[text] = true
			}
			return
		}
	}
}

// Each alert has a playbook, and each playbook an alert.
func TestPlaybooks(t *testing.T) {
	t.Parallel()
	alerts := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +\{? ?([a-z_]+) += \{$`).FindAllStringSubmatch(read(t, "terraform/alerts.tf"), -1) {
		if m[1] != "log_alerts" {
			alerts[m[1]] = true
		}
	}
	pages, err := filepath.Glob("../docs/playbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	playbooks := map[string]bool{}
	for _, p := range pages {
		playbooks[strings.TrimSuffix(filepath.Base(p), ".md")] = true
	}
	if len(alerts) < 4 || !maps.Equal(alerts, playbooks) {
		t.Errorf("alerts %v, playbooks %v", slices.Sorted(maps.Keys(alerts)), slices.Sorted(maps.Keys(playbooks)))
	}
}

// Every validation of a variable has a test in which it fails, and every
// variable is described, typed and explained in terraform/README.md.
func TestVariables(t *testing.T) {
	t.Parallel()
	validations := read(t, "terraform/tests/validation.tftest.hcl")
	readme := read(t, "terraform/README.md")
	blocks := regexp.MustCompile(`(?ms)^variable "([a-z_]+)" \{$(.*?)^\}$`).FindAllStringSubmatch(read(t, "terraform/variables.tf"), -1)
	if len(blocks) < 20 {
		t.Fatalf("found only %d variables", len(blocks))
	}
	for _, b := range blocks {
		name, body := b[1], b[2]
		if !strings.Contains(body, "  description = ") || !strings.Contains(body, "  type        = ") {
			t.Errorf("variable %s has no description or type", name)
		}
		want := strings.Count(body, "  validation {")
		if got := strings.Count(validations, "expect_failures = [var."+name+"]"); got != want {
			t.Errorf("variable %s has %d validations, and %d tests that fail", name, want, got)
		}
		if want == 0 && !strings.Contains(body, "= bool") {
			t.Errorf("variable %s takes anything", name)
		}
		if !strings.Contains(readme, "`"+name+"`") {
			t.Errorf("terraform/README.md does not tell of %s", name)
		}
	}
}
