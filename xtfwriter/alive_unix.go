//go:build unix && !aix && !solaris

package xtfwriter

import (
	"errors"
	"os"
	"syscall"
)

// alive says whether a process of this host exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

// nonBlocking opens a pipe in the place of a file without waiting for its other end.
const nonBlocking = syscall.O_NONBLOCK

// hold waits until no other process holds the file, and holds it until it is closed, where the file system can do that.
func hold(f *os.File) {
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) {
	}
}
