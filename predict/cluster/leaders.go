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

// thin returns the leaders of points, and the links of followers that this rank found. A leader has the mass of its followers. Collective.
func (j *job) thin(points []int32, radius, window uint64) ([]int32, []link, error) {
	s, _ := j.spec(points)
	t := &thinning{job: j, measure: s.measure, radius: radius, window: window}
	j.approximation.Radius = radius
	for from := 0; from < len(points); {
		n, err := t.blockSize(len(points) - from)
		if err != nil {
			return nil, nil, err
		}
		if err := t.block(points[from : from+n]); err != nil {
			return nil, nil, err
		}
		from += n
		if len(t.all) > int(j.o.ExactMax) {
			return nil, nil, fmt.Errorf("%w: a part of %d has more than %d leaders within a quarter of the threshold; "+
				"raise the threshold, or round the entries", ErrTooMany, len(points), j.o.ExactMax)
		}
	}
	j.approximation.Leaders += uint32(len(t.all))
	j.approximation.Led += uint32(len(points) - len(t.all))
	return t.all, t.links, nil
}

// thinning is the state of thin.
type thinning struct {
	*job
	measure        measure
	radius, window uint64
	all            []int32 // leaders of all ranks, ascending
	own            []int32 // leaders of this rank's points, ordered by sum
	links          []link
}

const mostBlock = 1024

// blockSize is the number of points that are compared with all leaders at once. It decides nothing but memory.
func (t *thinning) blockSize(left int) (int, error) {
	most := []int64{int64(len(t.own))}
	if err := t.c.AllreduceInt64(most, mpi.Max); err != nil {
		return 0, err
	}
	n := t.o.Memory / 8 / 16 / (most[0] + mostBlock)
	return int(max(1, min(mostBlock, n, int64(left)))), nil
}

// block gives each of the points a leader, or makes it one.
func (t *thinning) block(points []int32) error {
	columns := slices.Clone(points)
	bySum := func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.pts[a].sum, t.pts[b].sum), cmp.Compare(a, b))
	}
	slices.SortFunc(columns, bySum)
	first := len(t.own)
	lines := slices.Clone(t.own) // points whose distances to the columns are computed here
	for i, k := range columns {
		if i%t.size == t.rank {
			lines = append(lines, k)
		}
	}
	sums, err := t.compare(lines, first, columns)
	if err != nil {
		return err
	}
	leader, pairs := t.within(lines, first, columns, sums)
	if err := t.c.AllreduceInt64(leader, mpi.Min); err != nil {
		return err
	}
	all, err := t.c.Allgather(pairs)
	if err != nil {
		return err
	}
	if err = t.agree(t.choose(points, columns, leader, all)); err != nil {
		return err
	}
	for i, line := range lines {
		for k, c := range columns {
			if leader[k] == int64(line) && line < c {
				t.links = append(t.links, link{line, c, whole(sums.at(t.job, t.measure, i*len(columns)+k))})
			}
		}
	}
	for k, c := range columns {
		switch to := leader[k]; {
		case to != int64(c):
			t.pts[to].mass += t.pts[c].mass
		case t.pts[c].local >= 0:
			at, _ := slices.BinarySearchFunc(t.own, c, bySum)
			t.own = slices.Insert(t.own, at, c)
		}
	}
	return nil
}

// sumTable holds the sums over all entries for lines and columns.
type sumTable struct{ lo, hi []uint64 }

// at is the distance at a place.
func (s sumTable) at(j *job, m measure, place int) uint64 {
	switch m {
	case absolutes:
		return s.lo[place]
	case squares:
		return j.distance(0, s.lo[place])
	}
	return j.distance(s.hi[place], s.lo[place])
}

// compare computes the distances of lines, the first of which are points of this rank, to columns. Collective.
func (t *thinning) compare(lines []int32, first int, columns []int32) (sumTable, error) {
	n := len(columns)
	s := sumTable{lo: make([]uint64, len(lines)*n)}
	if t.measure == squaresWide {
		s.hi = make([]uint64, len(s.lo))
	}
	list := make([]int32, 0, n*t.size)
	dest := make([]int32, 0, n*t.size)
	for r := range t.size {
		for _, c := range columns {
			list, dest = append(list, c), append(dest, int32(r))
		}
	}
	p := t.newPlan(list, dest)
	p.width = int(max(1, min(uint64(p.width), uint64(t.o.Memory)/8/8/uint64(len(t.pts)/t.size+mostBlock))))
	width := []int64{int64(p.width)}
	if err := t.c.AllreduceInt64(width, mpi.Min); err != nil {
		return s, err
	}
	p.width = int(width[0])
	tiles := make([]tile, t.o.Workers)
	from := uint64(0)
	err := t.panels(p, func(r rows) error {
		data := make([]int64, len(lines)*r.width)
		for i, k := range lines[:first] {
			if err := t.entries(t.pts[k].local, from, data[i*r.width:(i+1)*r.width]); err != nil {
				return t.agree(err)
			}
		}
		at := 0
		for k := range columns {
			if k%t.size == t.rank {
				copy(data[(first+at)*r.width:], r.row(k))
				at++
			}
		}
		if err := t.agree(nil); err != nil {
			return err
		}
		own := newRows(data, len(lines), r.width)
		parallel(len(tiles), (len(lines)+edge-1)/edge, func(worker, i int) {
			t.strip(&tiles[worker], s, own, i*edge, lines, r, columns)
		})
		from += uint64(r.width)
		return nil
	})
	return s, err
}

// strip adds the sums over a panel for edge lines from on, but for tiles in which all sums of entries are further
// apart than the window.
func (t *thinning) strip(tl *tile, s sumTable, own rows, from int, lines []int32, r rows, columns []int32) {
	to := min(from+edge, len(lines))
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, k := range lines[from:to] {
		low, high = min(low, t.pts[k].sum), max(high, t.pts[k].sum)
	}
	for b := 0; b < len(columns); b += edge {
		e := min(b+edge, len(columns))
		if x := t.pts[columns[b]].sum; x > high && apart(x, high) > t.window {
			return
		}
		if x := t.pts[columns[e-1]].sum; x < low && apart(x, low) > t.window {
			continue
		}
		tl.fill(t.measure, own, from, to, r, b, e)
		for i := from; i < to; i++ {
			at := (i - from) * edge
			place := i*len(columns) + b
			addSums(s.lo[place:place+e-b], s.hi, place, tl.lo[at:at+e-b], tl.hi[at:at+e-b], t.measure == squaresWide)
		}
	}
}

// noLeader is what stands for no leader in a minimum.
const noLeader = math.MaxInt64

// within returns for each column the lowest leader of this rank within the radius, and the encoded pairs of columns
// within it.
func (t *thinning) within(lines []int32, first int, columns []int32, s sumTable) (leader []int64, pairs []byte) {
	leader = make([]int64, len(columns))
	for k := range leader {
		leader[k] = noLeader
	}
	for i, line := range lines {
		for k, c := range columns {
			if line == c || apart(t.pts[line].sum, t.pts[c].sum) > t.window ||
				s.at(t.job, t.measure, i*len(columns)+k) > t.radius {
				continue
			}
			if i < first {
				leader[k] = min(leader[k], int64(line))
			} else if line < c {
				pairs = putUint32(pairs, uint32(line), uint32(k))
			}
		}
	}
	return leader, pairs
}

// choose goes through the points in order and fills in their leaders; a leader is its own.
func (t *thinning) choose(points, columns []int32, leader []int64, all [][]byte) error {
	near := make([][]int32, len(columns)) // lower points of the block within the radius
	for _, b := range all {
		if len(b)%8 != 0 {
			return errMessage("pairs")
		}
		for ; len(b) > 0; b = b[8:] {
			line, k := getUint32(b), getUint32(b[4:])
			if uint64(k) >= uint64(len(columns)) || uint64(line) >= uint64(len(t.pts)) {
				return errMessage("pairs")
			}
			near[k] = append(near[k], int32(line))
		}
	}
	column := make(map[int32]int, len(columns))
	for k, c := range columns {
		column[c] = k
	}
	for _, c := range points {
		k := column[c]
		if leader[k] != noLeader {
			continue
		}
		slices.Sort(near[k])
		leader[k] = int64(c)
		for _, line := range near[k] {
			if i, ok := column[line]; ok && leader[i] == int64(line) {
				leader[k] = int64(line)
				break
			}
		}
		if leader[k] == int64(c) {
			t.all = append(t.all, c)
		}
	}
	return nil
}
