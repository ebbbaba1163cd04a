package layers

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// size is how much there is of a package or a type: lines and files of the one, fields and methods of the other.
type size [2]int

// sizeLimits are those of a package and of a type.
var sizeLimits = map[string]size{"package": {6000, 40}, "type": {20, 30}}

// larger are the packages and types above them, with sizes that they may not exceed. What is split leaves the list.
var larger = map[string]size{
	"package stats/causes":              {7700, 40},
	"package xtf":                       {10600, 47},
	"type internal/oracle.analysis":     {20, 72},
	"type internal/query.answer":        {25, 30},
	"type jobs/analyze.Options":         {31, 30},
	"type jobs/prediction.prediction":   {20, 41},
	"type mpi.mpiComm":                  {20, 49},
	"type report.Document":              {25, 30},
	"type report.Graph":                 {28, 30},
	"type report/findings.FindingFacts": {25, 30},
	"type report/findings.finder":       {20, 70},
	"type report/results.Interval":      {27, 30},
	"type report/results.Run":           {20, 41},
	"type report/results.Ticks":         {40, 30},
	"type stats/causes.Delays":          {31, 38},
	"type trace.Definitions":            {20, 72},
	"type view.RunMeta":                 {27, 30},
	"type view.run":                     {20, 57},
	"type xtf.ArrayBuilder":             {22, 38},
	"type xtf.File":                     {20, 49},
}

// TestSizes keeps packages and types from growing. Generated files do not count.
func TestSizes(t *testing.T) {
	t.Parallel()
	sizes, err := sizesOf("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(sizes) < 500 {
		t.Errorf("only %d packages and types", len(sizes))
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		kind, _, _ := strings.Cut(name, " ")
		now, most := sizes[name], sizeLimits[kind]
		within := now[0] <= most[0] && now[1] <= most[1]
		if more, listed := larger[name]; listed {
			if within {
				t.Errorf("%s is within %v: it leaves the list of larger ones", name, most)
			}
			most = more
		}
		if now[0] > most[0] || now[1] > most[1] {
			t.Errorf("%s has %v, at most %v are allowed", name, now, most)
		}
	}
	for name := range larger {
		if _, ok := sizes[name]; !ok {
			t.Errorf("%s is in the list of larger ones and does not exist", name)
		}
	}
}

// sizesOf measures all packages of the product below a folder, and their struct types.
func sizesOf(root string) (map[string]size, error) {
	sizes := map[string]size{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name == "bench" || name == "testdata" || name == "out" || name[0] == '.') {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		return addSizes(sizes, filepath.ToSlash(folder), path)
	})
	return sizes, err
}

// addSizes adds a file of a package.
func addSizes(sizes map[string]size, folder, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, b, 0)
	if err != nil {
		return err
	}
	add := func(name string, first, second int) {
		s := sizes[name]
		sizes[name] = size{s[0] + first, s[1] + second}
	}
	add("package "+folder, bytes.Count(b, []byte{'\n'}), 1)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				add(fmt.Sprintf("type %s.%s", folder, receiver(d.Recv.List[0].Type)), 0, 1)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					if x, ok := s.Type.(*ast.StructType); ok {
						add(fmt.Sprintf("type %s.%s", folder, s.Name.Name), fields(x), 0)
					}
				}
			}
		}
	}
	return nil
}

// receiver returns the name of a method's type.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}

// fields counts the fields of a struct; an embedded one is one.
func fields(x *ast.StructType) (n int) {
	for _, f := range x.Fields.List {
		n += max(len(f.Names), 1)
	}
	return n
}
