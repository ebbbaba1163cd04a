//go:build linux && (amd64 || arm64)

package xtf

import (
	"os"
	"syscall"
)

// willNeed is POSIX_FADV_WILLNEED.
const willNeed = 3

// willRead asks the system to fetch a part of a file and does not wait for it. Errors do not matter.
func willRead(f *os.File, off, n int64) {
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), uintptr(off), uintptr(n), willNeed, 0, 0)
}
