//go:build linux

package main

import (
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// BenchmarkBuild is for profiles.
func BenchmarkBuild(b *testing.B) {
	s := &file{profile: xtf.Packed}
	path := filepath.Join(b.TempDir(), "data")
	for b.Loop() {
		if err := s.Build(path, 10_000_000); err != nil {
			b.Fatal(err)
		}
	}
}
