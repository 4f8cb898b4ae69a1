// Package proc runs child processes so that none outlives the test or tool that
// started it: each gets a process group of its own, which is ended as a whole.
package proc

import (
	"os/exec"
	"syscall"
	"time"
)

// Process is a running child with its process group.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child was waited for; err is set before
	err  error
}

// Start starts cmd in a new process group. Where the system can (Linux), the
// child is killed with its parent, whatever happens to that.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr)
	// A grandchild that keeps the output pipe open must not make Wait hang.
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Pid is the child's process id, and its group's.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed once the child has ended and was waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the child ended; only valid after Done.
func (p *Process) Err() error { return p.err }

// ExitCode is the child's exit code, -1 when a signal ended it; only valid after Done.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Signal sends sig to the child alone, which is how a person or Cloud Run does it.
func (p *Process) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// SignalGroup sends sig to the child and all that it started in its group.
func (p *Process) SignalGroup(sig syscall.Signal) { _ = syscall.Kill(-p.Pid(), sig) }

// Wait waits up to d for the end and tells whether it came.
func (p *Process) Wait(d time.Duration) bool {
	select {
	case <-p.done: // asked first: with d = 0 both may be ready
		return true
	default:
	}
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// Stop ends the child: SIGTERM, after grace SIGKILL, then SIGKILL for whatever is
// left of its group. It returns when the child is gone.
func (p *Process) Stop(grace time.Duration) {
	p.Signal(syscall.SIGTERM)
	if !p.Wait(grace) {
		p.Signal(syscall.SIGKILL)
	}
	p.SignalGroup(syscall.SIGKILL)
	<-p.done
}

// Kill ends the child and its group at once.
func (p *Process) Kill() {
	p.SignalGroup(syscall.SIGKILL)
	<-p.done
}
