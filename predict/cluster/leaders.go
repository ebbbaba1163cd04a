package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// A part with more points than can be clustered exactly is thinned first. In the order of ids, a point that is within the radius
// of a leader follows the lowest such leader; otherwise it becomes a leader (Hartigan, Clustering Algorithms, 1975, chapter 3).
// Leaders are more than the radius apart from each other. They represent all members that follow them.

// thinning is what a rank knows about leaders.
type thinning struct {
	*merger
	measure measure
	all     []int32 // leaders of all ranks, ascending
	own     []int32 // leaders of this rank's points, ordered by sum
	found   []link
}

// thin returns the leaders of points, and the links of followers to leaders of this rank. A leader has the mass of its followers. Collective.
func (s *merger) thin(points []int32) ([]int32, []link, error) {
	t := &thinning{merger: s, measure: s.form(points).measure}
	for from := 0; from < len(points); {
		most := []int64{int64(len(t.own))}
		if err := s.comm.AllreduceInt64(most, mpi.Max); err != nil {
			return nil, nil, err
		}
		n := int(max(1, min(mostBlock, s.o.Memory/8/16/(most[0]+mostBlock), int64(len(points)-from)))) // it decides nothing but memory
		if err := t.block(points[from:from+n], int(most[0])); err != nil {
			return nil, nil, err
		}
		if from += n; len(t.all) > int(s.o.ExactMax) {
			return nil, nil, fmt.Errorf("%w: a part of %d has more than %d leaders within a quarter of the threshold; "+
				"raise the threshold, or round the entries", ErrTooMany, len(points), s.o.ExactMax)
		}
	}
	return t.all, t.found, nil
}

// mostBlock is the largest number of points that are compared with all leaders, and with each other on each rank, at once.
const mostBlock = 256

// noLeader means no leader in a minimum.
const noLeader = math.MaxInt64

// block gives each of the points a leader, or makes it one. No rank has more than most leaders.
func (t *thinning) block(points []int32, most int) error {
	bySum := func(a, b int32) int { return cmp.Or(cmp.Compare(t.pts[a].sum, t.pts[b].sum), cmp.Compare(a, b)) }
	columns := slices.SortedFunc(slices.Values(points), bySum)
	d, err := t.compare(t.own, columns, true, t.measure, t.window, most)
	if err != nil {
		return err
	}
	leader := make([]int64, len(columns)) // lowest one before the block
	for k := range columns {
		leader[k] = noLeader
		for i, l := range t.own {
			if int64(l) < leader[k] && d.at(i, k) <= t.radius {
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
		to, line := int32(leader[k]), slices.Index(t.own[:before], int32(leader[k]))
		if leader[k] == noLeader {
			i := slices.IndexFunc(fresh, func(f int) bool { return d.at(before+f, k) <= t.radius })
			if i < 0 {
				fresh, t.all = append(fresh, k), append(t.all, p)
				continue
			}
			to, line = columns[fresh[i]], before+fresh[i]
		}
		t.pts[to].mass += t.pts[p].mass
		if t.pts[to].local >= 0 {
			t.found = append(t.found, link{to, p, whole(d.at(line, k))})
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
