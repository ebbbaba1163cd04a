package report

import (
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/verify"
	"github.com/coppice-hpc/coppice/xtf"
)

// nested is a run of two processes with an interval that one of them executes twice.
func nested(t *testing.T, change func(nodes []writtenNode, rows [][]xtf.Ival)) *verify.Verified {
	t.Helper()
	part := func(executions, ticks uint64) items {
		x := process(ticks, ticks, 0, 0)
		x[xtf.ItemExecutions], x[xtf.ItemEvents], x[xtf.ItemFirst], x[xtf.ItemLast] = executions, 0, 0, 0
		return x
	}
	whole := func() items {
		x := process(100, 100, 0, 0)
		x[xtf.ItemExecutions], x[xtf.ItemLast], x[xtf.ItemEvents] = 1, 100, 5
		return x
	}
	nodes := []writtenNode{rootNode(whole(), whole()), {
		Interval:  xtf.Interval{Level: 1, Form: 1, ExeMax: 2, ExeMin: 1, Flags: xtf.IntervalUneven, FirstBegin: 5, LastEnd: 90, SumMax: 12 + 20},
		processes: map[uint32]items{0: part(2, 30), 1: part(1, 12)},
	}}
	nodes[0].SumMax = 100
	rows := [][]xtf.Ival{
		{{End: 100, Flags: xtf.IvalWhole}, {T: 10, End: 20, Node: 1}, {T: 70, End: 90, Node: 1, Execution: 1}},
		{{End: 100, Flags: xtf.IvalWhole}, {T: 5, End: 17, Node: 1}},
	}
	change(nodes, rows)
	w := written{nodes: nodes, rows: map[xtf.Proc]func(array func(xtf.TypeID) *xtf.ArrayBuilder){}}
	for p := range rows {
		w.rows[xtf.Proc(p)] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
			for i := range rows[p] {
				put(array(xtf.TypeIval), &rows[p][i])
			}
		}
	}
	v := &verify.Verified{}
	if err := v.Intervals(w.write(t, 2), true); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestVerifyIntervals finds every way in which the rows may contradict each other.
func TestVerifyIntervals(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		array  string // "": nothing is wrong
		change func(nodes []writtenNode, rows [][]xtf.Ival)
	}{
		"sound":                 {"", func([]writtenNode, [][]xtf.Ival) {}},
		"no such node":          {"IVAL", func(_ []writtenNode, rows [][]xtf.Ival) { rows[0][1].Node = 2 }},
		"runs backwards":        {"IVAL", func(_ []writtenNode, rows [][]xtf.Ival) { rows[0][1].End = 9 }},
		"never ends":            {"IVAL", func(_ []writtenNode, rows [][]xtf.Ival) { rows[0][1].End = xtf.Never }},
		"wrong number":          {"IVAL", func(_ []writtenNode, rows [][]xtf.Ival) { rows[0][2].Execution = 2 }},
		"open twice":            {"IVAL", func(_ []writtenNode, rows [][]xtf.Ival) { rows[0][1].End = 71 }},
		"outside of the parent": {"IVAL", func(_ []writtenNode, rows [][]xtf.Ival) { rows[0][2].End = 101 }},
		"other ticks":           {"COMP", func(_ []writtenNode, rows [][]xtf.Ival) { rows[0][1].End = 19 }},
		"one is missing":        {"COMP", func(_ []writtenNode, rows [][]xtf.Ival) { rows[0] = rows[0][:2] }},
		"parts of the time": {"COMP", func(nodes []writtenNode, _ [][]xtf.Ival) {
			x := nodes[1].processes[1]
			x[xtf.ItemMPI] = 3
			nodes[1].processes[1] = x
		}},
		"flag":     {"INTERVAL", func(nodes []writtenNode, _ [][]xtf.Ival) { nodes[1].Flags = 0 }},
		"begin":    {"INTERVAL", func(nodes []writtenNode, _ [][]xtf.Ival) { nodes[1].FirstBegin = 6 }},
		"end":      {"INTERVAL", func(nodes []writtenNode, _ [][]xtf.Ival) { nodes[1].LastEnd = 91 }},
		"longest":  {"INTERVAL", func(nodes []writtenNode, _ [][]xtf.Ival) { nodes[1].SumMax = 33 }},
		"the tree": {"INTERVAL", func(nodes []writtenNode, _ [][]xtf.Ival) { nodes[1].Parent = 1 }},
	} {
		v := nested(t, x.change)
		found := ""
		for _, f := range v.Findings {
			found += f.Array + ": " + f.Text + "\n"
		}
		if (x.array == "") != (v.Found == 0) || !strings.Contains(found, x.array) {
			t.Errorf("%s: %d findings\n%s", name, v.Found, found)
		}
	}
}

// TestVerifyOrder: nodes are numbered depth first.
func TestVerifyOrder(t *testing.T) {
	t.Parallel()
	child := func(parent, level uint32) writtenNode {
		return writtenNode{Interval: xtf.Interval{Parent: parent, Level: level}, processes: map[uint32]items{}}
	}
	root := rootNode(process(5, 5, 0, 0))
	for name, x := range map[string]struct {
		nodes []writtenNode
		sound bool
	}{
		"depth first":   {[]writtenNode{root, child(0, 1), child(1, 2), child(0, 1), child(3, 2)}, true},
		"breadth first": {[]writtenNode{root, child(0, 1), child(0, 1), child(1, 2)}, false},
	} {
		v := &verify.Verified{}
		if err := v.Intervals((&written{nodes: x.nodes}).write(t, 1), false); err != nil {
			t.Fatal(err)
		}
		order := 0
		for _, f := range v.Findings {
			if strings.Contains(f.Text, "depth first") {
				order++
			}
		}
		if x.sound != (order == 0) {
			t.Errorf("%s: %+v", name, v.Findings)
		}
	}
}
