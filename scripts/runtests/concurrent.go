package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// concurrent names the packages with tests of the module in a folder whose code or tests begin goroutines, by a go statement, a method Go, or
// as ranks in one process, and the others, in which the race detector has nothing to find.
func concurrent(module string) (with, without []string, err error) {
	tested, err := packagesWith(module, "*_test.go", anything)
	if err != nil {
		return nil, nil, err
	}
	found, err := packagesWith(module, "*.go", goroutine)
	for _, p := range tested {
		if slices.Contains(found, p) {
			with = append(with, p.path)
		} else {
			without = append(without, p.path)
		}
	}
	return with, without, err
}

// parallelTests matches the names of the tests of a package that begin with t.Parallel.
func parallelTests(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return "", err
	}
	var names []string
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		for _, m := range parallel.FindAllSubmatch(b, -1) {
			names = append(names, string(m[1]))
		}
	}
	if len(names) == 0 {
		return "", fmt.Errorf("no test of %s begins with t.Parallel", dir)
	}
	return "^(" + strings.Join(names, "|") + ")$", nil
}

var parallel = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\tt\.Parallel\(\)$`)

// goPackage is a package and its folder.
type goPackage struct{ path, dir string }

// packagesWith returns the packages of the module in a folder that have a match in one of the files with such names, without those that drive
// a browser: they import 60 packages, and all their tests of programs are long ones, which one step runs.
func packagesWith(module, names string, text *regexp.Regexp) ([]goPackage, error) {
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{.Deps}}`, "./...")
	cmd.Dir = module
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var list []goPackage
	for line := range bytes.Lines(out) {
		path, rest, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		dir, imports, _ := strings.Cut(rest, "\t")
		if strings.Contains(imports, "github.com/chromedp/") {
			continue
		}
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

var anything = regexp.MustCompile("")

// goroutine is what begins one, or a text that looks like it.
var goroutine = regexp.MustCompile(`(?m)^([^/\n]|/[^/\n])*(\bgo (func\b|[\w.]+\()|\.(Go|RunInProcess|RunParallel|Parallel)\()`)

// light is a step of the packages in bench that drive no browser.
func light(step func(packages ...string) func(*output, *tally)) func(*output, *tally) {
	return func(b *output, t *tally) {
		found, err := packagesWith("bench", "*.go", anything)
		if err != nil {
			fmt.Fprintf(b.out, "FAIL packages in bench: %v\n", err)
			t.fail("packages in bench")
			return
		}
		var paths []string
		for _, p := range found {
			paths = append(paths, p.path)
		}
		step(paths...)(b, t)
	}
}

// raceTest is the step of the race detector for a module. Of each program it sleeps a second at the end, for threads that report a race
// just then, unless told how long; the command and test programs that tests start are hundreds, one after the other.
func raceTest(module string) func(*output, *tally) {
	return fusedTest(module, []string{"GORACE=atexit_sleep_ms=20"}, func(with, _ []string) []string { return append([]string{"-race"}, with...) })
}

// restTest tests what raceTest leaves out. That is the command, too, where no MPICH is: it skips tests with the race detector.
func restTest(module string) func(*output, *tally) {
	return fusedTest(module, nil, func(_, without []string) []string {
		if module == "" && needsMPICH() != "" {
			return append(without, "./cmd/coppice")
		}
		return without
	})
}

func fusedTest(module string, env []string, choose func(with, without []string) []string) func(*output, *tally) {
	return func(b *output, t *tally) {
		with, without, err := concurrent(module)
		if err != nil {
			fmt.Fprintf(b.out, "FAIL packages with goroutines: %v\n", err)
			t.fail("packages with goroutines")
			return
		}
		goTestIn(module, append(env, fused()...), append([]string{"-short", "-skip", startsMPI}, choose(with, without)...)...)(b, t)
	}
}
