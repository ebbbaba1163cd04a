package cluster

import "slices"

// link is a merge of the clusters whose lowest points are a and b, a below b.
type link struct {
	a, b   int32
	height Height
}

// matrix is the distances of clusters, which are numbered by their lowest members.
type matrix interface {
	nearest(i int32) int32
	merge(a, b int32) Height
}

// chain merges all clusters of m, which are given in ascending order: the nearest-neighbour chain (Murtagh, A survey of recent advances in hierarchical
// clustering algorithms, Comput. J. 26, 1983). It follows nearest neighbours until two are each other's, and merges
// those. The pairs are in a strict order, so no chain comes back to itself; and as no linkage that uses it brings a
// cluster nearer by a merge, in that order, the merges are those of always merging the least pair of all.
func chain(clusters []int32, m matrix, each func(link)) {
	left := slices.Clone(clusters)
	slices.Reverse(left)
	gone := map[int32]bool{}
	var stack []int32
	for n := len(left); n > 1; {
		if len(stack) == 0 {
			for gone[left[len(left)-1]] {
				left = left[:len(left)-1]
			}
			stack = append(stack, left[len(left)-1])
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
		n--
	}
}
