package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLayers compares the module and that of bench with the table, in all the configurations they are built in.
func TestLayers(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not on the PATH")
	}
	nodes := map[string]*Node{}
	for _, config := range []struct{ cgo, tags string }{
		{"1", ""}, {"1", "mpich"}, {"1", "nompi"}, {"0", ""},
	} {
		for _, dir := range []string{"../..", "../../bench"} {
			list(t, nodes, dir, config.cgo, config.tags)
		}
	}
	if n := nodes[Module+"/mpi"]; n == nil || !n.Cgo {
		t.Error("the C code of package mpi was not seen: the list of packages is not complete")
	}
	var all []Node
	for _, n := range nodes {
		all = append(all, *n)
	}
	for _, breach := range Project().Check(all) {
		t.Error(breach)
	}
	for _, p := range Table {
		if nodes[Module+"/"+p.Path] == nil && !slices.Contains(Families, p.Path) {
			t.Errorf("%s: a line of the table without a package", p.Path)
		}
	}
}

// list adds what go list says of the module in dir, in one build configuration, to nodes. It works without a C compiler too.
func list(t *testing.T, nodes map[string]*Node, dir, cgo, tags string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-tags", tags, "-json=ImportPath,Imports,TestImports,XTestImports,"+
		"CgoFiles,CFiles,CXXFiles,SFiles", "./...")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED="+cgo)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
			CgoFiles, CFiles, CXXFiles, SFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		n := nodes[p.ImportPath]
		if n == nil {
			n = &Node{Path: p.ImportPath}
			nodes[p.ImportPath] = n
		}
		n.Imports = append(n.Imports, p.Imports...)
		n.Tests = append(append(n.Tests, p.TestImports...), p.XTestImports...)
		n.Cgo = n.Cgo || len(p.CgoFiles)+len(p.CFiles)+len(p.CXXFiles)+len(p.SFiles) > 0
	}
}

// made is a small module that keeps the rules. The cases below break one each.
func made() (Rules, map[string]*Node) {
	r := Rules{
		Module: "m.org/m",
		Table: []Package{
			{Path: "words", Layer: 0},
			{Path: "mpi", Layer: 0, Cgo: true},
			{Path: "file", Layer: 1, NoMPI: true},
			{Path: "graph", Layer: 1},
			{Path: "internal/fake", Layer: 1, Only: []string{"words"}, Importers: []string{"cmd"}},
			{Path: "guess", Layer: 2},
			{Path: "job", Layer: 3},
			{Path: "view", Layer: 3, NoMPI: true},
			{Path: "cmd", Layer: 5},
		},
		Families:     []string{"guess"},
		Dependencies: []Dependency{{Path: "d.org/any"}, {Path: "d.org/one", Importers: []string{"cmd"}}, {Path: "d.org/test", TestOnly: true}},
	}
	nodes := map[string]*Node{}
	add := func(path, imports, tests string) {
		nodes[path] = &Node{Path: "m.org/m/" + path, Imports: strings.Fields(imports), Tests: strings.Fields(tests)}
	}
	add("words", "fmt", "m.org/m/words m.org/m/internal/fake d.org/test/cmp")
	add("mpi", "C d.org/any/x", "testing")
	nodes["mpi"].Cgo = true
	add("file", "m.org/m/words", "m.org/m/internal/fake")
	add("graph", "m.org/m/words m.org/m/mpi", "")
	add("internal/fake", "m.org/m/words", "")
	add("guess", "m.org/m/guess/a m.org/m/guess/b m.org/m/words", "")
	add("guess/a", "m.org/m/graph", "")
	add("guess/b", "m.org/m/file", "")
	add("job", "m.org/m/guess m.org/m/graph", "")
	add("view", "m.org/m/file", "m.org/m/internal/fake")
	add("cmd", "m.org/m/job m.org/m/view m.org/m/internal/fake d.org/one", "m.org/m/mpi")
	return r, nodes
}

func TestCheckMadeUp(t *testing.T) {
	imports := func(from string, to ...string) func(map[string]*Node) {
		return func(n map[string]*Node) { n[from].Imports = append(n[from].Imports, to...) }
	}
	tests := func(from string, to ...string) func(map[string]*Node) {
		return func(n map[string]*Node) { n[from].Tests = append(n[from].Tests, to...) }
	}
	for _, c := range []struct {
		name   string
		change func(map[string]*Node)
		want   []string
	}{
		{"kept", func(map[string]*Node) {}, nil},
		{"upward", imports("graph", "m.org/m/job"), []string{"graph: imports upward: job (layer 3, from layer 1)"}},
		{"sideways", imports("graph", "m.org/m/file"), []string{"graph: imports sideways: file (both in layer 1)"}},
		{
			"upward from a test", tests("graph", "m.org/m/cmd"),
			[]string{"graph: its tests import upward: cmd (layer 5, from layer 1)"},
		},
		{
			"sideways from a test", tests("job", "m.org/m/view"),
			[]string{"job: its tests import sideways: view (both in layer 3)"},
		},
		{
			"part imports part", imports("guess/a", "m.org/m/guess/b"),
			[]string{"guess/a: imports sideways: guess/b (both in layer 2)"},
		},
		{
			"part imports head", imports("guess/a", "m.org/m/guess"),
			[]string{"guess/a: imports sideways: guess (both in layer 2)"},
		},
		{"C outside mpi", func(n map[string]*Node) { n["file"].Cgo = true }, []string{"file: uses C, which only mpi may"}},
		{"reaches mpi at once", imports("file", "m.org/m/mpi"), []string{
			"file: must not reach mpi, but does: file -> mpi", "view: must not reach mpi, but does: view -> file -> mpi",
		}},
		{
			"reaches mpi far off", imports("view", "m.org/m/guess/a"),
			[]string{"view: must not reach mpi, but does: view -> guess/a -> graph -> mpi"},
		},
		{
			"not in the table", func(n map[string]*Node) { n["new"] = &Node{Path: "m.org/m/new"} },
			[]string{"new: not in the table of internal/layers: give it a layer there"},
		},
		{
			"root not in the table", func(n map[string]*Node) { n["."] = &Node{Path: "m.org/m"} },
			[]string{".: not in the table of internal/layers: give it a layer there"},
		},
		{
			"import not in the table", imports("job", "m.org/m/new"),
			[]string{"job: imports new, which is not in the table"},
		},
		{
			"fake in code", imports("job", "m.org/m/internal/fake"),
			[]string{"job: imports internal/fake, which only tests and cmd may"},
		},
		{
			"fake imports more", imports("internal/fake", "m.org/m/mpi"),
			[]string{"internal/fake: imports mpi, but may import only: words"},
		},
		{
			"unknown dependency", imports("job", "d.org/anyone/x"),
			[]string{"job: imports d.org/anyone/x, which is not among the dependencies"},
		},
		{
			"dependency of one package", imports("job", "d.org/one/x"),
			[]string{"job: imports d.org/one/x, which only cmd may"},
		},
		{
			"test dependency in code", imports("job", "d.org/test/cmp"),
			[]string{"job: imports d.org/test/cmp, which is for tests only"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, nodes := made()
			c.change(nodes)
			var all []Node
			for _, n := range nodes {
				all = append(all, *n)
			}
			got := r.Check(all)
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("breaches\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestTable finds lines that contradict themselves.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Table {
		if seen[p.Path] {
			t.Errorf("%s is in the table twice", p.Path)
		}
		seen[p.Path] = true
		if p.Layer < 0 {
			t.Errorf("%s: layer %d", p.Path, p.Layer)
		}
	}
	for _, p := range Table {
		for _, name := range append(append([]string{}, p.Only...), p.Importers...) {
			if !seen[name] {
				t.Errorf("%s names %s, which is not in the table", p.Path, name)
			}
		}
	}
}
