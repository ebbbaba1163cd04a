package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestBeginGoroutines(t *testing.T) {
	for text, want := range map[string]bool{
		"package p\nfunc f() { go f() }":                        true,
		"package p\nfunc f(g group) { g.Go(nil) }":              true,
		"package p\nfunc f() { _ = mpi.RunInProcess(2, nil) }":  true,
		"package p\nimport \"sync\"\nvar once sync.Once":        false,
		"package p\n// go f()\nfunc f(going bool) { f(going) }": false,
	} {
		name := filepath.Join(t.TempDir(), "p.go")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := anyMatches([]string{name}, goroutine); err != nil || got != want {
			t.Errorf("%v, %v of\n%s", got, err, text)
		}
	}
	with, without, err := concurrent("../..")
	if err != nil || len(with) < 10 || len(without) < 10 || !slices.Contains(with, module+"/mpi") || !slices.Contains(without, module+"/internal/varint") {
		t.Errorf("%v %v %v", with, without, err)
	}
}
