package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// concurrent names the packages of the module in a folder whose code or tests begin goroutines, by a go statement, a method Go, or as
// ranks in one process. In the others the race detector has nothing to find.
func concurrent(module string) ([]string, error) {
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}", "./...")
	cmd.Dir = module
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var list []string
	for line := range bytes.Lines(out) {
		path, dir, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		begins, err := beginGoroutines(files)
		if err != nil {
			return nil, err
		}
		if begins {
			list = append(list, path)
		}
	}
	return list, nil
}

func beginGoroutines(files []string) (bool, error) {
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		found := false
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.GoStmt:
				found = true
			case *ast.SelectorExpr:
				found = found || slices.Contains([]string{"Go", "RunInProcess", "RunParallel", "Parallel"}, x.Sel.Name)
			}
			return !found
		})
		if found {
			return true, nil
		}
	}
	return false, nil
}

// raceTest is the step of the race detector.
func raceTest(b *output, t *tally) {
	for _, module := range []string{"", "bench"} {
		packages, err := concurrent(module)
		if err != nil {
			fmt.Fprintf(b.out, "FAIL packages with goroutines: %v\n", err)
			t.fail("packages with goroutines")
			return
		}
		goTestIn(module, nil, append([]string{"-race", "-short", "-skip", startsMPI}, packages...)...)(b, t)
	}
}
