//go:build !unix || aix || solaris

package xtfwriter

import "os"

// alive returns true: this system cannot tell whether a process exists. A lock is then taken over with Config.Force or Resume only.
func alive(int) bool { return true }

const nonBlocking = 0

// hold does nothing: this system has no advisory lock on files.
func hold(*os.File) {}
