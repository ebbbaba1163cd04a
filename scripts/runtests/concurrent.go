package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// concurrent names the packages of the module in a folder whose code or tests begin goroutines, by a go statement, a method Go, or as
// ranks in one process. In the others the race detector has nothing to find.
func concurrent(module string) ([]string, error) {
	var list []string
	found, err := packagesWith(module, "*.go", goroutine)
	for _, p := range found {
		list = append(list, p.path)
	}
	return list, err
}

// goPackage is a package and its folder.
type goPackage struct{ path, dir string }

// packagesWith returns the packages of the module in a folder that have a match in one of the files with such names.
func packagesWith(module, names string, text *regexp.Regexp) ([]goPackage, error) {
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}", "./...")
	cmd.Dir = module
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var list []goPackage
	for line := range bytes.Lines(out) {
		path, dir, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		files, err := filepath.Glob(filepath.Join(dir, names))
		if err != nil {
			return nil, err
		}
		found, err := anyMatches(files, text)
		if err != nil {
			return nil, err
		}
		if found {
			list = append(list, goPackage{path, dir})
		}
	}
	return list, nil
}

func anyMatches(files []string, text *regexp.Regexp) (bool, error) {
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil || text.Match(b) {
			return err == nil, err
		}
	}
	return false, nil
}

// goroutine is what begins one, or a text that looks like it.
var goroutine = regexp.MustCompile(`(?m)^([^/\n]|/[^/\n])*(\bgo (func\b|[\w.]+\()|\.(Go|RunInProcess|RunParallel|Parallel)\()`)

// raceTest is the step of the race detector for a module.
func raceTest(module string) func(*output, *tally) {
	return func(b *output, t *tally) {
		packages, err := concurrent(module)
		if err != nil {
			fmt.Fprintf(b.out, "FAIL packages with goroutines: %v\n", err)
			t.fail("packages with goroutines")
			return
		}
		goTestIn(module, nil, append([]string{"-race", "-short", "-skip", startsMPI}, packages...)...)(b, t)
	}
}
