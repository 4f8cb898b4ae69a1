// Package testenv gives tests the real things they run against: a Firestore
// emulator, a Cloud Storage and a Python with hermes-agent in it.
//
// Tests only take what is there (Firestore, Bucket, HermesPython). Finding, fetching
// and starting is done once for a whole run by cmd/testenv, which `make test`
// calls: one emulator serves every package, because it keeps project ids apart.
package testenv

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"testing"
)

// Names of the variables through which cmd/testenv tells tests what it found.
const (
	EnvFirestore = "FIRESTORE_EMULATOR_HOST" // host:port; the name Google's clients know
	EnvStorage   = "STORAGE_EMULATOR_HOST"   // host:port; the name Google's client knows
	EnvHermes    = "IRIS_HERMES_PYTHON"      // a Python with hermes-agent HermesVersion
	EnvCheckers  = "IRIS_CHECKERS"           // a folder with ruff and mypy
)

// Emulator is a Firestore emulator, and a project in it that no other test uses.
type Emulator struct {
	Host    string // host:port; also in FIRESTORE_EMULATOR_HOST, where the client looks
	Project string // demo-…
}

// Firestore returns the emulator of this run with a fresh project.
//
// A missing emulator fails the test: a suite that skips what it cannot reach is
// green without having tested anything. Only -short skips.
func Firestore(t testing.TB) Emulator {
	t.Helper()
	host := need(t, EnvFirestore, "a Firestore emulator")
	return Emulator{Host: host, Project: Project()}
}

// HermesPython returns the Python that has hermes-agent installed, like Firestore
// failing without one.
func HermesPython(t testing.TB) string {
	t.Helper()
	return need(t, EnvHermes, "a Python with hermes-agent "+HermesVersion)
}

// Project makes a project id that nobody has used: demo- is the prefix for which
// Google's tools promise never to talk to the real service.
func Project() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails (crypto/rand)
	return "demo-" + hex.EncodeToString(b)
}

func need(t testing.TB, env, what string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("-short: needs %s", what)
	}
	v := os.Getenv(env)
	if v == "" {
		t.Fatalf("%s is not set: this test needs %s; run `make test`, or `go run ./testenv/cmd/testenv -- go test ./…`, or set it", env, what)
	}
	return v
}
