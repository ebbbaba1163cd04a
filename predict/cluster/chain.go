package cluster

// link is a merge of the clusters whose lowest points are a and b, a below b.
type link struct {
	a, b   int32
	height Height
}

// matrix is the distances of clusters 0 to n-1, numbered by their lowest members.
type matrix interface {
	nearest(i int32) int32
	merge(a, b int32) Height
}

// chain merges all n clusters of m: the nearest-neighbour chain (Murtagh, A survey of recent advances in hierarchical
// clustering algorithms, Comput. J. 26, 1983). It follows nearest neighbours until two are each other's, and merges
// those. The pairs are in a strict order, so no chain comes back to itself; and as no linkage that uses it brings a
// cluster nearer by a merge, in that order, the merges are those of always merging the least pair of all.
func chain(n int, m matrix, each func(link)) {
	var stack []int32
	gone := make([]bool, n)
	first := int32(0)
	for left := n; left > 1; {
		if len(stack) == 0 {
			for gone[first] {
				first++
			}
			stack = append(stack, first)
		}
		top := stack[len(stack)-1]
		near := m.nearest(top)
		if len(stack) < 2 || stack[len(stack)-2] != near {
			stack = append(stack, near)
			continue
		}
		stack = stack[:len(stack)-2]
		a, b := min(top, near), max(top, near)
		each(link{a, b, m.merge(a, b)})
		gone[b] = true
		left--
	}
}
