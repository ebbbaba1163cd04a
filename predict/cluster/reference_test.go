package cluster

import (
	"cmp"
	"math/big"
	"slices"
)

// The reference is the definition, slow and with numbers of any size: it merges the least pair of all members, again
// and again.

// refDistance is the distance of two vectors in units of 2^-fraction.
func refDistance(m Metric, fraction uint8, x, y []int64) *big.Int {
	s := new(big.Int)
	for i := range x {
		d := new(big.Int).Sub(big.NewInt(x[i]), big.NewInt(y[i]))
		if m == L1 {
			s.Add(s, d.Abs(d))
		} else {
			s.Add(s, d.Mul(d, d))
		}
	}
	if m == L1 {
		return s
	}
	return refRoot(s.Lsh(s, 2*uint(fraction)))
}

// refRoot is the square root, rounded up.
func refRoot(s *big.Int) *big.Int {
	r := new(big.Int).Sqrt(s)
	if new(big.Int).Mul(r, r).Cmp(s) < 0 {
		r.Add(r, big.NewInt(1))
	}
	return r
}

type refMerge struct {
	a, b   int // members
	size   int
	height *big.Rat
}

type refCluster struct {
	members []int
	sums    []*big.Rat // distance sums or extremes to the other clusters
}

// refMerges is the whole dendrogram of vectors that are ordered by id.
func refMerges(o Options, fraction uint8, data [][]int64) []refMerge {
	n := len(data)
	c := make([]*refCluster, n)
	for i := range c {
		c[i] = &refCluster{members: []int{i}, sums: make([]*big.Rat, n)}
		for k := range n {
			c[i].sums[k] = new(big.Rat).SetInt(refDistance(o.Metric, fraction, data[i], data[k]))
		}
	}
	var out []refMerge
	for range n - 1 {
		a, b, h := refLeast(o, fraction, c, data)
		out = append(out, refMerge{a, b, len(c[a].members) + len(c[b].members), h})
		for k := range c {
			if c[k] == nil || k == a || k == b {
				continue
			}
			x, y := c[a].sums[k], c[b].sums[k]
			var s *big.Rat
			switch {
			case o.Linkage == Average:
				s = new(big.Rat).Add(x, y)
			case (o.Linkage == Single) == (x.Cmp(y) < 0):
				s = x
			default:
				s = y
			}
			c[a].sums[k], c[k].sums[a] = s, s
		}
		c[a].members = append(c[a].members, c[b].members...)
		c[b] = nil
	}
	return out
}

// refLeast returns the least pair in the order (height, lower lowest member, other lowest member).
func refLeast(o Options, fraction uint8, c []*refCluster, data [][]int64) (a, b int, h *big.Rat) {
	for i := range c {
		for k := i + 1; k < len(c); k++ {
			if c[i] == nil || c[k] == nil {
				continue
			}
			d := c[i].sums[k]
			switch o.Linkage {
			case Average:
				d = new(big.Rat).Quo(d, new(big.Rat).SetInt64(int64(len(c[i].members)*len(c[k].members))))
			case Centroid:
				d = refMeans(o.Metric, fraction, c[i].members, c[k].members, data)
			}
			if h == nil || d.Cmp(h) < 0 {
				a, b, h = i, k, d
			}
		}
	}
	return a, b, h
}

// refMeans is the distance of two means; L2 is rounded up to a multiple of 2^-fraction.
func refMeans(m Metric, fraction uint8, x, y []int, data [][]int64) *big.Rat {
	mean := func(list []int, i int) *big.Rat {
		s := new(big.Rat)
		for _, k := range list {
			s.Add(s, new(big.Rat).SetInt64(data[k][i]))
		}
		return s.Quo(s, new(big.Rat).SetInt64(int64(len(list))))
	}
	s := new(big.Rat)
	for i := range data[0] {
		d := mean(x, i)
		d.Sub(d, mean(y, i))
		if m == L1 {
			s.Add(s, d.Abs(d))
		} else {
			s.Add(s, d.Mul(d, d))
		}
	}
	if m == L1 {
		return s
	}
	q := new(big.Int).Lsh(s.Num(), 2*uint(fraction))
	q.Add(q, s.Denom()).Sub(q, big.NewInt(1)).Quo(q, s.Denom())
	return new(big.Rat).SetInt(refRoot(q))
}

// refClasses cuts merges at a height: classes as sorted lists of members, ordered by their lowest.
func refClasses(n int, merges []refMerge, cut *big.Rat) [][]int {
	class := make([][]int, n)
	for i := range class {
		class[i] = []int{i}
	}
	open := make([]bool, n)
	for _, m := range merges {
		if open[m.a] || open[m.b] || m.height.Cmp(cut) > 0 {
			open[m.a] = true
			continue
		}
		class[m.a] = append(class[m.a], class[m.b]...)
		class[m.b] = nil
	}
	var out [][]int
	for _, c := range class {
		if c != nil {
			slices.Sort(c)
			out = append(out, c)
		}
	}
	return out
}

// refRepresentative is the member that stands for a class.
func refRepresentative(r Representative, class []int, data [][]int64) int {
	var least *big.Rat
	best := -1
	for _, k := range class {
		s := new(big.Rat)
		if r == Medoid {
			for _, q := range class {
				s.Add(s, new(big.Rat).SetInt(refDistance(L1, 0, data[k], data[q])))
			}
		} else {
			for i, x := range data[k] {
				d := new(big.Rat)
				for _, q := range class {
					d.Add(d, new(big.Rat).SetInt64(data[q][i]))
				}
				d.Quo(d, new(big.Rat).SetInt64(int64(len(class))))
				d.Sub(d, new(big.Rat).SetInt64(x))
				s.Add(s, d.Mul(d, d))
			}
		}
		if best < 0 || s.Cmp(least) < 0 {
			best, least = k, s
		}
	}
	return best
}

func (h Height) rat() *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(h.Units), new(big.Int).SetUint64(h.Pairs))
}

// sortRefs orders merges as a result has them.
func sortRefs(list []refMerge) {
	slices.SortStableFunc(list, func(x, y refMerge) int {
		return cmp.Or(x.height.Cmp(y.height), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
}
