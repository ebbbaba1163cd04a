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

// blamePlace is what rows of DELAY and CPATH are summed by; the critical path has
// no pattern.
type blamePlace struct {
	key               uint64 // node and path
	pattern, activity uint32
}

func (a blamePlace) compare(b blamePlace) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.pattern, b.pattern), cmp.Compare(a.activity, b.activity))
}

// blameSum is a total, and the location with the largest part.
type blameSum struct {
	short, long, worst uint64
	worstP             uint32
}

type blameSums map[blamePlace]blameSum

// add adds the part of a location; locations ascend.
func (s blameSums) add(at blamePlace, p uint32, short, long uint64) {
	x := s[at]
	x.short, x.long = x.short+short, x.long+long
	if short+long > x.worst {
		x.worst, x.worstP = short+long, p
	}
	s[at] = x
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
	err = c.each(xtf.TypeCPath, func(_ uint64, row []byte) {
		var x xtf.CPath
		x.Load(row)
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

// causes checks delay costs and the critical path. Memory: 64 bytes for each row
// of their totals.
func (v *Verified) causes(r *Run, rows bool) error {
	if !rows {
		return nil
	}
	if err := v.delayTotals(r); err != nil {
		return err
	}
	return v.pathTotals(r)
}

// blamed is a location that others wait for, and a pattern of their waits.
type blamed struct{ p, pattern uint32 }

func (a blamed) compare(b blamed) int {
	return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.pattern, b.pattern))
}

// delayTotals checks that the costs of delays are the waits that have a cause, and
// that DELAYTOTAL is their sum. What a location costs directly by a pattern is what is waited for it in that pattern, less what it passes
// on to those that it waits for itself.
func (v *Verified) delayTotals(r *Run) error {
	all, whole := blameSums{}, blameSums{}
	waits, costs := Sum(0), Sum(0)
	caused, direct, passes := map[blamed]Sum{}, map[blamed]Sum{}, map[uint32]bool{}
	for p := range trace.P(r.Defs.NumLocations()) {
		err := r.rows(xtf.Proc(p), xtf.TypeWait, func(row []byte) {
			var x xtf.Wait
			if x.Load(row); x.CauseP != trace.Undefined && x.CauseP != uint32(p) {
				took := integer(x.End - min(x.T, x.End))
				waits = add(waits, took)
				at := blamed{x.CauseP, x.Pattern & xtf.WaitPatternMask}
				caused[at], passes[uint32(p)] = add(caused[at], took), true
			}
		})
		if err == nil {
			err = r.rows(xtf.Proc(p), xtf.TypeDelay, func(row []byte) {
				var x xtf.Delay
				x.Load(row)
				all.add(blamePlace{x.Key, x.Pattern, x.Activity}, uint32(p), x.Short, x.Long)
				costs = add(costs, integer(x.Short), integer(x.Long))
				at := blamed{uint32(p), x.Pattern}
				direct[at] = add(direct[at], integer(x.Short))
			})
		}
		if err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	err := r.rows(xtf.WholeRun, xtf.TypeDelayTotal, func(row []byte) {
		var x xtf.DelayTotal
		x.Load(row)
		v.place("DELAYTOTAL", whole, blamePlace{x.Key, x.Pattern, x.Activity}, blameSum{x.Short, x.Long, x.Worst, x.WorstP})
	})
	if err != nil {
		return err
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
	v.compareCauses("DELAYTOTAL", all, whole)
	return nil
}

// pathTotals checks that the critical path has the length of the run and that
// PATHTOTAL is the sum of its pieces.
func (v *Verified) pathTotals(r *Run) error {
	all, whole := blameSums{}, blameSums{}
	var length, last uint64
	first := xtf.Never
	for p := range trace.P(r.Defs.NumLocations()) {
		parts, end := blameSums{}, uint64(0)
		err := r.rows(xtf.Proc(p), xtf.TypeCPath, func(row []byte) {
			var x xtf.CPath
			if x.Load(row); x.T < end || x.End <= x.T {
				v.add("CPATH", "location %d: a piece from %d to %d behind one that ends at %d", p, x.T, x.End, end)
			}
			end = x.End
			length += x.End - x.T
			parts.add(blamePlace{xtf.NodeKey(x.Node, x.Path), 0, x.Activity}, uint32(p), x.End-x.T, 0)
		})
		for at, x := range parts {
			all.add(at, uint32(p), x.short, 0)
		}
		if err == nil {
			err = r.rows(xtf.Proc(p), xtf.TypeIval, func(row []byte) {
				var x xtf.Ival
				if x.Load(row); x.Node == 0 { // the program
					first, last = min(first, x.T), max(last, x.End)
				}
			})
		}
		if err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	err := r.rows(xtf.WholeRun, xtf.TypePathTotal, func(row []byte) {
		var x xtf.PathTotal
		x.Load(row)
		v.place("PATHTOTAL", whole, blamePlace{x.Key, 0, x.Activity}, blameSum{x.Ticks, 0, x.Worst, x.WorstP})
	})
	if err != nil {
		return err
	}
	if run := last - min(first, last); length != run {
		v.add("CPATH", "the critical path takes %d ticks, the run %d", length, run)
	}
	v.compareCauses("PATHTOTAL", all, whole)
	return nil
}

// place takes the row of a place, of which there is one.
func (v *Verified) place(array string, whole blameSums, at blamePlace, x blameSum) {
	if _, twice := whole[at]; twice {
		v.add(array, "node %d, call path %d, pattern %d, activity %s: two rows", at.key>>32, uint32(at.key), at.pattern, ActivityName(at.activity))
	}
	whole[at] = x
}

// compareCauses lists totals that differ from the sums of the locations.
func (v *Verified) compareCauses(array string, want, got blameSums) {
	var places []blamePlace
	for at := range want {
		places = append(places, at)
	}
	for at := range got {
		if _, ok := want[at]; !ok {
			places = append(places, at)
		}
	}
	slices.SortFunc(places, blamePlace.compare)
	for _, at := range places {
		if x, y := want[at], got[at]; x != y {
			v.add(array, "node %d, call path %d, pattern %d, activity %s: %d + %d ticks, most %d of location %d; the locations have %d + %d, most %d of location %d",
				at.key>>32, uint32(at.key), at.pattern, ActivityName(at.activity), y.short, y.long, y.worst, y.worstP, x.short, x.long, x.worst, x.worstP)
		}
	}
}
