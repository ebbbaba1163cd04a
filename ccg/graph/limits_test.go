package graph

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// manyNodes is a section of equal parts: 65 536 nodes each, of 128 children, in
// some hundred bytes.
func manyNodes(parts int) (src []byte, nTuples, nNodes uint64) {
	g := NewGraph()
	h, _ := g.AddTuple([]uint64{ClassEvent | uint64(trace.OmpJoin)<<WordKind, 0})
	l, _ := g.AddTuple([]uint64{ClassList, 0})
	event, _ := g.Nodes.append(uint32(KindEvent)<<KindShift|h, nil)
	p := NewPartEncoder(true)
	src, _ = p.tuples(nil, g.Tuples, 0)
	src, _ = p.nodes(src, g.Nodes, event)
	nNodes = 1
	for range parts {
		cols := [4][]uint64{make([]uint64, partSize), make([]uint64, partSize), make([]uint64, partSize*maxFan), nil}
		for i := range cols[0] {
			cols[0][i], cols[1][i] = uint64(l)<<3|uint64(KindGroup), maxFan
		}
		for i := range cols[2] {
			cols[2][i] = 1
		}
		p.Buf = append(p.Buf[:0], partNodes)
		for _, c := range cols {
			p.Column(c)
		}
		src = p.frame(src)
		nNodes += partSize
	}
	return src, 2, nNodes
}

// TestMemoryLimit reads a graph that takes a hundred thousand times its size.
func TestMemoryLimit(t *testing.T) {
	src, nTuples, nNodes := manyNodes(3)
	g, _, err := ReadParts(src, nTuples, nNodes, maxFan, MemoryLimit(len(src)))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes become %d", len(src), g.Memory())
	if _, _, err := ReadParts(src, nTuples, nNodes, maxFan, 64<<20); !errors.Is(err, ErrLimit) {
		t.Errorf("%d bytes of memory: %v", g.Memory(), err)
	}
	for n, want := range map[int]uint64{0: 1 << 30, 1 << 16: 1 << 30, 1 << 20: 1 << 34} {
		if got := MemoryLimit(n); got != want {
			t.Errorf("%d bytes: %d, want %d", n, got, want)
		}
	}
}

// TestRowsLimit reads rows of which one position in 128 is stored.
func TestRowsLimit(t *testing.T) {
	const n = 100_000
	g := NewGraph()
	h, _ := g.AddTuple([]uint64{ClassCall | uint64(trace.Enter)<<WordKind, 7})
	list, _ := g.AddTuple([]uint64{ClassList, 0})
	call, _ := g.Nodes.append(uint32(KindCall)<<KindShift|h, nil)
	group, _ := g.Nodes.append(uint32(KindRepeat)<<KindShift|list, []uint32{call, 200, 0})
	outer, _ := g.Nodes.append(uint32(KindGroup)<<KindShift|list, slices.Repeat([]uint32{group}, 127))
	c := NewClasses(&g, maxFan, []bool{false, true, true, true})
	for _, id := range []uint32{call, group, outer} {
		rows := 1
		if id == group {
			rows = n
		}
		for i := range rows {
			if _, err := c.append(id, make([]uint64, c.Tables[id].GapsPerRow), slices.Repeat([]uint32{0}, c.Tables[id].KidsPerRow)); err != nil {
				t.Fatal(err)
			}
			if id == group {
				c.Tables[id].Gaps[i] = 5
			}
		}
	}
	b := AppendClasses(nil, &g, c, maxFan)
	if _, _, err := ReadClasses(b, &g, maxFan, 12*n+4096); err != nil {
		t.Errorf("%d bytes: %v", len(b), err)
	}
	if _, _, err := ReadClasses(b, &g, maxFan, 12*n-1); !errors.Is(err, ErrLimit) {
		t.Errorf("%d bytes: %v", len(b), err)
	}
}

// TestLargeTables has a table of more rows than a part holds.
func TestLargeTables(t *testing.T) {
	const n = 70_000
	g := NewGraph()
	h, _ := g.AddTuple([]uint64{ClassCall | uint64(trace.Enter)<<WordKind, 7})
	list, _ := g.AddTuple([]uint64{ClassList, trace.Undefined})
	call, _ := g.Nodes.append(uint32(KindCall)<<KindShift|h, nil)
	root, _ := g.Nodes.append(uint32(KindRoot)<<KindShift|list, []uint32{call, call})
	c := NewClasses(&g, 16, []bool{false, true, true})
	for i := range uint64(n) {
		if _, err := c.append(call, []uint64{i * i}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.append(root, []uint64{i % 1000, i}, []uint32{uint32(i), uint32(i % 7)}); err != nil {
			t.Fatal(err)
		}
	}
	b := AppendClasses(nil, &g, c, 16)
	read, rest, err := ReadClasses(append(b, 9), &g, 16, 1<<30)
	if err != nil || len(rest) != 1 {
		t.Fatalf("%d bytes left, %v", len(rest), err)
	}
	for id, want := range c.Tables {
		if got := read.Tables[id]; want != nil && fmt.Sprint(*got) != fmt.Sprint(*want) {
			t.Errorf("node %d: table differs", id)
		}
	}
	if r := read.Reindex(); r.Node != 0 {
		t.Errorf("row %d of node %d twice", r.Row, r.Node)
	}
	t.Logf("%d rows, %d bytes", len(read.Rows), len(b))
}
