package cluster

// share clusters one part with the help of all ranks, and returns the merges whose first rows are here. Collective.
func (j *job) share(points []int32) ([]link, error) {
	s, short := j.spec(points)
	if short {
		return shareRows(newSquare[uint32], j, s, points)
	}
	return shareRows(newSquare[uint64], j, s, points)
}

func shareRows[E element](make func(*job, spec, []int32) *square[E], j *job, s spec, points []int32) ([]link, error) {
	q := make(j, s, points)
	if err := q.fill(); err != nil {
		return nil, err
	}
	if j.o.Linkage == Single {
		err := q.spanningTree()
		return q.links, err
	}
	err := q.agglomerate()
	return q.links, err
}

// fewMerges is the part of the clusters, one in so many, that a round must merge; where fewer do, the chain goes on.
const fewMerges = 100

// agglomerate merges all clusters for a linkage that never brings clusters nearer. Each round merges all pairs that
// are each other's nearest at once: those merges are among the ones of the sequential rule, whatever else merges, and
// their order by (height, lower, higher) is its order. Rounds that merge little, such as for points on a line with
// growing gaps, give way to the nearest-neighbour chain. Collective.
func (q *square[E]) agglomerate() error {
	for len(q.alive) > 1 {
		if err := q.refresh(); err != nil {
			return err
		}
		var pairs []pair
		for _, i := range q.alive {
			if k := q.near[i]; k > i && q.near[k] == i {
				pairs = append(pairs, pair{i, k})
			}
		}
		if len(pairs)*fewMerges < len(q.alive) {
			return q.chain()
		}
		if err := q.merge(pairs); err != nil {
			return err
		}
	}
	return nil
}

// refresh finds the nearest clusters of those for which they are not known, and tells all ranks. Collective.
func (q *square[E]) refresh() error {
	var list []int32
	for _, i := range q.alive {
		if q.near[i] < 0 && q.here(i) {
			list = append(list, i)
		}
	}
	found := make([]int32, len(list))
	parallel(q.o.Workers, len(list), func(_, k int) { found[k] = q.search(list[k]) })
	var b []byte
	for k, i := range list {
		b = putUint32(b, uint32(i), uint32(found[k]))
	}
	if err := q.agree(q.ctx.Err()); err != nil {
		return err
	}
	all, err := q.c.Allgather(b)
	if err != nil {
		return err
	}
	return q.agree(readNear(q.near, all))
}

// readNear takes the nearest clusters that the ranks found.
func readNear(near []int32, all [][]byte) error {
	for _, b := range all {
		if len(b)%8 != 0 {
			return errMessage("nearest clusters")
		}
		for ; len(b) > 0; b = b[8:] {
			i, k := getUint32(b), getUint32(b[4:])
			if uint64(i) >= uint64(len(near)) || uint64(k) >= uint64(len(near)) {
				return errMessage("nearest clusters")
			}
			near[i] = int32(k)
		}
	}
	return nil
}

// chain goes on with the nearest-neighbour chain, see chain. All ranks follow the same chain. Collective.
func (q *square[E]) chain() error {
	var stack []int32
	for len(q.alive) > 1 {
		if len(stack) == 0 {
			stack = append(stack, q.alive[0])
		}
		top := stack[len(stack)-1]
		if q.near[top] < 0 {
			var b []byte
			if q.here(top) {
				b = putUint32(nil, uint32(top), uint32(q.search(top)))
			}
			b, err := q.c.Bcast(b, int(top)%q.size)
			if err != nil {
				return err
			}
			if err := q.agree(readNear(q.near, [][]byte{b})); err != nil {
				return err
			}
		}
		near := q.near[top]
		if len(stack) < 2 || stack[len(stack)-2] != near {
			stack = append(stack, near)
			continue
		}
		stack = stack[:len(stack)-2]
		if err := q.merge([]pair{{min(top, near), max(top, near)}}); err != nil {
			return err
		}
	}
	return nil
}

// spanningTree makes the merges of single linkage, on rank 0. The rows stay as they are. Collective.
func (q *square[E]) spanningTree() error {
	own := q.ownAlive()
	edges, err := boruvka(len(q.points), func(root []int32) (treeEdges, error) {
		if err := q.agree(q.ctx.Err()); err != nil {
			return nil, err
		}
		found := make(treeEdges, len(own))
		parallel(q.o.Workers, len(own), func(_, k int) { found[k] = q.wayOut(own[k], root) })
		all, err := q.c.Allgather(putEdges(leastEdges(root, found)))
		if err != nil {
			return nil, err
		}
		list, err := readEdges(all, len(root))
		return list, q.agree(err)
	})
	if err == nil && q.rank == 0 {
		edges.merges(len(q.points), func(l link) {
			q.links = append(q.links, link{q.points[l.a], q.points[l.b], l.height})
		})
	}
	return err
}

// wayOut is the least edge from point i to another component; where there is none, its distance is that of the dead.
func (q *square[E]) wayOut(i int32, root []int32) treeEdge {
	lo, _ := q.span(i)
	at, least := i, dead[E]()
	for k, d := range lo {
		if d < least && root[k] != root[i] {
			at, least = int32(k), d
		}
	}
	return treeEdge{min(i, at), max(i, at), uint64(least)}
}

const edgeBytes = 4 + 4 + 8

func putEdges(list treeEdges) []byte {
	var b []byte
	for _, e := range list {
		b = putUint64(putUint32(b, uint32(e.a), uint32(e.b)), e.d)
	}
	return b
}

// readEdges decodes the edges of n points that the ranks found.
func readEdges(all [][]byte, n int) (treeEdges, error) {
	var list treeEdges
	for _, b := range all {
		if len(b)%edgeBytes != 0 {
			return nil, errMessage("edges")
		}
		for ; len(b) > 0; b = b[edgeBytes:] {
			a, c := getUint32(b), getUint32(b[4:])
			if a >= c || uint64(c) >= uint64(n) {
				return nil, errMessage("edges")
			}
			list = append(list, treeEdge{int32(a), int32(c), getUint64(b[8:])})
		}
	}
	return list, nil
}
