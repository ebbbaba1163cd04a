package ccg

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// PathTotal is what the calls on one path took. A path is the list of regions
// that are open, from the outermost one on; recursion makes it longer.
type PathTotal struct {
	Parent    int    // place in the list of the path without its last region, -1 of the first
	Region    uint32 // trace.Undefined of the first: outside all calls
	Depth     int    // regions in the path
	Calls     uint64
	Estimated uint64 // of the calls: known from calling contexts alone
	Samples   uint64 // with the whole path
	Exclusive uint64 // ticks
	Inclusive uint64 // ticks
	Gaps      uint64 // gaps that Exclusive is the sum of
	GapsIn    uint64 // gaps that Inclusive is the sum of
}

// PathProfile is a call-path profile; the zero value is empty. Any number of
// locations can be added, in any order.
type PathProfile struct {
	index map[stateKey]int32
	paths []pathTotal
}

type pathTotal struct {
	parent           int32
	region           uint32
	calls, time, gap uint64

	estimated, samples uint64
}

// maxPaths bounds the paths of a profile, and the pairs of nodes and paths on
// the way to it: a graph of n nodes can have 2^n paths.
const maxPaths = 1 << 20

// path returns the number of a path below another one.
func (p *PathProfile) path(parent int32, region uint32) int32 {
	k := stateKey{parent, region}
	n, ok := p.index[k]
	if !ok {
		n = int32(len(p.paths))
		p.index[k] = n
		p.paths = append(p.paths, pathTotal{parent: parent, region: region})
	}
	return n
}

// Add adds location l. Calls come from the multiplicities of nodes along each
// path, times from the sums of columns that lie in one path, and of classes:
// O(nodes * paths to each). Columns of several paths are read in one walk past
// the nodes that have them.
func (p *PathProfile) Add(l *Location) error {
	s := pathSweep{l: l, v: l.view, states: newStates(l.view, byPath)}
	if err := s.run(); err != nil {
		return fmt.Errorf("call graph: location %d: %w", l.p, err)
	}
	number := make([]int32, s.states.len())
	if p.index == nil {
		p.index = map[stateKey]int32{}
		p.paths = []pathTotal{{parent: -1, region: trace.Undefined}}
	}
	for n := range number {
		if n > 0 {
			number[n] = p.path(number[s.states.parent[n]], s.states.region[n])
		}
		if err := p.add(number[n], s.totals[n]); err != nil {
			return err
		}
	}
	return nil
}

func (p *PathProfile) add(n int32, t pathTotal) error {
	q := &p.paths[n]
	q.calls += t.calls
	q.gap += t.gap
	q.estimated += t.estimated
	q.samples += t.samples
	if !addTimes(&q.time, t.time, 1) {
		return fmt.Errorf("call graph: time of a path exceeds 64 bits: %w", graph.ErrLimit)
	}
	if len(p.paths) > maxPaths {
		return fmt.Errorf("call graph: more than %d call paths: %w", maxPaths, graph.ErrLimit)
	}
	return nil
}

// Paths returns all paths in depth-first order, those with one parent by
// ascending region; the first one is "outside all calls".
func (p *PathProfile) Paths() ([]PathTotal, error) {
	n := len(p.paths)
	children := make([][]int32, n)
	for i := 1; i < n; i++ {
		children[p.paths[i].parent] = append(children[p.paths[i].parent], int32(i))
	}
	list := make([]PathTotal, 0, n)
	type open struct {
		path   int32
		parent int
	}
	var todo []open
	if n > 0 {
		todo = append(todo, open{0, -1})
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		t := &p.paths[at.path]
		r := PathTotal{Parent: at.parent, Region: t.region, Calls: t.calls, Estimated: t.estimated, Samples: t.samples, Exclusive: t.time, Inclusive: t.time, Gaps: t.gap, GapsIn: t.gap}
		if at.parent >= 0 {
			r.Depth = list[at.parent].Depth + 1
		}
		below := children[at.path]
		slices.SortFunc(below, func(a, b int32) int { return -cmp.Compare(p.paths[a].region, p.paths[b].region) })
		for _, c := range below {
			todo = append(todo, open{c, len(list)})
		}
		list = append(list, r)
	}
	for i := len(list) - 1; i > 0; i-- {
		above := &list[list[i].Parent]
		above.GapsIn += list[i].GapsIn
		if !addTimes(&above.Inclusive, list[i].Inclusive, 1) {
			return nil, fmt.Errorf("call graph: time of a path exceeds 64 bits: %w", graph.ErrLimit)
		}
	}
	return list, nil
}
