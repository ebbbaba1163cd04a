package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCurrent compares the generated files with their declarations.
func TestCurrent(t *testing.T) {
	for name, o := range outputs {
		dir := filepath.Join("..", "..", o.pkg)
		want, err := o.make(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, o.file)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s is not what schema %s writes: run go generate ./%s (%v)", o.pkg, o.file, name, o.pkg, err)
		}
	}
}

// What cannot be a row is refused.
func TestRefused(t *testing.T) {
	for src, want := range map[string]string{
		"//xtf:row 1 A\ntype A struct{ X uint64 }":         "want //xtf:row",
		"//xtf:row 1 A up\ntype A struct{ X uint64 }":      "want //xtf:row",
		"//xtf:row 1 A key\ntype A struct{ X, Y float64 }": "A.X: a column cannot be a float64",
		"//xtf:row 1 A key\ntype A struct{ X []uint32 }":   "cannot be a list",
		"//trace:def 1\ntype A struct{ X uint8 }":          "want //trace:def",
		"//trace:def 1 As\ntype A struct{ X uint8 }":       "A.X has no name",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte("package p\n\n"+src+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, o := range outputs {
			if _, err := o.make(dir); err != nil {
				said = append(said, err.Error())
			}
		}
		if got := strings.Join(said, "; "); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}
