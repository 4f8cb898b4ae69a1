package testenv

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// EnvLogs is the folder in which cmd/testenv collects what is logged in a whole
// test run. At its end it looks for what the tests have confided.
const EnvLogs = "IRIS_TEST_LOGS"

// Kind says whose log it is: a folder of the run's logs.
type Kind string

// Kinds of logs.
const (
	Gateways    Kind = "gateways"     // in tests, and as processes
	CommandLine Kind = "command-line" // what cmd/iris logs, and the gateways that its tests start
	Simulated   Kind = "simulated"    // gateways of handlers/simtest, which looks itself (Looked)
	Plugin      Kind = "plugin"       // the plugin in its unit tests
	Hermes      Kind = "hermes"       // hermes, which logs what people write, and the plugin in it, which does not
)

// OpenLog opens a file of the run's logs for what is logged. Without cmd/testenv
// what is written is lost.
func OpenLog(kind Kind, name string) (*os.File, error) {
	dir := os.Getenv(EnvLogs)
	if dir == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return openLog(dir, kind, name)
}

func openLog(dir string, kind Kind, name string) (*os.File, error) {
	dir = filepath.Join(dir, string(kind))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.log", strings.ReplaceAll(name, "/", "-"), os.Getpid()))
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
}

// Log is OpenLog for one test, at whose end the file is closed. Without
// cmd/testenv it is one of the test's own.
func Log(t testing.TB, kind Kind, name string) *os.File {
	t.Helper()
	dir := os.Getenv(EnvLogs)
	if dir == "" {
		dir = t.TempDir()
	}
	f, err := openLog(dir, kind, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Logger logs everything, debug too, to the run's logs: for what runs inside a
// test. What it logs after the test's end is lost.
func Logger(t testing.TB, kind Kind) *slog.Logger {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	return slog.New(slog.NewTextHandler(Log(t, kind, name), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// LogFolder makes a folder of the run's logs, for a program that names its log files
// itself and ends them with .log. It is "" without cmd/testenv.
func LogFolder(kind Kind) (string, error) {
	dir := os.Getenv(EnvLogs)
	if dir == "" {
		return "", nil
	}
	dir = filepath.Join(dir, string(kind))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, "")
}
