//go:build !unix

package xtfwriter

// alive cannot be told here; a lock is then taken over with force only.
func alive(int) bool { return true }
