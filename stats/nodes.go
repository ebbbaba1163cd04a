package stats

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// NodeOutputs is where the INTERVAL and STAT rows go. The caller finishes the arrays.
type NodeOutputs struct {
	Intervals, Stats *xtf.ArrayBuilder

	Unmatched bool // items that need partners are unknown, and left out
}

// Write writes the rows of all nodes. sumMax has INTERVAL.sumMax of each node except the root.
func (s Spreads) Write(tree *interval.Tree, sumMax []uint64, out NodeOutputs) {
	names := nameTable{}
	for n := range s {
		s[n].writeInterval(uint32(n), tree.Node(uint32(n)), sumMax[n], &names, out.Intervals)
		s[n].writeStats(uint32(n), &out)
	}
}

func (n *NodeSpread) writeInterval(key uint32, node interval.Node, sumMax uint64, names *nameTable, out *xtf.ArrayBuilder) {
	time, _ := n.Item(xtf.ItemTime)
	executions, _ := n.Item(xtf.ItemExecutions)
	x := xtf.Interval{
		Key: uint64(key), Parent: node.Parent, Level: node.Level, Marker: node.ID, Name: names.number(node.Name), File: names.number(node.File),
		Line: node.Line, Form: uint32(node.Form), ExeMax: executions.Max, ExeMin: executions.Min,
		Participants: uint32(n.Processes), FirstBegin: node.First, LastEnd: node.Last, SumMax: sumMax,
	}
	if key == 0 {
		first, _ := n.Item(xtf.ItemFirst)
		last, _ := n.Item(xtf.ItemLast)
		x.Parent, x.ExeMax, x.ExeMin = trace.Undefined, 1, 1
		// the tree also has events of locations that record metrics, and with --init exclude the program begins later
		if n.Processes == 0 {
			node.First = 0
		}
		x.FirstBegin, x.LastEnd, x.SumMax = max(first.Min, node.First), min(last.Max, node.Last), time.Max
	}
	if x.ExeMax != x.ExeMin {
		x.Flags |= xtf.IntervalUneven
	}
	row, _ := out.Append()
	x.Put(row)
}

func (n *NodeSpread) writeStats(key uint32, out *NodeOutputs) {
	for i := range xtf.NumItems {
		it, present := n.Item(i)
		always := i == xtf.ItemTime || key == 0 && i <= xtf.ItemLast
		if !present && !always || out.Unmatched && i.NeedsPartners() {
			continue
		}
		row, _ := out.Stats.Append()
		st := xtf.Stat{
			Key: xtf.NodeKey(key, uint32(i)), Sum0: it.Sum, Square0: it.Squares[0], Square1: it.Squares[1],
			Min: it.Min, Max: it.Max, MinP: it.MinP, MaxP: it.MaxP,
		}
		st.Put(row)
	}
}

// nameTable numbers texts in the order of their first use, from 1; "" is 0.
type nameTable struct {
	numbers map[string]uint32
	texts   []byte // each a length and its bytes
}

func (t *nameTable) number(s string) uint32 {
	if s == "" {
		return 0
	}
	if n, ok := t.numbers[s]; ok {
		return n
	}
	if t.numbers == nil {
		t.numbers = map[string]uint32{}
	}
	n := uint32(len(t.numbers)) + 1
	t.numbers[s] = n
	t.texts = append(binary.AppendUvarint(t.texts, uint64(len(s))), s...)
	return n
}

// NodeNames returns the section of the names and files that Write numbers for this tree.
func NodeNames(tree *interval.Tree) []byte {
	var t nameTable
	for n := range uint32(tree.Len()) {
		x := tree.Node(n)
		t.number(x.Name)
		t.number(x.File)
	}
	return t.texts
}
