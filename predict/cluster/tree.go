package cluster

import (
	"cmp"
	"slices"
)

// Single linkage is the minimum spanning tree of the points. Its edges, in the order (distance, lower point, higher
// point), are unique, so every algorithm finds the same ones; merging along them in that order gives the merges. Cuts
// are those of the sequential rule at every height; merges of equal height may be others than it would choose.

type treeEdges []treeEdge

// treeEdge is a pair of points a < b, d apart.
type treeEdge struct {
	a, b int32
	d    uint64
}

// compare is the order of edges.
func (t treeEdge) compare(u treeEdge) int {
	return cmp.Or(cmp.Compare(t.d, u.d), cmp.Compare(t.a, u.a), cmp.Compare(t.b, u.b))
}

// boruvka finds the spanning tree of n points: in each round every component takes the least edge that leads out of
// it. ways returns edges among which these are; root is the component of each point.
func boruvka(n int, ways func(root []int32) (treeEdges, error)) (treeEdges, error) {
	f := newForest(n)
	edges := make(treeEdges, 0, n-1)
	root := make([]int32, n)
	for len(edges) < n-1 {
		for i := range root {
			root[i] = f.root(int32(i))
		}
		list, err := ways(root)
		if err != nil {
			return nil, err
		}
		before := len(edges)
		for _, e := range leastEdges(root, list) {
			if a, b := f.root(e.a), f.root(e.b); a != b {
				f.parent[max(a, b)] = min(a, b)
				edges = append(edges, e)
			}
		}
		if len(edges) == before {
			return nil, errMessage("edges")
		}
	}
	return edges, nil
}

// leastEdges returns the least edge out of each component, of those in the list, in ascending order of components.
func leastEdges(root []int32, list treeEdges) treeEdges {
	least := make(treeEdges, len(root)) // by component; a = b means none
	keep := func(c int32, e treeEdge) {
		if have := least[c]; have.a == have.b || e.compare(have) < 0 {
			least[c] = e
		}
	}
	for _, e := range list {
		if root[e.a] != root[e.b] {
			keep(root[e.a], e)
			keep(root[e.b], e)
		}
	}
	return slices.DeleteFunc(least, func(e treeEdge) bool { return e.a == e.b })
}

// tree makes the merges of single linkage. Collective.
func (c *triangle[E]) tree(each func(link)) error {
	n := len(c.owner)
	edges, err := boruvka(n, func(root []int32) (treeEdges, error) {
		if err := c.agree(c.ctx.Err()); err != nil {
			return nil, err
		}
		found := c.ways(root)
		if c.size == 1 {
			return found, nil
		}
		var list []uint64
		for _, e := range leastEdges(root, found) {
			list = append(list, two(e.a, e.b), e.d)
		}
		var all treeEdges
		err := c.tell(list, 2, "edges", func(_ int, x []uint64) bool {
			e := treeEdge{int32(x[0] >> 32), int32(x[0]), x[1]}
			all = append(all, e)
			return e.a >= 0 && e.a < e.b && int(e.b) < n
		})
		return all, err
	})
	if err == nil {
		slices.SortFunc(edges, treeEdge.compare)
		f := newForest(n)
		for _, t := range edges {
			a, b := f.root(t.a), f.root(t.b)
			a, b = min(a, b), max(a, b)
			f.parent[b] = a
			each(link{a, b, whole(t.d)})
		}
	}
	return err
}

// ways returns for each point the least edge to another component that the rows of this rank have; a = b means none.
func (c *triangle[E]) ways(root []int32) treeEdges {
	list := make(treeEdges, len(root))
	least := make([]E, len(root))
	near := make([]int32, len(root))
	for i := range least {
		least[i], near[i] = ^E(0), int32(i)
	}
	for _, i := range c.own {
		mine := root[i]
		row := c.row(i)
		above, roots := least[:len(row)], root[:len(row)]
		at, best := i, ^E(0)
		for k, d := range row {
			if (d < best || d < above[k]) && roots[k] != mine {
				if d < best {
					at, best = int32(k), d
				}
				if d < above[k] {
					above[k], near[k] = d, i
				}
			}
		}
		near[i], least[i] = at, best
	}
	for i, k := range near {
		list[i] = treeEdge{min(int32(i), k), max(int32(i), k), uint64(least[i])}
	}
	return list
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
