package e2e

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// output keeps what a process writes and wakes those who wait for a line.
type output struct {
	mu      sync.Mutex
	all     bytes.Buffer
	changed chan struct{} // closed and replaced at each write
	copy    io.Writer     // gets all of it too
}

func newOutput(copy io.Writer) *output { return &output{changed: make(chan struct{}), copy: copy} }

// Write is called by the process's copying goroutines.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all.Write(b)
	close(o.changed)
	o.changed = make(chan struct{})
	return o.copy.Write(b)
}

// since returns the complete lines after byte position pos, the position behind
// them, and a channel that is closed when there is more.
func (o *output) since(pos int) (lines []string, end int, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.all.Bytes()[pos:]
	cut := bytes.LastIndexByte(rest, '\n') + 1
	if cut > 0 {
		lines = strings.Split(string(rest[:cut-1]), "\n")
	}
	return lines, pos + cut, o.changed
}

// len is the position from which later output is read.
func (o *output) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Len()
}

// await waits for a line after pos that match accepts. It gives up when the
// process ends or the time is over.
func (o *output) await(pos int, limit time.Duration, died <-chan struct{}, match func(line string) bool) error {
	deadline := time.After(limit)
	for ended := false; ; {
		lines, end, more := o.since(pos)
		for _, l := range lines {
			if match(l) {
				return nil
			}
		}
		if ended {
			return fmt.Errorf("the process ended")
		}
		pos = end
		select {
		case <-more:
		case <-died: // look once more: its last words may be the ones
			ended, died = true, nil
		case <-deadline:
			return fmt.Errorf("nothing after %s", limit)
		}
	}
}

// tail is the end of the output, for a person who looks for a reason.
func (o *output) tail(lines int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return lastLines(o.all.String(), lines)
}

// showOnFailure prints the output from here on when the test fails.
func (o *output) showOnFailure(t testing.TB, name string) {
	start := o.len()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		lines, _, _ := o.since(start)
		t.Logf("%s wrote during this test:\n%s", name, lastLines(strings.Join(lines, "\n"), 600))
	})
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if left := len(lines) - n; left > 0 {
		return fmt.Sprintf("… %d lines left out\n%s", left, strings.Join(lines[left:], "\n"))
	}
	return strings.Join(lines, "\n")
}
