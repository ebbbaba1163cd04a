package cluster

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// splitter is the stage that divides the points.
type splitter struct {
	*space
	height uint64 // threshold, as a height
	dense  int    // points of the largest part that is not divided further
}

// split divides the points into parts of which no pair across is within the threshold, t in units of the vectors.
// Each part is ascending, and so are their first points. Parts of more than dense points are divided as far as pivots can.
//
// Sums are compared first: those of two vectors within the threshold are not further apart than the window.
func (s *splitter) split(t uint64) ([][]int32, error) {
	all := make([]int32, len(s.pts))
	for i := range all {
		all[i] = int32(i)
		s.pts[i].reach = s.pts[i].far
	}
	if s.o.Full || s.o.Linkage == Centroid {
		return [][]int32{all}, nil
	}
	if s.height == 0 { // points differ
		return slices.Collect(slices.Chunk(all, 1)), nil
	}
	parts := gaps(all, s.window(t), func(k int32) uint64 { return uint64(s.pts[k].sum) ^ 1<<63 })
	var done, live [][]int32
	for _, p := range parts {
		for _, q := range gaps(p, s.height, func(k int32) uint64 { return s.pts[k].far }) {
			if len(q) > s.dense {
				live = append(live, q)
			} else {
				done = append(done, q)
			}
		}
	}
	live, err := s.carve(live)
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
func (s *splitter) carve(live [][]int32) ([][]int32, error) {
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
			list := gaps(p, s.height, func(k int32) uint64 { return s.pts[k].reach })
			n := 0
			if len(list) == 1 {
				n = before[i] + 1
			}
			for _, q := range list {
				if len(q) > s.dense && n < patience {
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
func (s *splitter) fromPivots(parts [][]int32, near []uint64) error {
	var list []uint64
	at := make([][]int32, s.size) // the points of each rank, in one order
	for _, p := range parts {
		pivot := p[0]
		here := make([][]int32, s.size)
		most := 0
		for _, k := range p {
			if near[k] > near[pivot] {
				pivot = k
			}
			r := s.pts[k].rank
			here[r], at[r] = append(here[r], k), append(at[r], k)
			most = max(most, len(here[r]))
		}
		d, err := s.compare(here[s.rank], []int32{pivot}, false, s.form(p).measure, math.MaxUint64, most)
		if err != nil {
			return err
		}
		for i := range here[s.rank] {
			list = append(list, d.at(i, 0))
		}
	}
	return s.tell(list, 1, "distances to pivots", func(rank int, x []uint64) bool {
		if len(at[rank]) == 0 {
			return false
		}
		s.pts[at[rank][0]].reach = x[0]
		at[rank] = at[rank][1:]
		return true
	})
}

// coarsen refuses parts for which sums do not fit 63 bits. For W members that are up to D apart these are, with a mean linkage, the sums of
// distances over the pairs of two clusters, D·(W/2)² at most, and for the representative of a class n·x less the sum of all n
// entries x, and the sum of a member's L1 distances, D·W at most. With L2, heights of means first lose so many binary places as it takes.
func (s *splitter) coarsen(parts [][]int32) error {
	places := s.fraction
	for _, p := range parts {
		weight := uint64(0)
		for _, k := range p {
			weight += uint64(s.pts[k].weight)
		}
		bound := s.bound(p)
		units := shiftUp(bound, s.fraction)
		if s.o.Representative == Medoid {
			units = s.window(units)
		}
		if hi, lo := bits.Mul64(units, weight); weight > 2 && (hi > 0 || lo >= 1<<63) {
			return s.tooFar(weight, units, "the choice of its representative")
		}
		if !s.o.mean() {
			continue
		}
		half := (weight + 1) / 2
		for ; ; places-- {
			d := bound
			if lost := s.fraction - places; lost > 0 {
				d = shiftUp(bound, lost) + 1 // it is a sum of two that are rounded up
			}
			if hi, lo := bits.Mul64(d, half*half); hi == 0 && lo < 1<<63 {
				break
			}
			if places == 0 {
				return s.tooFar(weight, units, "the sum over the pairs of two clusters")
			}
		}
	}
	lost := s.fraction - places
	for i := range s.pts {
		s.pts[i].far, s.pts[i].reach = shiftUp(s.pts[i].far, lost), shiftUp(s.pts[i].reach, lost)
	}
	s.fraction = places
	return nil
}

// shiftUp returns d/2^n, rounded up, for d up to 2^63.
func shiftUp(d uint64, n uint8) uint64 { return (d + 1<<n - 1) >> n }

func (s *splitter) tooFar(members, bound uint64, what string) error {
	advice := "a lower threshold"
	if s.o.Full {
		advice = "a threshold and no dendrogram"
	}
	if s.o.mean() {
		advice = "complete or single linkage, or " + advice
	}
	return fmt.Errorf("%w: %d members of a part are up to %d apart: %s takes more than 63 bits; choose %s", ErrRange, members, bound, what, advice)
}
