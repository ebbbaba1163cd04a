package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// add adds a part of a place; the parts of locations come in their order.
func (s placeSums) add(at causeKey, x causeSum) {
	y := s[at]
	y.count, y.ticks, y.long = y.count+x.count, y.ticks+x.ticks, y.long+x.long
	if x.worst > y.worst {
		y.worst, y.worstP = x.worst, x.worstP
	}
	s[at] = y
}

// byNode are the sums by node and pattern.
func (s placeSums) byNode() placeSums {
	all := placeSums{}
	for at, x := range s {
		all.add(causeKey{at.key >> 32 << 32, at.pattern, at.activity}, causeSum{count: x.count, ticks: x.ticks, long: x.long})
	}
	return all
}

// differ calls f for the places at which s and o differ, in order.
func (s placeSums) differ(o placeSums, f func(at causeKey, here, there causeSum)) {
	all := maps.Clone(s)
	maps.Copy(all, o)
	for _, at := range slices.SortedFunc(maps.Keys(all), causeKey.compare) {
		if s[at] != o[at] {
			f(at, s[at], o[at])
		}
	}
}

// String names the place for people.
func (a causeKey) String() string {
	return fmt.Sprintf("node %d, call path %d, pattern %#x, activity %s", a.key>>32, uint32(a.key), a.pattern, ActivityName(a.activity))
}

// String is the sum for people.
func (s causeSum) String() string {
	return fmt.Sprintf("%d times, %d + %d ticks, most %d of location %d", s.count, s.ticks, s.long, s.worst, s.worstP)
}

// placeTotal compares an array of totals with the sums of the locations; by node and pattern where there are so many places that call
// paths were cut. Memory: 80 bytes for each place, twice.
func (v *Verified) placeTotal(r *Run, t *placeArray) error {
	all, whole := placeSums{}, placeSums{}
	for p := range xtf.Proc(r.File.Procs()) {
		if err := t.parts(r, p, all.add); err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	err := t.whole(r, xtf.WholeRun, func(at causeKey, x causeSum) {
		if _, twice := whole[at]; twice || x.worst > x.ticks+x.long || uint64(x.worstP) >= uint64(r.Defs.NumLocations()) {
			v.add(t.name, "%s: %s; in a place of its own: %v", at, x, !twice)
		}
		whole.add(at, x)
	})
	if len(all) > xtf.MostWaitTotals {
		all, whole = all.byNode(), whole.byNode()
	}
	all.differ(whole, func(at causeKey, here, there causeSum) {
		v.add(t.name, "%s: %s; the locations have %s", at, there, here)
	})
	return err
}

// criticalItems are the components that add up CPATH rows.
var criticalItems = []xtf.Item{xtf.ItemCriticalCPU, xtf.ItemCriticalMPI, xtf.ItemCriticalIO, xtf.ItemCriticalMarker}

// path compares the pieces of the critical path, of every interval, with COMP.
func (c *locationCheck) path() error {
	executions, err := c.r.File.Array(xtf.Proc(c.p), xtf.TypeIval)
	if err != nil {
		return err
	}
	var inside interval.Components
	s := interval.NewSums(executions.Rows(0, executions.Len()), &inside, criticalItems...)
	end := uint64(0)
	err = load(c.r, xtf.Proc(c.p), func(x *xtf.CPath) {
		item := xtf.CriticalOf(x.Activity)
		if item == xtf.NumItems || x.T < end || x.End <= x.T { // outside of the events; the others are found with PATHTOTAL
			return
		}
		end = x.End
		s.Span(x.T, x.End, item)
	})
	if serr := s.Flush(); serr != nil {
		c.add("IVAL", nil, "the critical path of intervals cannot be added up: %v", serr)
		return err
	}
	return errors.Join(err, c.inside(&inside, criticalItems))
}

// causes checks delay costs and the critical path.
func (v *Verified) causes(r *Run, rows bool) error {
	if !rows {
		return nil
	}
	err := v.delayCosts(r)
	if err == nil {
		err = v.placeTotal(r, &placeArrays[1])
	}
	if err == nil {
		err = v.pathLength(r)
	}
	if err == nil {
		err = v.placeTotal(r, &placeArrays[2])
	}
	return err
}

// blamed is a location that others wait for, and a pattern of their waits.
type blamed struct{ p, pattern uint32 }

func (a blamed) compare(b blamed) int {
	return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.pattern, b.pattern))
}

// delayCosts checks that the costs of delays are the waits that have a cause. What a location costs directly by a pattern is what is waited
// for it in that pattern, less what it passes on to those that it waits for itself.
func (v *Verified) delayCosts(r *Run) error {
	waits, costs := Sum(0), Sum(0)
	caused, direct, passes := map[blamed]Sum{}, map[blamed]Sum{}, map[uint32]bool{}
	for p := range xtf.Proc(r.File.Procs()) {
		err := load(r, p, func(x *xtf.Wait) {
			if x.CauseP != trace.Undefined && x.CauseP != uint32(p) {
				took := integer(x.End - min(x.T, x.End))
				waits = add(waits, took)
				at := blamed{x.CauseP, x.Pattern & xtf.WaitPatternMask}
				caused[at], passes[uint32(p)] = add(caused[at], took), true
			}
		})
		if err == nil {
			err = load(r, p, func(x *xtf.Delay) {
				costs = add(costs, integer(x.Short), integer(x.Long))
				at := blamed{uint32(p), x.Pattern}
				direct[at] = add(direct[at], integer(x.Short))
			})
		}
		if err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	places := maps.Clone(caused)
	maps.Copy(places, direct)
	for _, at := range slices.SortedFunc(maps.Keys(places), blamed.compare) {
		if cost, wait := direct[at], caused[at]; cost > wait || cost < wait && !passes[at.p] {
			v.add("DELAY", "location %d costs others %d ticks directly by pattern %d, they wait %d for it", at.p, cost, at.pattern, wait)
		}
	}
	if waits != costs {
		v.add("DELAY", "costs of %d ticks, the waits have %d", costs, waits)
	}
	return nil
}

// pathLength checks that the critical path has the length of the run.
func (v *Verified) pathLength(r *Run) error {
	var length, last uint64
	first := xtf.Never
	for p := range xtf.Proc(r.File.Procs()) {
		end := uint64(0)
		err := load(r, p, func(x *xtf.CPath) {
			if x.T < end || x.End <= x.T {
				v.add("CPATH", "location %d: a piece from %d to %d behind one that ends at %d", p, x.T, x.End, end)
			}
			end = x.End
			length += x.End - x.T
		})
		if err == nil {
			err = load(r, p, func(x *xtf.Ival) {
				if x.Node == 0 { // the program
					first, last = min(first, x.T), max(last, x.End)
				}
			})
		}
		if err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	if run := last - min(first, last); length != run {
		v.add("CPATH", "the critical path takes %d ticks, the run %d", length, run)
	}
	return nil
}
