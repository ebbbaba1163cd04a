package cluster

import (
	"cmp"
	"slices"
)

// Single linkage is the minimum spanning tree of the points. Its edges, in the order (distance, lower point, higher
// point), are unique, so every algorithm finds the same ones; merging along them in that order gives the merges. Cuts
// are those of the sequential rule at every height; merges of equal height may be others than it would choose.

// edges turns the edges of a spanning tree of n points into merges.
func (e treeEdges) merges(n int, each func(link)) {
	slices.SortFunc(e, func(a, b treeEdge) int {
		return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
	})
	f := newForest(n)
	for _, t := range e {
		a, b := f.root(t.a), f.root(t.b)
		a, b = min(a, b), max(a, b)
		f.parent[b] = a
		each(link{a, b, whole(t.d)})
	}
}

type treeEdges []treeEdge

// treeEdge is a pair of points a < b, d apart.
type treeEdge struct {
	a, b int32
	d    uint64
}

// before is the order of edges.
func (t treeEdge) before(u treeEdge) bool {
	return t.d < u.d || t.d == u.d && (t.a < u.a || t.a == u.a && t.b < u.b)
}

// tree finds the spanning tree with Prim's algorithm: from one point on, always the edge to the nearest point outside.
func (c *condensed[E]) tree(each func(link)) {
	n := len(c.owner)
	near := make([]treeEdge, n) // of each point outside, its edge into the tree
	outside := make([]int32, 0, n-1)
	for i := 1; i < n; i++ {
		outside = append(outside, int32(i))
		near[i] = treeEdge{0, int32(i), uint64(c.lo[i*(i-1)/2])}
	}
	edges := make(treeEdges, 0, n-1)
	for len(outside) > 0 {
		at := 0
		for k, i := range outside {
			if near[i].before(near[outside[at]]) {
				at = k
			}
		}
		in := outside[at]
		edges = append(edges, near[in])
		outside[at] = outside[len(outside)-1]
		outside = outside[:len(outside)-1]
		for _, i := range outside {
			a, b := min(i, in), max(i, in)
			t := treeEdge{a, b, uint64(c.lo[int(b)*(int(b)-1)/2+int(a)])}
			if t.before(near[i]) {
				near[i] = t
			}
		}
	}
	edges.merges(n, each)
}

// forest joins points into sets; the root of a set is its lowest point, if the caller keeps it so.
type forest struct{ parent []int32 }

func newForest(n int) forest {
	f := forest{make([]int32, n)}
	for i := range f.parent {
		f.parent[i] = int32(i)
	}
	return f
}

// root returns the root of i's set, and shortens the way to it.
func (f forest) root(i int32) int32 {
	for f.parent[i] != i {
		f.parent[i] = f.parent[f.parent[i]]
		i = f.parent[i]
	}
	return i
}
