package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// runMark is in the environment of every process that this test run starts, and
// so in that of whatever they start: it finds what was left behind.
var runMark = fmt.Sprintf("IRIS_E2E_RUN=%d-%d", os.Getpid(), time.Now().UnixNano())

// Leftovers lists processes of this run that still live (Linux only: elsewhere
// another process's environment cannot be read). Processes that are just being
// ended are given a moment.
func Leftovers() []string {
	var left []string
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if left = marked(); len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

func marked() []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(filepath.Join(d, "environ"))
		if err != nil || !bytes.Contains(env, []byte(runMark)) {
			continue // gone, or not ours
		}
		cmd, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(d))
		found = append(found, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(cmd, []byte{0}, []byte{' '})))
	}
	return found
}
