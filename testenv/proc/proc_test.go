package proc

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestStopTakesTheGroup: a child that ignores SIGTERM and has a child of its own
// leaves nothing behind. Both hold the pipe's write end: its end is theirs.
func TestStopTakesTheGroup(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", "trap '' TERM; sleep 300 & echo ready; wait; wait")
	cmd.Stdout = w
	p, err := Start(cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(r)
	if line, err := out.ReadString('\n'); err != nil {
		t.Fatalf("awaited the child's line, got %q: %v", line, err)
	}
	p.Stop(50 * time.Millisecond)
	if p.ExitCode() != -1 {
		t.Errorf("exit code %d, want -1: it had to be killed", p.ExitCode())
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Errorf("awaited the end of the grandchild: %v", err)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	p, err := Start(exec.Command("sh", "-c", "exit 7"))
	if err != nil {
		t.Fatal(err)
	}
	if !p.Wait(10*time.Second) || p.ExitCode() != 7 {
		t.Errorf("exit code %d, want 7", p.ExitCode())
	}
}
