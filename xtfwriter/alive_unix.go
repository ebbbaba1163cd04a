//go:build unix && !aix && !solaris

package xtfwriter

import (
	"errors"
	"os"
	"syscall"
)

// alive says whether a process of this host exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

// nonBlocking makes opening a pipe return at once, should one be in the place of the file.
const nonBlocking = syscall.O_NONBLOCK

// hold waits for the advisory lock of f (flock) and keeps it until f is closed. On a file system without such locks it returns at once.
func hold(f *os.File) {
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) {
	}
}
