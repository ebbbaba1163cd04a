package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// A part of more points than can be clustered exactly is thinned first: in the order of ids, a point that is within
// the radius of a leader follows the lowest such leader, and else becomes one (Hartigan, Clustering Algorithms, 1975,
// chapter 3). Leaders are more than the radius apart from each other. They stand for all members that follow them.

// thinning is what a rank knows of leaders.
type thinning struct {
	*space
	measure        measure
	radius, window uint64
	all            []int32 // leaders of all ranks, ascending
	own            []int32 // leaders of this rank's points, ordered by sum
	links          []link
}

// thin returns the leaders of points, and the links of followers to leaders of this rank. A leader has the mass of its followers. Collective.
func (s *space) thin(points []int32, radius, window uint64) ([]int32, []link, error) {
	t := &thinning{space: s, measure: s.form(points).measure, radius: radius, window: window}
	for from := 0; from < len(points); {
		most := []int64{int64(len(t.own))}
		if err := s.comm.AllreduceInt64(most, mpi.Max); err != nil {
			return nil, nil, err
		}
		n := int(max(1, min(mostBlock, s.o.Memory/8/16/(most[0]+mostBlock), int64(len(points)-from)))) // it decides nothing but memory
		if err := t.block(points[from:from+n], int(most[0])+n); err != nil {
			return nil, nil, err
		}
		if from += n; len(t.all) > int(s.o.ExactMax) {
			return nil, nil, fmt.Errorf("%w: a part of %d has more than %d leaders within a quarter of the threshold; "+
				"raise the threshold, or round the entries", ErrTooMany, len(points), s.o.ExactMax)
		}
	}
	return t.all, t.links, nil
}

// mostBlock is the largest number of points that are compared with all leaders, and with each other on each rank, at once.
const mostBlock = 256

// noLeader is what stands for no leader in a minimum.
const noLeader = math.MaxInt64

// block gives each of the points a leader, or makes it one. Lines of others are held.
func (t *thinning) block(points []int32, others int) error {
	bySum := func(a, b int32) int { return cmp.Or(cmp.Compare(t.pts[a].sum, t.pts[b].sum), cmp.Compare(a, b)) }
	columns := slices.SortedFunc(slices.Values(points), bySum)
	lines := slices.Concat(t.own, columns)
	distance, err := t.compare(lines, columns, others)
	if err != nil {
		return err
	}
	leader := make([]int64, len(columns)) // lowest one before the block
	for k := range columns {
		leader[k] = noLeader
		for i, l := range t.own {
			if int64(l) < leader[k] && distance(i, k) <= t.radius {
				leader[k] = int64(l)
			}
		}
	}
	if err := t.comm.AllreduceInt64(leader, mpi.Min); err != nil {
		return err
	}
	before := len(t.own)
	var fresh []int // columns that lead
	for _, p := range points {
		k := slices.Index(columns, p)
		to, line := int32(leader[k]), slices.Index(lines[:before], int32(leader[k]))
		if leader[k] == noLeader {
			i := slices.IndexFunc(fresh, func(f int) bool { return distance(before+f, k) <= t.radius })
			if i < 0 {
				fresh, t.all = append(fresh, k), append(t.all, p)
				continue
			}
			to, line = columns[fresh[i]], before+fresh[i]
		}
		t.pts[to].mass += t.pts[p].mass
		if t.pts[to].local >= 0 {
			t.links = append(t.links, link{to, p, whole(distance(line, k))})
		}
	}
	for _, k := range fresh {
		if t.pts[columns[k]].local >= 0 {
			at, _ := slices.BinarySearchFunc(t.own, columns[k], bySum)
			t.own = slices.Insert(t.own, at, columns[k])
		}
	}
	return nil
}

// compare computes the distances of lines, points of this rank and then the columns, to columns; both are ordered by sum. Sums of entries
// that are further apart than the window have the largest distance. Collective.
func (t *thinning) compare(lines, columns []int32, others int) (func(line, column int) uint64, error) {
	n := len(columns)
	lo, hi := make([]uint64, len(lines)*n), []uint64(nil)
	if t.measure == squaresWide {
		hi = make([]uint64, len(lo))
	}
	tiles := make([]tile, t.workers)
	own := len(lines) - n
	err := t.panels(slices.Repeat([][]int32{columns}, t.size), others, func(r rows, from uint64) error {
		data := make([]int64, len(lines)*r.width)
		for i, k := range lines[:own] {
			if err := t.entries(t.pts[k].local, from, data[i*r.width:(i+1)*r.width]); err != nil {
				return err
			}
		}
		copy(data[own*r.width:], r.data)
		all := newRows(data, r.width)
		t.parallel((len(lines)+edge-1)/edge, func(worker, i int) {
			a, b := i*edge, min(i*edge+edge, len(lines))
			for c := 0; c < n; c += edge {
				e := min(c+edge, n)
				if b <= own && (t.beyond(lines[b-1], columns[c]) || t.beyond(columns[e-1], lines[a])) {
					continue
				}
				x := &tiles[worker]
				x.fill(t.measure, all, a, b, r, c, e)
				for k := a; k < b; k++ {
					addSums(lo[k*n+c:k*n+e], hi, k*n+c, x.lo[(k-a)*edge:], x.hi[(k-a)*edge:])
				}
			}
		})
		return nil
	})
	return func(line, column int) uint64 {
		at := line*n + column
		switch {
		case t.apartSums(lines[line], columns[column]) > t.window:
			return math.MaxUint64
		case t.measure == absolutes:
			return lo[at]
		case hi == nil:
			return distanceOf(0, lo[at], t.fraction)
		}
		return distanceOf(hi[at], lo[at], t.fraction)
	}, err
}

// beyond tells whether the sum of b is more than the window above that of a.
func (t *thinning) beyond(a, b int32) bool {
	return t.pts[b].sum > t.pts[a].sum && t.apartSums(a, b) > t.window
}

func (t *thinning) apartSums(a, b int32) uint64 { return apart(t.pts[a].sum, t.pts[b].sum) }
