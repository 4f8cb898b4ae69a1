package testenv

import (
	"archive/zip"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeT notes how a test would have ended.
type fakeT struct {
	testing.TB
	fatal string
}

func (f *fakeT) Helper()                   {}
func (f *fakeT) Fatalf(s string, _ ...any) { f.fatal = s; panic(f) }

func TestMissingEmulatorFails(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short it skips")
	}
	t.Setenv(EnvFirestore, "")
	f := &fakeT{TB: t}
	func() {
		defer func() { _ = recover() }()
		Firestore(f)
	}()
	if !strings.Contains(f.fatal, "is not set") {
		t.Errorf("a missing emulator was no failure: %q", f.fatal)
	}
}

func TestProjectsDiffer(t *testing.T) {
	a, b := Project(), Project()
	if a == b || !strings.HasPrefix(a, "demo-") {
		t.Errorf("projects %s and %s", a, b)
	}
}

func TestEmulatorArgs(t *testing.T) {
	for manifest, want := range map[string]string{
		"Manifest-Version: 1.0\r\nCreated-By: x\r\n":   "-cp", // gcloud's component
		"Manifest-Version: 1.0\r\nMain-Class: a.B\r\n": "-jar",
	} {
		jar := filepath.Join(t.TempDir(), "emulator.jar")
		f, err := os.Create(jar)
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(f)
		w, err := z.Create("META-INF/MANIFEST.MF")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(manifest))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		args, err := emulatorArgs(jar)
		if err != nil || args[0] != want {
			t.Errorf("%q: args %v (%v), want %s", manifest, args, err, want)
		}
	}
}

// TestDownload: only the right bytes ever get the file's name.
func TestDownload(t *testing.T) {
	const content, wrong = "emulator", "0000"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(content)) }))
	defer s.Close()
	path := filepath.Join(t.TempDir(), "emulator.jar")
	if err := download(context.Background(), s.URL, path, int64(len(content)), wrong); err == nil {
		t.Error("a wrong checksum was taken")
	}
	if err := download(context.Background(), s.URL, path, 3, wrong); err == nil {
		t.Error("a wrong size was taken")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	const right = "91c477bfb062ddf0b760b33b0a8929df7931d7f4ec23fd354fc987d0a770e1b2"
	if err := download(context.Background(), s.URL, path, int64(len(content)), right); err != nil {
		t.Errorf("the right bytes were refused: %v", err)
	}
}

func TestCheckersOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(EnvCheckers, dir)
	if _, err := FindCheckers(t.Context()); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder without ruff and mypy: %v, want an error that names it", err)
	}
	for name, version := range checkers {
		program(t, dir, name, version)
	}
	if got, err := FindCheckers(t.Context()); got != dir || err != nil {
		t.Errorf("ruff and mypy as wanted: %q, %v; want %q", got, err, dir)
	}
	program(t, dir, "mypy", "0.1")
	if _, err := FindCheckers(t.Context()); err == nil || !strings.Contains(err.Error(), "mypy 0.1") {
		t.Errorf("mypy 0.1: %v, want an error that names it", err)
	}
}

// program makes one that says its version.
func program(t *testing.T, dir, name, version string) {
	t.Helper()
	script := "#!/bin/sh\necho " + name + " " + version + "\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}
