package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Limits of a call tree: calls read, paths, columns of ranks.
const (
	mostTreeCalls = 1 << 20
	mostTreePaths = 1 << 14
	treeColumns   = 64
)

func getCallTree(ctx context.Context, p *params) (any, error) {
	o, limit := p.window(), p.limit(500, 5000)
	if p.err != nil {
		return nil, p.err
	}
	x, list := p.run, p.run.chosen(o.ranks)
	calls := uint64(0)
	for _, l := range list {
		a, err := x.array(l, xtf.TypeCall)
		if err == nil {
			var n uint64
			n, err = a.Size(o.begin, o.end)
			calls += n
		}
		if err != nil && !results.Partial(err) {
			return nil, err
		}
		if calls > mostTreeCalls {
			return nil, bad("t", fmt.Sprintf("more than %d calls begin in the window", mostTreeCalls), "Choose fewer ranks or a shorter window; coppice report RUN.xtf paths has those of the whole run")
		}
	}
	c := newColumns(x.meta.Processes, o.ranks, treeColumns)
	t := &callPaths{x: x, o: o, columns: c, nodes: []callNode{{}}, of: map[[2]uint32]int{}}
	lost, err := x.each(ctx, o.ranks, "calls", t.add)
	if err != nil {
		return nil, err
	}
	v := &CallTree{Begin: o.begin, End: o.end, Ranks: o.ranks.String(), Merged: c.merged, First: c.first, Count: c.count, Time: t.time, Nodes: []CallNode{}, Folded: t.folded, Lost: append([]table.Lost{}, lost...)}
	t.list(v, limit)
	return v, nil
}

// callPaths are the call paths of a window. Node 0 is their root.
type callPaths struct {
	x       *run
	o       *windowOptions
	columns *columns
	nodes   []callNode
	of      map[[2]uint32]int // index in nodes, by parent and region
	folded  uint64
	time    uint64
}

// callNode is a path, with its ticks in the window.
type callNode struct {
	parent                      int
	region                      uint32
	calls, inclusive, own, wait uint64
	by                          []uint64 // inclusive, by column
}

// openCall is a call that overlaps the window.
type openCall struct {
	n      uint64
	node   int
	folded bool
}

func (t *callPaths) add(p trace.P) (err error) {
	if t.x.Defs.Location(p).Type == trace.MetricLocation {
		return nil
	}
	life, err := t.x.Life(p)
	if err != nil {
		return err
	}
	t.time += results.Inside(life.Begin, life.End, t.o.begin, t.o.end)
	process, _ := t.x.Defs.Process(p)
	column := t.columns.place[process]
	var open []openCall // callers of the next call
	waits, err := t.waitsOf(p)
	if err != nil {
		return err
	}
	for n, c := range results.Overlapping[xtf.Call](t.x.Run, p, t.o.begin, t.o.end, &err) {
		for len(open) > 0 && open[len(open)-1].n != c.Parent {
			open = open[:len(open)-1]
		}
		above := openCall{}
		if len(open) > 0 {
			above = open[len(open)-1]
		}
		call := openCall{n: n}
		call.node, call.folded = t.path(above.node, c.Region)
		open = append(open, call)
		span := results.Inside(c.T, c.End, t.o.begin, t.o.end)
		x := &t.nodes[call.node]
		if call.folded {
			t.folded++
			continue
		}
		x.inclusive, x.own = x.inclusive+span, x.own+span
		if c.T >= t.o.begin {
			x.calls++
		}
		if x.by == nil {
			x.by = make([]uint64, len(t.columns.first))
		}
		x.by[column] += span
		if len(open) > 1 {
			t.nodes[above.node].own -= min(span, t.nodes[above.node].own)
		}
		if c.Flags&xtf.FlagOutermostMPI != 0 {
			for ; len(waits) > 0 && waits[0].T < c.End; waits = waits[1:] {
				x.wait += results.Inside(max(waits[0].T, c.T), waits[0].End, t.o.begin, t.o.end)
			}
		}
	}
	return err
}

// waitsOf returns the waits of a location by time. They lie in outermost MPI calls.
func (t *callPaths) waitsOf(p trace.P) (list []xtf.Wait, err error) {
	for _, w := range results.Overlapping[xtf.Wait](t.x.Run, p, t.o.begin, t.o.end, &err) {
		if slices.Contains(results.WaitItems, xtf.PatternItem(w.Pattern)) {
			list = append(list, *w)
		}
	}
	return list, err
}

// path returns the node of a region called in another path. If there are too many nodes it returns that other path, and folded.
func (t *callPaths) path(above int, region uint32) (node int, folded bool) {
	key := [2]uint32{uint32(above), region}
	node, ok := t.of[key]
	switch {
	case ok:
		return node, false
	case len(t.nodes) >= mostTreePaths:
		return above, true
	}
	t.of[key] = len(t.nodes)
	t.nodes = append(t.nodes, callNode{parent: above, region: region})
	return len(t.nodes) - 1, false
}

// list writes the paths with most time, depth first, siblings by falling time. It never writes a path without its parent.
func (t *callPaths) list(v *CallTree, limit int) {
	order := make([]int, len(t.nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order[1:], func(a, b int) int {
		return cmp.Or(cmp.Compare(t.nodes[b].inclusive, t.nodes[a].inclusive), cmp.Compare(a, b))
	})
	v.More = max(0, len(order)-1-limit)
	children := make([][]int, len(t.nodes))
	for _, i := range order[1:min(limit+1, len(order))] {
		children[t.nodes[i].parent] = append(children[t.nodes[i].parent], i)
	}
	type todo struct{ node, parent, depth int }
	var stack []todo
	push := func(node, parent, depth int) {
		for _, c := range slices.Backward(children[node]) {
			stack = append(stack, todo{c, parent, depth})
		}
	}
	for push(0, -1, 0); len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		x := &t.nodes[at.node]
		v.Nodes = append(v.Nodes, CallNode{
			Parent: at.parent, Depth: at.depth, Region: t.x.region(x.region), Name: t.x.RegionName(x.region), Calls: x.calls, Inclusive: x.inclusive, Exclusive: x.own, Wait: x.wait, By: x.by,
		})
		push(at.node, len(v.Nodes)-1, at.depth+1)
	}
}
