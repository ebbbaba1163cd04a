package layers

import (
	"fmt"
	"slices"
	"strings"
)

// Node is what the go command knows about one package: import paths, and whether it holds C code. Lists of several
// build configurations are put together.
type Node struct {
	Path    string // full import path
	Imports []string
	Tests   []string // imports of the tests, inside and outside of the package
	Cgo     bool
}

// Rules are a table in the form that Check reads.
type Rules struct {
	Module       string
	Table        []Package
	Families     []string
	Dependencies []Dependency
}

// Project returns the rules of this module.
func Project() Rules {
	return Rules{Module: Module, Table: Table, Families: Families, Dependencies: Dependencies}
}

// Check compares nodes with the rules and returns one line per breach, sorted.
func (r Rules) Check(nodes []Node) []string {
	c := checker{Rules: r, nodes: map[string]Node{}, breaches: map[string]bool{}}
	for _, n := range nodes {
		if path, ok := c.local(n.Path); ok {
			c.nodes[path] = n
		}
	}
	for path, n := range c.nodes {
		c.node(path, n)
	}
	var list []string
	for b := range c.breaches {
		list = append(list, b)
	}
	slices.Sort(list)
	return list
}

type checker struct {
	Rules
	nodes    map[string]Node
	breaches map[string]bool
}

func (c *checker) breach(format string, args ...any) { c.breaches[fmt.Sprintf(format, args...)] = true }

// local returns the path relative to the module.
func (c *checker) local(path string) (string, bool) {
	if path == c.Module {
		return ".", true
	}
	return strings.CutPrefix(path, c.Module+"/")
}

// family returns the family that path is a part of; the head is not a part.
func (c *checker) family(path string) string {
	for _, f := range c.Families {
		if strings.HasPrefix(path, f+"/") {
			return f
		}
	}
	return ""
}

// line finds the table's line for a path; a part of a family without a line of its own has its family's.
func (c *checker) line(path string) (Package, bool) {
	for _, want := range []string{path, c.family(path)} {
		i := slices.IndexFunc(c.Table, func(p Package) bool { return want != "" && p.Path == want })
		if i >= 0 {
			return c.Table[i], true
		}
	}
	return Package{}, false
}

func (c *checker) node(path string, n Node) {
	line, ok := c.line(path)
	if !ok {
		c.breach("%s: not in the table of internal/layers: give it a layer there", path)
		return
	}
	if n.Cgo && !line.Cgo {
		c.breach("%s: uses C, which only %s may", path, strings.Join(c.cgoPackages(), " and "))
	}
	if line.NoMPI {
		if way := c.wayTo(path, "mpi"); way != nil {
			c.breach("%s: must not reach mpi, but does: %s", path, strings.Join(way, " -> "))
		}
	}
	for _, imp := range n.Imports {
		c.edge(path, line, imp, false)
	}
	for _, imp := range n.Tests {
		c.edge(path, line, imp, true)
	}
}

// edge checks one import of path.
func (c *checker) edge(path string, from Package, imp string, test bool) {
	to, ok := c.local(imp)
	if !ok {
		c.outside(path, imp, test)
		return
	}
	what := "imports"
	if test {
		what = "its tests import"
	}
	line, ok := c.line(to)
	switch {
	case to == path: // an outside test of the package itself
	case !ok:
		c.breach("%s: %s %s, which is not in the table", path, what, to)
	case from.Only != nil && !slices.Contains(from.Only, to):
		c.breach("%s: %s %s, but may import only: %s", path, what, to, strings.Join(from.Only, ", "))
	case test && line.Importers != nil: // made for tests
	case line.Importers != nil && !slices.Contains(line.Importers, path) && !slices.Contains(line.Importers, c.family(path)):
		c.breach("%s: %s %s, which only tests and %s may", path, what, to, strings.Join(line.Importers, ", "))
	case c.family(to) != "" && c.family(to) == path: // the head imports a part
	case line.Layer > from.Layer:
		c.breach("%s: %s upward: %s (layer %d, from layer %d)", path, what, to, line.Layer, from.Layer)
	case line.Layer == from.Layer:
		c.breach("%s: %s sideways: %s (both in layer %d)", path, what, to, line.Layer)
	}
}

// outside checks an import from another module. Paths without a dot in the first element are the standard library.
func (c *checker) outside(path, imp string, test bool) {
	first, _, _ := strings.Cut(imp, "/")
	if !strings.Contains(first, ".") {
		return
	}
	for _, d := range c.Dependencies {
		if imp != d.Path && !strings.HasPrefix(imp, d.Path+"/") {
			continue
		}
		if d.TestOnly && !test {
			c.breach("%s: imports %s, which is for tests only", path, imp)
		}
		if d.Importers != nil && !slices.Contains(d.Importers, path) {
			c.breach("%s: imports %s, which only %s may", path, imp, strings.Join(d.Importers, ", "))
		}
		return
	}
	c.breach("%s: imports %s, which is not among the dependencies", path, imp)
}

func (c *checker) cgoPackages() []string {
	var list []string
	for _, p := range c.Table {
		if p.Cgo {
			list = append(list, p.Path)
		}
	}
	return list
}

// wayTo returns the imports that lead from one package to another, nil when none do. Tests do not count.
func (c *checker) wayTo(from, to string) []string {
	seen := map[string]bool{}
	var walk func(path string) []string
	walk = func(path string) []string {
		if path == to {
			return []string{path}
		}
		if seen[path] {
			return nil
		}
		seen[path] = true
		imports := slices.Clone(c.nodes[path].Imports)
		slices.Sort(imports)
		for _, imp := range imports {
			if next, ok := c.local(imp); ok {
				if way := walk(next); way != nil {
					return append([]string{path}, way...)
				}
			}
		}
		return nil
	}
	return walk(from)
}
