package cluster

import (
	"math"
	"slices"
)

// table is the distances of lines, points of this rank, to columns, any points.
type table struct {
	space          *space
	lines, columns []int32
	measure        measure
	window         uint64
	lo, hi         []uint64
}

// at is a distance, the largest number where the sums of entries are further apart than the window.
func (d *table) at(line, column int) uint64 {
	at := line*len(d.columns) + column
	switch {
	case d.beyond(d.lines[line], d.columns[column]) || d.beyond(d.columns[column], d.lines[line]):
		return math.MaxUint64
	case d.measure == absolutes:
		return d.lo[at]
	case d.hi == nil:
		return distanceOf(0, d.lo[at], d.space.fraction)
	}
	return distanceOf(d.hi[at], d.lo[at], d.space.fraction)
}

// beyond tells whether the sum of b is more than the window above that of a.
func (d *table) beyond(a, b int32) bool {
	x, y := d.space.pts[a].sum, d.space.pts[b].sum
	return y > x && apart(x, y) > d.window
}

// compare computes the distances of own, points of this rank, to columns, and with among of the columns to each other, as the last lines.
// Where both are ordered by sum, those beyond the window take no time. No rank has more than most own points. Collective.
func (s *space) compare(own, columns []int32, among bool, m measure, window uint64, most int) (*table, error) {
	d := &table{space: s, lines: own, columns: columns, measure: m, window: window}
	if among {
		d.lines = slices.Concat(own, columns)
	}
	d.lo = make([]uint64, len(d.lines)*len(columns))
	if m == squaresWide {
		d.hi = make([]uint64, len(d.lo))
	}
	tiles := make([]tile, s.workers)
	return d, s.panels(slices.Repeat([][]int32{columns}, s.size), most+len(columns), func(r rows, from uint64) error {
		data := make([]int64, len(d.lines)*r.width)
		for i, k := range own {
			if err := s.entries(s.pts[k].local, from, data[i*r.width:(i+1)*r.width]); err != nil {
				return err
			}
		}
		copy(data[len(own)*r.width:], r.data)
		all := newRows(data, r.width)
		s.parallel((len(d.lines)+edge-1)/edge, func(worker, i int) { d.strip(&tiles[worker], all, r, i*edge, len(own)) })
		return nil
	})
}

// strip adds the sums over a panel for edge lines from on; the first so many are ordered.
func (d *table) strip(t *tile, all, r rows, from, ordered int) {
	n := len(d.columns)
	to := min(from+edge, len(d.lines))
	for c := 0; c < n; c += edge {
		e := min(c+edge, n)
		if to <= ordered && (d.beyond(d.lines[to-1], d.columns[c]) || d.beyond(d.columns[e-1], d.lines[from])) {
			continue
		}
		t.fill(d.measure, all, from, to, r, c, e)
		for k := from; k < to; k++ {
			addSums(d.lo[k*n+c:k*n+e], d.hi, k*n+c, t.lo[(k-from)*edge:], t.hi[(k-from)*edge:])
		}
	}
}
