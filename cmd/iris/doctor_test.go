package main

import (
	"encoding/json"
	"strings"
	"testing"

	"iris-gateway/cmd/iris/internal/gatewaytest"
)

// What a person sees, what a program sees, and how it ends. What is found is
// tested in package doctor.
func TestDoctor(t *testing.T) {
	g := gatewaytest.Start(t)
	operate(t, g)
	code, out, errs := irisCLI(t, "", "doctor") // no host is attached
	if code != exitFailed || !strings.Contains(errs, "something has failed") {
		t.Errorf("exit %d, %q", code, errs)
	}
	for _, want := range []string{"✓ admin token   is right\n", "✗ host          test was never attached\n", "                → on the machine with hermes: iris host install"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var found struct {
		OK     bool
		Checks []struct{ Check, State, Text, Todo string }
	}
	code, out, _ = irisCLI(t, "", "doctor", "--json")
	if err := json.Unmarshal([]byte(out), &found); code != exitFailed || err != nil || found.OK || len(found.Checks) < 8 {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
	t.Setenv("IRIS_ADMIN_TOKEN", "") // who is no operator sees less
	if code, out, errs = irisCLI(t, "", "doctor", "--host-token", g.HostToken); code != exitDone || !strings.Contains(out, "✓ host token    is right") {
		t.Errorf("exit %d, %q %q", code, out, errs)
	}
	for _, args := range [][]string{{"doctor", "--url", "iris.example.org"}, {"doctor", "x"}} {
		if code, _, errs = irisCLI(t, "", args...); code != exitUsage {
			t.Errorf("iris %v: exit %d, %q", args, code, errs)
		}
	}
	t.Setenv("IRIS_URL", "")
	if code, _, errs = irisCLI(t, "", "doctor"); code != exitUsage || !strings.Contains(errs, "which gateway?") {
		t.Errorf("without an address: exit %d, %q", code, errs)
	}
}
