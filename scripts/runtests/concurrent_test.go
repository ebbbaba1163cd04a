package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestParallelTests: of the tests of a package those that begin with t.Parallel are the ones of the recorder that the step test runs.
func TestParallelTests(t *testing.T) {
	dir := t.TempDir()
	text := "package p\n\nfunc TestA(t *testing.T) {\n\tt.Parallel()\n}\n\nfunc TestB(t *testing.T) {\n\tt.Run(\"\", func(t *testing.T) {\n\t\tt.Parallel()\n\t})\n}\n\n" +
		"func TestC(t *testing.T) {\n\tt.Parallel()\n}\n"
	if got, err := parallelTests(dir); err == nil {
		t.Errorf("%s of no tests", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "p_test.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := parallelTests(dir); err != nil || got != "^(TestA|TestC)$" {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := parallelTests("../../record"); err != nil || !strings.Contains(got, "|TestPrograms|") || strings.Contains(got, "TestPlanted") {
		t.Errorf("%s, %v", got, err)
	}
}
