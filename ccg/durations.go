package ccg

import (
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// DurationBins is the number of bins of a histogram of durations.
const DurationBins = 252

// DurationBin returns the bin of a duration of v ticks: 0 to 3 have a bin each, and each power of two from 4 on has four of equal width.
func DurationBin(v uint64) int {
	if v < 4 {
		return int(v)
	}
	e := bits.Len64(v) - 1
	return 4*(e-1) + int(v>>(e-2)&3)
}

// DurationRange returns the smallest and the largest duration of a bin in ticks.
func DurationRange(bin int) (least, most uint64) {
	if bin < 4 {
		return uint64(bin), uint64(bin)
	}
	e := bin/4 + 1
	least = uint64(4+bin%4) << (e - 2)
	return least, least + (1<<(e-2) - 1)
}

// Durations is a histogram of ticks. Count, Min, Max and Sum are exact.
type Durations struct {
	Count    uint64
	Min, Max uint64 // 0 if Count is 0
	Sum      uint64
	Bins     [DurationBins]uint64
	Bound    uint64 // ticks by which each duration may be wrong; 0 if lossless
	SumBound uint64 // ticks by which Sum may be wrong

	over bool // Sum exceeds 64 bits
}

// add adds n durations of v ticks.
func (d *Durations) add(v, n uint64) {
	if n == 0 {
		return
	}
	if d.Count == 0 || v < d.Min {
		d.Min = v
	}
	d.Max = max(d.Max, v)
	d.Count += n
	d.Bins[DurationBin(v)] += n
	d.over = !addTimes(&d.Sum, v, n) || d.over
}

// Add adds the durations of other locations, in any order.
func (d *Durations) Add(o *Durations) error {
	if o.Count == 0 {
		return nil
	}
	if d.Count == 0 || o.Min < d.Min {
		d.Min = o.Min
	}
	d.Max = max(d.Max, o.Max)
	d.Count += o.Count
	for i, n := range o.Bins {
		d.Bins[i] += n
	}
	d.Bound, d.SumBound = max(d.Bound, o.Bound), min(d.SumBound+o.SumBound, graph.Farthest)
	if !addTimes(&d.Sum, o.Sum, 1) {
		return fmt.Errorf("call graph: a sum of durations exceeds 64 bits: %w", graph.ErrLimit)
	}
	return nil
}

// GapDurations returns the gaps that are exclusive time of a region: times between two consecutive events with the region innermost. It
// reads only the region's columns: O(values + rows of classes).
func (l *Location) GapDurations(region uint32) (*Durations, error) {
	d := &Durations{}
	for i, c := range l.view.Cols {
		if c.Gap && c.Region == region {
			if err := l.durations(d, i); err != nil {
				return nil, err
			}
		}
	}
	if l.view.Tables != nil {
		counts, err := l.rowCounts()
		if err != nil {
			return nil, err
		}
		for _, id := range l.view.Order {
			if t := l.view.Tables[id]; t != nil && l.view.ShapeOf(id).Region(l.view.Defs) == region {
				d.addGaps(l.view, id, t, counts[id])
			}
		}
	}
	return d, d.bounded(l, 1)
}

// durations adds the values of a column.
func (l *Location) durations(d *Durations, c int) error {
	return l.blocks(c, func(values []uint64) error {
		for _, v := range values {
			d.add(v, 1)
		}
		return nil
	})
}

// addGaps adds the gaps in the rows of a node with classes.
func (d *Durations) addGaps(v *graph.View, id uint32, t *graph.ClassTable, counts []uint64) {
	times := v.Iterations(id, t)
	children := v.Nodes.Children(id)
	for row, m := range counts {
		gaps, _ := t.Row(row)
		for i, gap := range gaps {
			tail := i == t.KidsPerRow
			if tail && v.ShapeOf(id).Cut || !tail && !v.IsReal(children[min(i, len(children)-1)]) {
				continue // there is no gap
			}
			d.add(gap, m*times)
		}
	}
}

// bounded sets Bound (for durations of at most this many gaps) and SumBound. It returns an error if the sum exceeds 64 bits.
func (d *Durations) bounded(l *Location, gaps uint64) error {
	by := l.Deviation()
	d.Bound, d.SumBound = by.TimeBound(gaps, d.Max), graph.Farthest
	if hi, all := bits.Mul64(gaps, d.Count); hi == 0 {
		d.SumBound = by.StoredBound(all, d.Sum)
	}
	if hi, all := bits.Mul64(d.Count, d.Bound); hi == 0 {
		d.SumBound = min(d.SumBound, all)
	}
	if d.over {
		return fmt.Errorf("call graph: location %d: a sum of durations exceeds 64 bits: %w", l.p, graph.ErrLimit)
	}
	return nil
}

// CallDurations returns the durations of a region's calls, including calls inside them. A call without a leave ends with the last event.
//
// Durations of calls without children are the values of columns; calls in nodes with classes are counted by row: O(values + rows). Other
// calls take a walk over the location's gaps, in which a node with classes is one step.
func (x *Index) CallDurations(region uint32) (*Durations, error) {
	l, v := x.loc, x.loc.view
	d := &Durations{}
	todo, err := x.leafDurations(d, region)
	if err != nil {
		return nil, err
	}
	longest := uint64(0) // gaps in a call
	for id := range x.calledNodes(region) {
		longest = max(longest, x.events[id]-1)
	}
	var lengths *ledger
	if v.Tables != nil {
		if err = x.openLedger(&lengths, byNothing); err != nil {
			return nil, err
		}
		counts, err := l.rowCounts()
		if err != nil {
			return nil, err
		}
		for id := range x.calledNodes(region) {
			for row, m := range counts[id] {
				d.add(lengths.rows[id].of(uint32(row))[0], m)
			}
		}
	}
	if todo != nil {
		if err := x.walkDurations(todo, lengths, d); err != nil {
			return nil, err
		}
	}
	return d, d.bounded(l, longest)
}

func (x *Index) calledNodes(region uint32) func(func(uint32) bool) {
	v := x.loc.view
	return func(yield func(uint32) bool) {
		for _, id := range v.Order {
			if v.Nodes.Kind(id) == graph.KindCall && v.ShapeOf(id).Region(v.Defs) == region && !yield(id) {
				return
			}
		}
	}
}

// leafDurations adds the calls without children whose columns have only such calls. It returns the Calls in column mode that are left; nil
// if there are none.
func (x *Index) leafDurations(d *Durations, region uint32) ([]bool, error) {
	v := x.loc.view
	inner := map[int32]bool{} // column of tails -> calls with children there
	tail := func(id uint32) int32 { return v.Column[v.Slot[id]+uint32(len(v.Nodes.Children(id)))] }
	for id := range x.calledNodes(region) {
		if k := tail(id); k >= 0 {
			inner[k] = inner[k] || len(v.Nodes.Children(id)) > 0
		}
	}
	read := map[int32]bool{}
	var todo []bool
	for id := range x.calledNodes(region) {
		k := tail(id)
		switch {
		case v.Tables != nil && v.Tables[id] != nil:
		case k < 0 && len(v.Nodes.Children(id)) == 0: // without a leave
			d.add(0, v.Mult[id])
		case k < 0 || inner[k]:
			if todo == nil {
				todo = make([]bool, v.Nodes.Len()+1)
			}
			todo[id] = true
		case !read[k]:
			read[k] = true
			if err := x.loc.durations(d, int(k)); err != nil {
				return nil, err
			}
		}
	}
	return todo, nil
}

// walkDurations measures the calls in column mode that todo marks. lengths has the durations of nodes with classes.
func (x *Index) walkDurations(todo []bool, lengths *ledger, d *Durations) error {
	v := x.loc.view
	if v.RootRow >= 0 {
		return nil
	}
	var enter []bool
	if v.Tables != nil {
		enter = make([]bool, len(v.Tables))
		for id, t := range v.Tables {
			enter[id] = t == nil
		}
	}
	r := x.loc.readInside(enter)
	var begins []uint64 // of the open calls that todo marks
	for {
		st, id, slot := r.step()
		switch {
		case st == graph.StepEnd:
			return r.err()
		case st != graph.StepEvent && !todo[id]:
		case st == graph.StepOpen:
			begins = append(begins, r.time)
		case st != graph.StepEvent:
			begin := begins[len(begins)-1]
			begins = begins[:len(begins)-1]
			if !r.over {
				d.add(r.time-begin, 1)
			}
		case enter != nil && !enter[id]:
			row := r.cursors[v.Class[slot]].Next()
			if row >= uint64(v.Tables[id].Rows) {
				return x.loc.damaged("a class that does not exist")
			}
			r.pass(lengths.rows[id].of(uint32(row))[0])
		}
	}
}

// RegionGaps says of how many gaps the times of a region in a Profile consist. Deviation.StoredBound converts that to the error of these
// times.
type RegionGaps struct {
	Exclusive uint64
	Inclusive uint64 // counts all recursive calls, not only the outermost
}

// RegionGaps counts gaps by region (of equal regions by the first; trace.Undefined: outside of all calls) from multiplicities: O(edges).
func (l *Location) RegionGaps() map[uint32]RegionGaps {
	v := l.view
	events := v.Count(func(id uint32) uint64 { return v.ShapeOf(id).Events() })
	byRegion := map[uint32]RegionGaps{}
	for _, id := range v.Order {
		h := v.ShapeOf(id)
		if h.Class == graph.ClassEvent {
			continue
		}
		region := trace.Joined(v.Defs, h.Region(v.Defs))
		g := byRegion[region]
		g.Exclusive += v.Mult[id] * v.GapsOf(id)
		if h.Class == graph.ClassCall {
			g.Inclusive += v.Mult[id] * (events[id] - 1)
		}
		byRegion[region] = g
	}
	return byRegion
}
