package hermes

import "syscall"

// dieWithParent lets the kernel kill the process when this one is killed and
// cannot do it. The signal comes with the end of the starting thread, and Go
// keeps its threads.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
