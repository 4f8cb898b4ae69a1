package chaos

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	chaosTime = flag.Duration("chaos.time", 10*time.Second, "how long the instances are tormented, all scenarios together")
	chaosSeed = flag.Uint64("chaos.seed", 0, "repeat a run, approximately; 0 draws a new one")
)

// binary is the real gateway, built once with the race detector.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run builds the gateway, runs the tests, and fails when a process or a
// goroutine is left.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "iris-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "gateway")
	if !testing.Short() {
		out, err := exec.Command("go", "build", "-race", "-o", binary, "iris-gateway/cmd/gateway").CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "build of the gateway: %v\n%s", err, out)
			return 1
		}
	}
	code := m.Run()
	if left := running(binary); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "FAIL: processes left by the tests:", left)
		return 1
	}
	// Importing the Google packages starts one goroutine that nobody can stop.
	if err := goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		return 1
	}
	return code
}

// running lists the processes of a program (Linux only: elsewhere the list is
// empty).
func running(program string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		cmd, err := os.ReadFile(filepath.Join(d, "cmdline"))
		if err == nil && bytes.HasPrefix(cmd, []byte(program+"\x00")) {
			found = append(found, filepath.Base(d))
		}
	}
	return found
}
