package cluster

import (
	"cmp"
	"math/bits"
	"slices"
)

// split divides the points into parts of which no pair across is within the threshold, t in units of the vectors and
// height in those of heights. Each part is ascending, and so are their first points.
//
// Sums are compared first: those of two vectors within the threshold are not further apart than the window.
func (j *job) split(t, height uint64) ([][]int32, error) {
	all := make([]int32, len(j.pts))
	for i := range all {
		all[i] = int32(i)
	}
	j.reach = make([]uint64, len(j.pts))
	for i, p := range j.pts {
		j.reach[i] = p.far
	}
	if j.o.Full || j.o.Linkage == Centroid {
		return [][]int32{all}, nil
	}
	if height == 0 { // points differ
		var parts [][]int32
		for i := range all {
			parts = append(parts, all[i:i+1:i+1])
		}
		return parts, nil
	}
	bySum := gaps([][]int32{all}, j.window(t), func(k int32) uint64 { return uint64(j.pts[k].sum) ^ 1<<63 })
	parts := gaps(bySum, height, func(k int32) uint64 { return j.pts[k].far })
	parts, err := j.carve(parts, height)
	slices.SortFunc(parts, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	return parts, err
}

// gaps divides parts where two neighbours in the order of key are more than gap apart.
func gaps(parts [][]int32, gap uint64, key func(int32) uint64) [][]int32 {
	var out [][]int32
	for _, p := range parts {
		slices.SortFunc(p, func(a, b int32) int { return cmp.Compare(key(a), key(b)) })
		from := 0
		for i := 1; i <= len(p); i++ {
			if i == len(p) || key(p[i])-key(p[i-1]) > gap {
				slices.Sort(p[from:i])
				out = append(out, p[from:i:i])
				from = i
			}
		}
	}
	return out
}

// window is how far the sums of the entries of two vectors can be apart that are t apart: t for L1, and by Cauchy and
// Schwarz √m·t for L2.
func (j *job) window(t uint64) uint64 {
	if j.o.Metric == L1 {
		return t
	}
	hi, lo := bits.Mul64(t, t)
	w := wide{lo, hi}.times(j.dim)
	if w[2] != 0 || w[1] >= 1<<62 {
		return 1 << 63
	}
	return rootUp(w[1], w[0])
}
