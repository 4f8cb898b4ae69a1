package proc

import "syscall"

// dieWithParent asks the kernel to kill the child when the thread that started
// it ends. Go keeps its threads until the process ends (unless a goroutine locked
// to one returns, which nobody here does), so that is the parent's end.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
