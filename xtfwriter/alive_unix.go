//go:build unix

package xtfwriter

import "syscall"

// alive says whether a process of this host exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
