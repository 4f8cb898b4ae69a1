package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"iris-gateway/testenv"
)

// asGateway makes this test binary the gateway itself, which so can be started
// as a process without being built.
const asGateway = "TEST_AS_GATEWAY"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asBare) != "":
		fmt.Fprintln(os.Stderr, bare(context.Background()))
	case os.Getenv(asGateway) != "":
		main()
	default:
		os.Exit(m.Run())
	}
}

// gateway prepares the process.
func gateway(t testing.TB, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append([]string{asGateway + "=1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	return cmd
}

// Faults in the settings: exit code 1, all of them in one message, of a secret
// never the value. On Cloud Run the message is one entry of the log.
func TestFaultySettings(t *testing.T) {
	const secret = "hunter2-hunter2"
	testenv.Confide(secret)
	faulty := []string{"PORT=http", "IRIS_STORE=disk", "IRIS_ADMIN_TOKEN=" + secret, "IRIS_NTFY_URL=https://u:" + secret + "@h", "IRIS_LOG=xml"}
	for name, tt := range map[string]struct {
		env      []string
		messages int // JSON lines
	}{
		"by hand":      {faulty, 0},
		"on Cloud Run": {append(faulty, "K_SERVICE=iris"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := gateway(t, tt.env...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&errs, testenv.Log(t, testenv.Gateways, "faulty"))
			err := cmd.Run()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("ended with %v, want exit code 1", err)
			}
			text := errs.String()
			var entry struct{ Severity, Message string }
			if tt.messages == 1 {
				if err := json.Unmarshal(errs.Bytes(), &entry); err != nil || entry.Severity != "ERROR" {
					t.Errorf("not one entry of the log: %v\n%s", err, text)
				}
				text = entry.Message
			}
			for _, f := range faulty {
				if name, _, _ := strings.Cut(f, "="); strings.Count(text, name) != 1 {
					t.Errorf("%s is not told of once:\n%s", name, text)
				}
			}
			if strings.Contains(text, secret) || out.Len() > 0 {
				t.Errorf("wrote %s and %s", out.String(), text)
			}
		})
	}
}
