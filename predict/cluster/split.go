package cluster

import (
	"cmp"
	"slices"
)

// split divides the points into parts of which no pair across is within the threshold, t in units of the vectors and
// height in those of heights. Each part is ascending, and so are their first points. Parts of more than dense points are divided as far as pivots can.
//
// Sums are compared first: those of two vectors within the threshold are not further apart than the window.
func (s *space) split(t, height uint64, dense int) ([][]int32, error) {
	all := make([]int32, len(s.pts))
	for i := range all {
		all[i] = int32(i)
		s.pts[i].reach = s.pts[i].far
	}
	if s.o.Full || s.o.Linkage == Centroid {
		return [][]int32{all}, nil
	}
	if height == 0 { // points differ
		return slices.Collect(slices.Chunk(all, 1)), nil
	}
	parts := gaps(all, s.window(t), func(k int32) uint64 { return uint64(s.pts[k].sum) ^ 1<<63 })
	var done, live [][]int32
	for _, p := range parts {
		for _, q := range gaps(p, height, func(k int32) uint64 { return s.pts[k].far }) {
			if len(q) > dense {
				live = append(live, q)
			} else {
				done = append(done, q)
			}
		}
	}
	live, err := s.carve(live, height, dense)
	done = append(done, live...)
	slices.SortFunc(done, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	return done, err
}

// gaps divides points where two neighbours in the order of key are more than gap apart.
func gaps(p []int32, gap uint64, key func(int32) uint64) [][]int32 {
	var out [][]int32
	slices.SortFunc(p, func(a, b int32) int { return cmp.Compare(key(a), key(b)) })
	from := 0
	for i := 1; i <= len(p); i++ {
		if i == len(p) || key(p[i])-key(p[i-1]) > gap {
			slices.Sort(p[from:i])
			out = append(out, p[from:i:i])
			from = i
		}
	}
	return out
}

// Parts that sums do not divide are divided by distances to pivots, points of theirs that are far from each other
// (Gonzalez, Clustering to minimize the maximum intercluster distance, Theor. Comput. Sci. 38, 1985): where two
// neighbours in the order of the distance to any one point are more than t apart, no pair across is within t, by the
// triangle inequality. A pivot always cuts off the points around itself, if the others are far enough.

const (
	mostPivots = 64 // for one point; each takes a pass over the vectors of its part
	patience   = 4  // pivots that do not divide a part before it is left as it is
)

// carve divides parts of more than dense points by up to mostPivots pivots. It leaves in reach of every point its
// distance to a point that all points of its part were compared with. Collective.
func (s *space) carve(live [][]int32, height uint64, dense int) ([][]int32, error) {
	near := make([]uint64, len(s.pts)) // least distance to a pivot
	for i := range near {
		near[i] = s.pts[i].reach
	}
	idle := make([]int, len(live)) // pivots in a row that did not divide the part
	var done [][]int32
	for round := 0; round < mostPivots && len(live) > 0; round++ {
		if err := s.fromPivots(live, near); err != nil {
			return nil, err
		}
		work, before := live, idle
		live, idle = nil, nil
		for i, p := range work {
			for _, k := range p {
				near[k] = min(near[k], s.pts[k].reach)
			}
			list := gaps(p, height, func(k int32) uint64 { return s.pts[k].reach })
			n := 0
			if len(list) == 1 {
				n = before[i] + 1
			}
			for _, q := range list {
				if len(q) > dense && n < patience {
					live, idle = append(live, q), append(idle, n)
				} else {
					done = append(done, q)
				}
			}
		}
	}
	return append(done, live...), nil
}

// fromPivots sets reach to the distances to the pivots of the parts: of each part the point that is farthest from all pivots
// before. Collective.
func (s *space) fromPivots(parts [][]int32, near []uint64) error {
	want := make([][]int32, s.size)
	at := make([][]int32, s.size) // the points of each rank, in one order
	var pivotOf []int             // of this rank's points
	for i, p := range parts {
		pivot := p[0]
		for _, k := range p {
			if near[k] > near[pivot] {
				pivot = k
			}
			at[s.pts[k].rank] = append(at[s.pts[k].rank], k)
			if s.pts[k].local >= 0 {
				pivotOf = append(pivotOf, i)
			}
		}
		for r := range want {
			want[r] = append(want[r], pivot)
		}
	}
	sums := make([][2]uint64, len(pivotOf))
	err := s.panels(want, 0, func(r rows, from uint64) error {
		x := make([]int64, r.width)
		for i, k := range at[s.rank] {
			if err := s.entries(s.pts[k].local, from, x); err != nil {
				return err
			}
			for n, y := range r.row(pivotOf[i]) {
				if d := apart(x[n], y); s.o.Metric == L1 {
					sums[i][1] += d
				} else {
					sums[i][0], sums[i][1] = plusSquare(sums[i][0], sums[i][1], d)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var b []byte
	for _, x := range sums {
		if s.o.Metric == L2 {
			x[1] = distanceOf(x[0], x[1], s.fraction)
		}
		b = putUint64(b, x[1])
	}
	return s.tell(b, func(rank int, b []byte) error {
		if len(b) != 8*len(at[rank]) {
			return errMessage("distances to pivots")
		}
		for i, k := range at[rank] {
			s.pts[k].reach = getUint64(b[8*i:])
		}
		return nil
	})
}
