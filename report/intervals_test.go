package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// written is a run of single-threaded processes, row by row.
type written struct {
	defs  *trace.Definitions
	nodes []writtenNode
	rows  map[xtf.Proc]func(array func(xtf.TypeID) *xtf.ArrayBuilder) // more rows of a location, or of the whole run
}

// writtenNode is a node with the items of the processes that executed it.
type writtenNode struct {
	xtf.Interval
	name, file string
	processes  map[uint32]items
}

// rootNode is the whole program of the given processes.
func rootNode(processes ...items) writtenNode {
	n := writtenNode{processes: map[uint32]items{}}
	n.FirstBegin, n.ExeMax, n.ExeMin = xtf.Never, 1, 1
	for p, x := range processes {
		n.processes[uint32(p)] = x
		n.FirstBegin, n.LastEnd = min(n.FirstBegin, x[xtf.ItemFirst]), max(n.LastEnd, x[xtf.ItemLast])
	}
	return n
}

// add is a function that appends one row.
type row interface{ Put(dst []byte) }

func put(a *xtf.ArrayBuilder, r row) {
	b, _ := a.Append()
	r.Put(b)
}

// write makes the file and opens it.
func (x *written) write(t testing.TB, processes int) *results.Run {
	t.Helper()
	if x.defs == nil {
		src, err := synthetic.New(synthetic.Options{Processes: processes, Iterations: 1})
		if err != nil {
			t.Fatal(err)
		}
		x.defs = src.Definitions()
		x.defs.Clocks[0].TimerResolution = 1_000_000
	}
	types := xtf.StandardTypes(xtf.Packed)
	defs, err := x.defs.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.xtf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := xtftest.NewFileWriter(f, types, [16]byte{1, 2, 3}, &xtftest.MemorySink{})
	for p := range processes {
		region(t, w, types, xtf.Proc(p), func(array func(xtf.TypeID) *xtf.ArrayBuilder) { x.location(array, uint32(p)) })
	}
	var names []byte
	region(t, w, types, xtf.WholeRun, func(array func(xtf.TypeID) *xtf.ArrayBuilder) { names = x.whole(array) })
	blobs := []xtf.Blob{
		xtf.BytesBlob(xtf.KindDefinitions, 1, 1, defs), xtf.BytesBlob(xtf.KindProvenance, 1, 0, []byte(`{"tool":"test"}`)),
		xtf.BytesBlob(xtf.KindNodeNames, 1, 0, names),
	}
	if err := w.Commit(blobs); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := results.Open(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func (x *written) location(array func(xtf.TypeID) *xtf.ArrayBuilder, p uint32) {
	for n := range x.nodes {
		for i := range xtf.NumItems {
			if v := x.nodes[n].processes[p][i]; v != 0 {
				put(array(xtf.TypeComp), &xtf.Comp{Key: xtf.NodeKey(uint32(n), uint32(i)), Value: v})
			}
		}
	}
	if f := x.rows[xtf.Proc(p)]; f != nil {
		f(array)
	}
}

// whole writes INTERVAL and STAT rows; it returns the names.
func (x *written) whole(array func(xtf.TypeID) *xtf.ArrayBuilder) (names []byte) {
	count := uint32(0)
	name := func(s string) uint32 {
		if s == "" {
			return 0
		}
		names = append(append(names, byte(len(s))), s...)
		count++
		return count
	}
	for n := range x.nodes {
		node := &x.nodes[n]
		row := node.Interval
		row.Key, row.Name, row.File = uint64(n), name(node.name), name(node.file)
		row.Participants = uint32(len(node.processes))
		put(array(xtf.TypeInterval), &row)
		var sum results.Gathered
		for p := range uint32(1000) {
			if v, ok := node.processes[p]; ok {
				one := results.ProcessItems{Rank: p, Values: map[uint64]uint64{}}
				for i, value := range v {
					one.Values[xtf.NodeKey(uint32(n), uint32(i))] = value
				}
				sum.Add(&one, uint32(n))
			}
		}
		for i := range xtf.NumItems {
			if s := &sum.Items[i]; s.Max > 0 || i <= xtf.ItemLast && n == 0 {
				s.Key = xtf.NodeKey(uint32(n), uint32(i))
				put(array(xtf.TypeStat), s)
			}
		}
	}
	if f := x.rows[xtf.WholeRun]; f != nil {
		f(array)
	}
	return names
}

// text is a section as text, without the document's first line.
func sectionText(t testing.TB, r *results.Run, o Options) string {
	t.Helper()
	d, err := New(r, o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b, d, "text", table.Style{}); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(b.String(), "\n\n")
	return text
}

// seed is the worked example of the DVM school's interval analyzer.
func seed(t testing.TB) *results.Run {
	root := rootNode(
		process(2079975, 2022145, 57830, 0), process(2079103, 2021273, 57830, 0),
		process(2079103, 2021273, 57830, 0), process(2079103, 2021273, 57830, 0))
	root.file, root.Line = "exch.c", 153
	return (&written{nodes: []writtenNode{root}}).write(t, 4)
}

const seedBlock = `Interval (LineNumber = 153 SourceFile = exch.c) Level=0 EXE_Count=1
 ---Main Characteristics---
Parallelization Efficiency   0.978833
Execution Time               2.079975
Processors                   4
Total Time                   8.319900
Productive Time              8.143794 (CPU MPI)
  rule: MPI time of one processor (%s) counts as productive
Lost Time                    0.176106
---MPI Time                  0.173490
---Idle Time                 0.002616
`

// TestSeedLayout compares the layout with the seed's, digit for digit. With equal
// MPI time on all processes the rule does not matter.
func TestSeedLayout(t *testing.T) {
	t.Parallel()
	r := seed(t)
	for _, rule := range []results.Productive{"", results.ProductiveMean, results.ProductiveMin, results.ProductiveMax, results.ProductiveRank0} {
		got := sectionText(t, r, Options{Sections: []Section{SectionIntervals}, Intervals: results.IntervalOptions{Rules: results.Rules{Productive: rule}}})
		if want := fmt.Sprintf(seedBlock, results.Rules{Productive: rule}.Rule()); got != want {
			t.Errorf("rule %q (-want +got):\n%s", rule, cmp.Diff(want, got))
		}
	}
	got := sectionText(t, r, Options{Sections: []Section{SectionIntervals}, Intervals: results.IntervalOptions{Russian: true}})
	for _, want := range []string{"Коэффициент эффективности    0.978833\n", "Потерянное время             0.176106\n", "---Простои                   0.002616\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// goldenG3 is the trace G3 of the interval model: nested, repeated intervals with
// markers; its components were worked by hand.
func goldenG3(t testing.TB) *results.Run {
	node := func(time, cpu, mpi, marker, executions, late uint64) items {
		return items{
			xtf.ItemTime: time, xtf.ItemCPU: cpu, xtf.ItemMPI: mpi, xtf.ItemMarker: marker, xtf.ItemP2P: mpi, xtf.ItemComm: mpi,
			xtf.ItemExecutions: executions, xtf.ItemLateSender: late, xtf.ItemEvents: 1,
		}
	}
	a, b := node(100, 70, 22, 8, 1, 4), node(98, 81, 9, 8, 1, 0)
	a[xtf.ItemLast], b[xtf.ItemLast] = 100, 98
	a[xtf.ItemIdealLast], b[xtf.ItemIdealLast], a[xtf.ItemIdeal], b[xtf.ItemIdeal] = 92, 89, 92, 89
	outer := writtenNode{Interval: xtf.Interval{Marker: 1, Level: 1, ExeMax: 1, ExeMin: 1, FirstBegin: 5, LastEnd: 60, SumMax: 55}, processes: map[uint32]items{0: node(55, 32, 17, 6, 1, 4), 1: node(53, 42, 5, 6, 1, 0)}}
	body := writtenNode{
		Interval: xtf.Interval{Marker: 2, Parent: 1, Level: 2, ExeMax: 3, ExeMin: 3, FirstBegin: 9, LastEnd: 57, SumMax: 45, Line: 160}, name: "body", file: "src/exch.c",
		processes: map[uint32]items{0: node(36, 26, 10, 0, 3, 2), 1: node(44, 39, 5, 0, 3, 0)},
	}
	return (&written{nodes: []writtenNode{rootNode(a, b), outer, body}}).write(t, 2)
}

func TestGoldenG3(t *testing.T) {
	t.Parallel()
	x, _, err := NewIntervals(goldenG3(t), results.IntervalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []struct {
		path                                   []int
		execution, total, idle, imbalance      int64
		productive, lost, efficiency, lb, comm float64
		dephasing                              uint64
		late                                   int64
	}{
		{[]int{0}, 100, 200, 2, 11, 166.5, 33.5, 0.8325, 0.932099, 0.81, 0, 4},
		{[]int{0, 0}, 55, 110, 2, 10, 85, 25, 0.772727, 0.880952, 0.763636, 0, 4},
		{[]int{0, 0, 0}, 44, 88, 8, 13, 72.5, 15.5, 0.823864, 0.833333, 0.886364, 1, 2},
	} {
		i := x.Nodes[n]
		if diff := cmp.Diff(want.path, i.Path); diff != "" {
			t.Errorf("node %d: %s", n, diff)
		}
		k := &i.Ticks
		if int64(k.Execution) != want.execution || int64(k.Total) != want.total || int64(k.Idle) != want.idle || int64(k.LoadImbalance) != want.imbalance || *k.Dephasing != want.dephasing || int64(i.Waits.Total) != want.late {
			t.Errorf("node %d: %+v", n, k)
		}
		for _, y := range []struct {
			name string
			got  numbers.Ratio
			want float64
		}{
			{"productive", numbers.Part(k.Productive, numbers.Integer(1)), want.productive},
			{"lost", numbers.Part(k.Lost, numbers.Integer(1)), want.lost},
			{"efficiency", i.Efficiency, want.efficiency},
			{"load balance", i.POP.LoadBalance, want.lb},
			{"communication", i.POP.Communication, want.comm},
		} {
			if math.Abs(y.got.Value-y.want) > 5e-7 {
				t.Errorf("node %d: %s is %v, want %v", n, y.name, y.got.Value, y.want)
			}
		}
	}
	for n, want := range []string{"90 77 9 0", "28 9 7 2", "80 65 15 2"} {
		e := x.Nodes[n].Exclusive
		if got := fmt.Sprintf("%s %s %s %s", e.Time, e.CPU, e.MPI, e.Waits); got != want {
			t.Errorf("node %d without the nodes in it: %s, want %s", n, got, want)
		}
	}
	root := x.Nodes[0].POP
	if math.Abs(root.Serialisation.Value-81.0/92) > 1e-15 || root.Transfer.Value != 0.92 || root.Approximate {
		t.Errorf("%+v", root)
	}
	if !x.Nodes[2].Uneven && x.Nodes[2].Text != "body  exch.c:160" {
		t.Errorf("label %q", x.Nodes[2].Text)
	}
}

// TestParticipants is the trace G4: an interval that only two of three processes
// execute.
func TestParticipants(t *testing.T) {
	t.Parallel()
	cpu := func(time uint64) items {
		return items{xtf.ItemTime: time, xtf.ItemCPU: time, xtf.ItemExecutions: 1, xtf.ItemLast: time, xtf.ItemEvents: 2}
	}
	seven := writtenNode{Interval: xtf.Interval{Marker: 7, Level: 1, ExeMax: 1, ExeMin: 1, FirstBegin: 10, LastEnd: 50, SumMax: 40}, processes: map[uint32]items{0: cpu(40), 1: cpu(10)}}
	r := (&written{nodes: []writtenNode{rootNode(cpu(50), cpu(50), cpu(50)), seven}}).write(t, 3)
	for _, want := range []struct {
		rules                   results.Rules
		processors              uint64
		total, productive, idle int64
		efficiency              string
	}{
		{results.Rules{}, 2, 80, 50, 30, "0.625000"},
		{results.Rules{AllProcesses: true}, 3, 120, 50, 70, "0.416667"},
	} {
		x, _, err := NewIntervals(r, results.IntervalOptions{Rules: want.rules})
		if err != nil {
			t.Fatal(err)
		}
		n := x.Nodes[1]
		if n.Processors != want.processors || int64(n.Ticks.Total) != want.total || int64(n.Ticks.Idle) != want.idle || n.Ticks.EfficiencyText() != want.efficiency {
			t.Errorf("%+v: %d processors, %+v, efficiency %s", want.rules, n.Processors, n.Ticks, n.Ticks.EfficiencyText())
		}
	}
}

// TestProductiveRules checks the order none <= min <= mean <= max, and that one
// process loses its markers alone.
func TestProductiveRules(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name      string
		processes []items
		want      map[results.Productive]string // productive ticks
	}{
		{"three", []items{process(100, 70, 30, 0), process(100, 90, 10, 0), process(90, 60, 20, 10)}, map[results.Productive]string{
			results.ProductiveNone: "220.0", results.ProductiveMin: "230.0", results.ProductiveMean: "240.0", results.ProductiveMax: "250.0", results.ProductiveRank0: "250.0",
		}},
		{"one", []items{process(100, 70, 20, 10)}, map[results.Productive]string{
			results.ProductiveNone: "70.0", results.ProductiveMin: "90.0", results.ProductiveMean: "90.0", results.ProductiveMax: "90.0", results.ProductiveRank0: "90.0",
		}},
	} {
		r := (&written{nodes: []writtenNode{rootNode(x.processes...)}}).write(t, len(x.processes))
		for rule, want := range x.want {
			i, _, err := NewIntervals(r, results.IntervalOptions{Rules: results.Rules{Productive: rule}})
			if err != nil {
				t.Fatal(err)
			}
			k := &i.Nodes[0].Ticks
			if got := k.Productive.Fixed(1); got != want {
				t.Errorf("%s, rule %s: productive %s, want %s", x.name, rule, got, want)
			}
			if sum := k.Productive.Plus(k.Lost); sum.Compare(numbers.Whole(k.Total)) != 0 {
				t.Errorf("%s, rule %s: productive and lost time are not the total", x.name, rule)
			}
		}
	}
}

// TestRanksOfIntervals compares a report about some processes with one about a
// run that has only these.
func TestRanksOfIntervals(t *testing.T) {
	t.Parallel()
	all := []items{process(100, 70, 30, 0), process(90, 80, 10, 0), process(95, 50, 40, 5)}
	r := (&written{nodes: []writtenNode{rootNode(all...)}}).write(t, 3)
	ranks, err := results.ParseRanks("0,2", r.Defs)
	if err != nil {
		t.Fatal(err)
	}
	some, _, err := NewIntervals(r, results.IntervalOptions{Ranks: ranks, Ordered: []xtf.Item{xtf.ItemCPU}})
	if err != nil {
		t.Fatal(err)
	}
	alone, _, err := NewIntervals((&written{nodes: []writtenNode{rootNode(all[0], all[2])}}).write(t, 2), results.IntervalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := some.Nodes[0], alone.Nodes[0]
	if a.Ticks.EfficiencyText() != b.Ticks.EfficiencyText() || a.Processors != 2 || a.POP.LoadBalance != b.POP.LoadBalance || a.POP.Communication != b.POP.Communication {
		t.Errorf("%+v\n%+v", a, b)
	}
	if diff := cmp.Diff([][2]uint64{{50, 2}, {70, 0}}, a.Ordered[0].Values); diff != "" {
		t.Error(diff)
	}
	if s := a.Stats.Item(xtf.ItemCPU); s.Min != 50 || s.MinP != 2 || s.Max != 70 || s.MaxP != 0 {
		t.Errorf("%+v", s)
	}
}

// TestBeyond has forged values that no sum over all locations can take: damage, not numbers.
func TestBeyond(t *testing.T) {
	t.Parallel()
	for _, v := range []uint64{xtf.Most(1) + 1, xtf.Never} {
		x := process(100, 70, 30, 0)
		x[xtf.ItemSendRecv] = v
		r := (&written{nodes: []writtenNode{rootNode(x)}}).write(t, 1)
		if _, lost, err := NewIntervals(r, results.IntervalOptions{Ranks: mustRanks(t, r, "0")}); len(lost) != 1 && !errors.Is(err, xtf.ErrCorrupt) {
			t.Errorf("one process: %v, %v", lost, err)
		}
		if _, _, err := NewIntervals(r, results.IntervalOptions{}); !errors.Is(err, xtf.ErrCorrupt) {
			t.Errorf("all processes: %v", err)
		}
	}
}

func mustRanks(t testing.TB, r *results.Run, spec string) results.Ranks {
	t.Helper()
	x, err := results.ParseRanks(spec, r.Defs)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestIntervalCSV(t *testing.T) {
	t.Parallel()
	d, err := New(goldenG3(t), Options{Sections: []Section{SectionIntervals}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b, d, "csv", table.Style{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 1+3*2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	got := rows[3] // process 0, node 2
	for name, want := range map[string]string{"rank": "0", "node": "2", "path": "0.0.0", "name": "body", "line": "160", "cpu": "26", "mpi": "10", "late_sender": "2", "lost": "13.000"} {
		if got[column[name]] != want {
			t.Errorf("%s is %s, want %s", name, got[column[name]], want)
		}
	}
	if d, err = New(goldenG3(t), Options{Sections: []Section{SectionIntervals, SectionPOP}}); err != nil {
		t.Fatal(err)
	}
	if err := table.Write(&b, d, "csv", table.Style{}); err == nil {
		t.Error("two sections in one table")
	}
}

// TestDamagedTrees checks that a tree which is none is an error.
func TestDamagedTrees(t *testing.T) {
	t.Parallel()
	child := func(parent, level uint32) writtenNode {
		return writtenNode{Interval: xtf.Interval{Parent: parent, Level: level}, processes: map[uint32]items{}}
	}
	for name, nodes := range map[string][]writtenNode{
		"its own parent": {rootNode(process(5, 5, 0, 0)), child(1, 1)},
		"parent after":   {rootNode(process(5, 5, 0, 0)), child(2, 2), child(0, 1)},
		"level":          {rootNode(process(5, 5, 0, 0)), child(0, 2)},
	} {
		r := (&written{nodes: nodes}).write(t, 1)
		if _, _, err := NewIntervals(r, results.IntervalOptions{}); err == nil || !results.Partial(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFirstScreen(t *testing.T) {
	t.Parallel()
	text := sectionText(t, goldenG3(t), Options{})
	for _, want := range []string{
		"interval              executions    time s  efficiency    lost s  mostly\n",
		"whole program                  1  0.000100  0.83        0.000034  marker 0.000016 s (48 %)\n",
		"  └ body  exch.c:160           3  0.000044  0.82        0.000016  idle 0.000008 s (52 %)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestSummaryRules checks that the rules reach the summary.
func TestSummaryRules(t *testing.T) {
	t.Parallel()
	r := (&written{nodes: []writtenNode{rootNode(process(100, 70, 30, 0), process(100, 90, 10, 0))}}).write(t, 2)
	for rule, want := range map[results.Productive]string{results.ProductiveMean: "180.0", results.ProductiveMin: "170.0", results.ProductiveRank0: "190.0", results.ProductiveNone: "160.0"} {
		d, err := New(r, Options{Intervals: results.IntervalOptions{Rules: results.Rules{Productive: rule}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Summary.Ticks.Productive.Fixed(1); got != want || d.Summary.Rule != string(rule) {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
}
