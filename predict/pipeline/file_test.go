package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// manual is the example of the documentation.
const manual = `
schema = "coppice.capacity/1"     # times in seconds
visits = 1
visit_law = "fixed"               # fixed | geometric
load = { jobs = 4, think = 0.0 }
centers = [                       # kind ps | fcfs | is, servers default 1
  { name = "node0.cpu",  kind = "ps", servers = 4 },
  { name = "node0.disk", kind = "fcfs" },
  { name = "net",        kind = "fcfs" },
  { name = "wire",       kind = "is" } ]
machines = [ { name = "node", centers = ["node0.cpu", "node0.disk"], count = 1, price = 1.0 } ]
[pipeline]
chunks = 16
buffer = 2
stages = [
  { name = "read",  demand = { "node0.disk" = 4.0, "node0.cpu" = 1.0 }, scv = 0.3, overhead_per_chunk = { "node0.cpu" = 0.002 } },
  { name = "solve", demand = { "node0.cpu" = 9.0, net = 0.4 }, scv = 0.3, workers = 1 },
  { name = "write", demand = { "node0.disk" = 1.5 }, scv = 0.3 } ]
[origin]                          # written by extract
input = "sha256:00"
window_s = [12.0, 48.5]
self_check_error = 0.031
`

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse([]byte(manual))
	if err != nil {
		t.Fatal(err)
	}
	want := disks(4)
	want.Machines = []Machine{{"node", []int{0, 1}, 1, 1}}
	want.Origin = &Origin{"sha256:00", [2]float64{12, 48.5}, .031}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

const head = "schema = \"coppice.capacity/1\"\ncenters = [{name = \"cpu\", kind = \"ps\"}, {name = \"disk\", kind = \"fcfs\"}]\n"

func TestParseGraphs(t *testing.T) {
	t.Parallel()
	m, err := Parse([]byte(head + `
[load]
jobs = 3
[classes.b]
demand = { cpu = 1 }
[classes.a]
demand = { disk = 2.5, cpu = 0.5 }
task_scv = 0.25
visits = 2
[[tasks]]
id = 7
class = "a"
after = [9, 9]
[[tasks]]
id = 9
class = "b"
`))
	if err != nil {
		t.Fatal(err)
	}
	ty := &m.Types[0]
	if ty.Jobs != 3 || ty.Classes[0].Name != "b" || len(ty.Tasks) != 2 || ty.Tasks[0].Class != 0 || ty.Tasks[1].After[0] != 0 {
		t.Errorf("%+v", ty)
	}
	if _, scv := ty.Classes[1].moments(); math.Abs(scv-.25) > 1e-12 {
		t.Errorf("a task varies by %v, not .25", scv)
	}
}

func TestParseTree(t *testing.T) {
	t.Parallel()
	m, err := Parse([]byte(head + `
tree = ["S", "a", ["P", "b", "b", "c"], ["OR", "d", "e"], ["ALT", [0.7, "f"], [0.3, "g"]]]
[classes]
a.demand = { cpu = 1 }
b.demand = { cpu = 1 }
c.demand = { cpu = 1 }
d.demand = { cpu = 1 }
e.demand = { cpu = 1 }
f.demand = { disk = 1 }
g.demand = { disk = 2 }
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Node{
		{Op: Series, Parts: []int{1, 2, 6, 9}},
		{Op: Leaf},
		{Op: And, Parts: []int{3, 4, 5}},
		{Op: Leaf, Class: 1},
		{Op: Leaf, Class: 1},
		{Op: Leaf, Class: 2},
		{Op: Or, Parts: []int{7, 8}},
		{Op: Leaf, Class: 3},
		{Op: Leaf, Class: 4},
		{Op: Choice, Parts: []int{10, 11}},
		{Op: Leaf, Class: 5, Prob: .7},
		{Op: Leaf, Class: 6, Prob: .3},
	}
	if diff := cmp.Diff(want, m.Types[0].Tree.Nodes); diff != "" {
		t.Error(diff)
	}
}

func TestParseTypes(t *testing.T) {
	t.Parallel()
	m, err := Parse([]byte(head + `
[[types]]
name = "query"
load = { jobs = 2, think = 3 }
[types.pipeline]
chunks = 4
[[types.pipeline.stages]]
name = "s"
demand = { cpu = 1 }
[[types]]
name = "batch"
[types.pipeline]
stages = [{ name = "t", demand = { disk = 1 } }]
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Types) != 2 || m.Types[0].Think != 3 || m.Types[1].Pipeline.Stages[0].Name != "t" || m.Types[0].Pipeline.Chunks != 4 {
		t.Errorf("%+v", m.Types)
	}
}

// TestParseErrors: line and name of what is wrong.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	change := func(old, next string) string {
		if !strings.Contains(manual, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(manual, old, next, 1)
	}
	var manyKeys strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&manyKeys, "k%d = 1\n", i)
	}
	tasks := func(s string) string { return head + "[classes.a]\ndemand = {cpu = 1}\n" + s }
	for _, c := range []struct{ name, file, want string }{
		{"schema", change("capacity/1", "capacity/2"), `schema is "coppice.capacity/2"`},
		{"unknown key", change("buffer = 2", "buffers = 2"), `line 14: unknown key "buffers"`},
		{"unknown key of a stage", change("workers", "worker"), `line 17: unknown key "worker" in "solve"`},
		{"unknown center", change(`net = 0.4`, `lan = 0.4`), `line 17: "solve": unknown center "lan"`},
		{"unknown center of a machine", change(`"node0.disk"]`, `"disk"]`), `line 11: machine "node": unknown center "disk"`},
		{"negative", change(`"node0.disk" = 1.5`, `"node0.disk" = -1.5`), `line 18: pipeline.stages[2].demand.node0.disk: "write": -1.5 is not 0 to`},
		{"NaN", change(`"node0.disk" = 1.5`, `"node0.disk" = nan`), `line 18: pipeline.stages[2].demand.node0.disk: "write": NaN`},
		{"no demand", change(`"node0.disk" = 1.5`, `"node0.disk" = 0`), `line 18: pipeline.stages[2].demand: "write" has 0 s`},
		{"servers", change("servers = 4", "servers = 0"), `line 7: centers[0].servers: center "node0.cpu" has 0 servers`},
		{"jobs", change("jobs = 4", "jobs = 0"), `line 5: load.jobs: 0 is not 1 to`},
		{"scv", change("scv = 0.3 }", "scv = -1 }"), `line 18: pipeline.stages[2].scv: "write": -1 is not`},
		{"size", change("chunks = 16", "chunks = 20_000_000"), `line 13: pipeline.chunks: 20000000 chunks of 3 stages are more than`},
		{"far too large", change("chunks = 16", "chunks = 9223372036854775807"), `line 13: pipeline.chunks: 2147483647 is not 1 to`},
		{"not an integer", change("chunks = 16", "chunks = 1.5"), `line 13: chunks is a number, not an integer`},
		{"twice", change("buffer = 2", "chunks = 2"), `line 14: "chunks" is there already (line 13)`},
		{"table twice", manual + "[pipeline]\n", `"pipeline" is there already`},
		{"syntax", change("buffer = 2", "buffer = = 2"), `line 14: not TOML`},
		{"kind", change(`kind = "is"`, `kind = "ls"`), `line 10: center "wire": kind "ls"`},
		{"law", change(`"fixed"`, `"fix"`), `line 4: visit_law "fix"`},
		{"no work", head, `give one of pipeline, tasks and tree, not 0`},
		{"cycle", tasks("[[tasks]]\nid = 1\nclass = \"a\"\nafter = [2]\n[[tasks]]\nid = 2\nclass = \"a\"\nafter = [1]\n"), "line 5: tasks wait for each other in a cycle: 2, 1, 2"},
		{"itself", tasks("[[tasks]]\nid = 1\nclass = \"a\"\nafter = [1]\n"), "cycle: 1, 1"},
		{"no such task", tasks("[[tasks]]\nid = 1\nclass = \"a\"\nafter = [3]\n"), "line 8: task 1: after names 3"},
		{"same id", tasks("[[tasks]]\nid = 1\nclass = \"a\"\n[[tasks]]\nid = 1\nclass = \"a\"\n"), "line 9: two tasks with id 1"},
		{"no class", tasks("[[tasks]]\nid = 1\nclass = \"b\"\n"), `unknown class "b"`},
		{"probabilities", head + "tree = [\"ALT\", [0.5, \"a\"], [0.4, \"a\"]]\n[classes.a]\ndemand = {cpu = 1}\n", "line 3: tree: the probabilities of ALT sum to 0.9"},
		{"operator", head + "tree = [\"Q\", \"a\"]\n[classes.a]\ndemand = {cpu = 1}\n", `unknown operator "Q"`},
		{"nested", head + "tree = " + strings.Repeat(`["S",`, 200) + `"a"` + strings.Repeat("]", 200) + "\n", "nested deeper than 100"},
		{"deep", head + "tree = " + strings.Repeat("[", 20_000), "line 3: not TOML"},
		{"long key", strings.Repeat("a.", 10_000) + "a = 1", "line 1: a.a.a.a.a.a.a.a: a key of more than 8 parts"},
		{"large file", strings.Repeat(" ", MaxFile+1), "at most"},
		{"many keys", head + manyKeys.String(), `unknown key "k0"`}, // in time that grows with them, not with their square
		{"task_scv", tasks("task_scv = 0.1\nscv = 1\n[[tasks]]\nid = 1\nclass = \"a\"\n"), "give scv, of a visit, or task_scv"},
		{"type at the top", head + "load = {jobs = 1}\n[[types]]\nname = \"x\"\n", "line 3: load belongs into types"},
		{"center twice", strings.Replace(head, "disk", "cpu", 1), `two centers are called "cpu"`},
	} {
		_, err := Parse([]byte(c.file))
		var e *FileError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.name, err, c.want)
		}
	}
}

// FuzzParse: any bytes are refused or make a model that can be written and read again, and that the bounds can be given of.
func FuzzParse(f *testing.F) {
	f.Add([]byte(manual))
	f.Add([]byte(head + "tree = [\"S\", \"a\", [\"OR\", \"a\", \"a\"]]\n[classes.a]\ndemand = {cpu = 1}\n"))
	f.Add([]byte(head + "[[tasks]]\nid = 1\nclass = \"a\"\nafter = [1]\n[classes.a]\ndemand = {cpu = 1}\n"))
	f.Add([]byte(head + "[[types]]\nname = \"a\"\n[types.pipeline]\nstages = [{name = \"x\", demand = {cpu = 1}}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			var e *FileError
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		text := m.Append(nil)
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(m, again, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	})
}
