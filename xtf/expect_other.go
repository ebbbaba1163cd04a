//go:build !linux || !(amd64 || arm64)

package xtf

import "os"

// willRead has a twin for Linux with 64-bit offsets in one register; elsewhere
// pages are read one after the other.
func willRead(*os.File, int64, int64) {}
