package e2e_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"iris-gateway/e2e"
	"iris-gateway/e2e/model"
	"iris-gateway/testenv"
)

// gatewayBin is the real binary, built once before the tests.
var gatewayBin string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run builds the gateway, runs the tests, ends what they share, and fails when a
// process or a goroutine is left.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "iris-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if gatewayBin = filepath.Join(dir, "gateway"); !testing.Short() {
		if err := e2e.BuildGateway(gatewayBin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	shared.dir = dir
	code := m.Run()
	shared.stop()
	if shared.gate != nil && shared.gate.Races() != "" {
		fmt.Fprintln(os.Stderr, "FAIL: the gateway has a", shared.gate.Races())
		return 1
	}
	if left := e2e.Leftovers(); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "FAIL: processes left by the tests:", left)
		return 1
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		return 1
	}
	return code
}

// stack is a gateway with a real hermes attached. The tests that need hermes share
// one and run one after the other: its first turn on a fresh home takes long.
type stack struct {
	dir string

	mu     sync.Mutex
	model  *model.Server
	gate   *e2e.Gateway
	host   e2e.Host
	hermes *e2e.Hermes
	url    string // of the gateway, as hermes dials it; "" = directly
}

var shared stack

// start returns the shared stack with all parts running, also after a test that
// failed half-way.
func start(t *testing.T) *stack {
	t.Helper()
	firestore, python := testenv.Firestore(t), testenv.HermesPython(t)
	s := &shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate == nil {
		s.gate = e2e.NewGateway(t, gatewayBin, firestore)
	}
	s.gate.ShowOnFailure(t)
	if !s.gate.Running() {
		s.gate.Start(t)
	}
	if s.hermes == nil {
		s.model = model.Start()
		s.create(t, python)
	}
	s.hermes.ShowOnFailure(t)
	if !s.hermes.Running() {
		s.hermes.Start(t)
	}
	s.gate.AwaitHost(t, s.host)
	return s
}

// create makes the host's record and hermes' home.
func (s *stack) create(t *testing.T, python string) {
	t.Helper()
	s.host = s.gate.CreateHost(t, "home")
	hermes, err := e2e.NewHermes(e2e.HermesConfig{
		Python: python, Dir: filepath.Join(s.dir, "hermes"), Plugin: "../plugin/iris",
		ModelURL: s.model.URL(), IrisURL: cmp.Or(s.url, s.gate.URL()), Token: s.host.Token,
		Source: os.Getenv("HERMES_SOURCE"),
	})
	if err != nil {
		t.Fatalf("hermes' home: %v", err)
	}
	s.hermes = hermes
}

// second is another hermes on the same gateway, until the test ends.
func (s *stack) second(t *testing.T) *stack {
	t.Helper()
	return s.another(t, "")
}

// through is the same, behind a tunnel.
func (s *stack) through(t *testing.T, tunnel *e2e.Tunnel) *stack {
	t.Helper()
	return s.another(t, tunnel.URL())
}

func (s *stack) another(t *testing.T, url string) *stack {
	t.Helper()
	other := &stack{dir: t.TempDir(), model: s.model, gate: s.gate, url: url}
	other.create(t, testenv.HermesPython(t))
	t.Cleanup(other.hermes.Stop)
	other.hermes.ShowOnFailure(t)
	other.hermes.Start(t)
	s.gate.AwaitHost(t, other.host)
	return other
}

// restart ends an idle hermes and starts it again.
func (s *stack) restart(t *testing.T) {
	t.Helper()
	phone := e2e.Phone(t, s.gate, s.host, unique("phone-restart"))
	mark := phone.Mark()
	s.hermes.Terminate(t)
	phone.Await(t, mark, "status degraded", func(f e2e.Frame) bool { return f.Type == "status" && f.Body.State == "degraded" })
	s.hermes.Start(t)
	phone.Await(t, mark, "status online", func(f e2e.Frame) bool { return f.Type == "status" && f.Body.State == "online" })
}

// unique makes a name that no other run of a test in this process has used: a
// phone that sends the same client_id again gets its old message back.
func unique(name string) string { return fmt.Sprintf("%s-%d", name, lastUnique.Add(1)) }

var lastUnique atomic.Int64

func (s *stack) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hermes != nil {
		s.hermes.Stop()
	}
	if s.gate != nil {
		s.gate.Stop()
	}
	if s.model != nil {
		s.model.Close()
	}
}
