package proc

import (
	"bytes"
	"os/exec"
	"testing"
	"time"
)

// TestStopTakesTheGroup: a child that ignores SIGTERM and has a child of its own
// leaves nothing behind.
func TestStopTakesTheGroup(t *testing.T) {
	t.Parallel()
	var out lines
	out.line = make(chan struct{}, 1)
	cmd := exec.Command("sh", "-c", "trap '' TERM; sleep 300 & echo ready; wait; wait")
	cmd.Stdout = &out
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-out.line:
	case <-time.After(10 * time.Second):
		t.Fatal("awaited the line of the child for 10 s")
	}
	p.Stop(50 * time.Millisecond)
	if p.ExitCode() != -1 {
		t.Errorf("exit code %d, want -1: it had to be killed", p.ExitCode())
	}
	// The grandchild is reaped by init, not by us: that may take a moment.
	for deadline := time.Now().Add(10 * time.Second); !p.GroupGone(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("awaited that the group is gone; after 10 s it is not")
		}
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

// lines wakes its reader at each line.
type lines struct{ line chan struct{} }

func (l *lines) Write(b []byte) (int, error) {
	if bytes.ContainsRune(b, '\n') {
		select {
		case l.line <- struct{}{}:
		default:
		}
	}
	return len(b), nil
}
