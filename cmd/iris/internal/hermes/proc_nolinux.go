//go:build unix && !linux

package hermes

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {}
