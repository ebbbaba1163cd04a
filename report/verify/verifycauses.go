package verify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// byNode are sums by node and pattern.
func byNode(s results.PlaceSums) results.PlaceSums {
	all := results.PlaceSums{}
	for at, x := range s {
		all.Add(results.CauseKey{Key: at.Key >> 32 << 32, Pattern: at.Pattern, Activity: at.Activity}, results.CauseSum{Count: x.Count, Ticks: x.Ticks, Long: x.Long})
	}
	return all
}

// eachDifferent calls f for the keys at which two maps differ, in order.
func eachDifferent[M ~map[K]V, K, V comparable](a, b M, order func(x, y K) int, f func(at K, a, b V)) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, at := range slices.SortedFunc(maps.Keys(all), order) {
		if a[at] != b[at] {
			f(at, a[at], b[at])
		}
	}
}

// placeTotal compares an array of totals with the sums of the locations; by node and pattern where there are so many places that call
// paths were cut. Memory: 80 bytes for each place, twice.
func (v *Verified) placeTotal(r *results.Run, t *results.PlaceArray) error {
	all, whole := results.PlaceSums{}, results.PlaceSums{}
	for p := range xtf.Proc(r.File.Procs()) {
		if err := t.Parts(r, p, func(at results.CauseKey, x results.CauseSum) { all.Add(at, x) }); err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	err := t.Whole(r, xtf.WholeRun, func(at results.CauseKey, x results.CauseSum) {
		if _, twice := whole[at]; twice || x.Worst > x.Ticks+x.Long || uint64(x.WorstP) >= uint64(r.Defs.NumLocations()) {
			v.add(t.Name, "%s: %s; in a place of its own: %v", at, x, !twice)
		}
		whole.Add(at, x)
	})
	if len(all) > xtf.MostWaitTotals {
		all, whole = byNode(all), byNode(whole)
	}
	eachDifferent(all, whole, results.CauseKey.Compare, func(at results.CauseKey, here, there results.CauseSum) {
		v.add(t.Name, "%s: %s; the locations have %s", at, there, here)
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
	err = results.Load(c.r, xtf.Proc(c.p), func(x *xtf.CPath) {
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
func (v *Verified) causes(r *results.Run, rows bool) error {
	if !rows {
		return nil
	}
	err := v.delayCosts(r)
	if err == nil {
		err = v.placeTotal(r, &results.PlaceArrays[1])
	}
	if err == nil {
		err = v.pathLength(r)
	}
	if err == nil {
		err = v.placeTotal(r, &results.PlaceArrays[2])
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
func (v *Verified) delayCosts(r *results.Run) error {
	waits, costs := numbers.Sum(0), numbers.Sum(0)
	caused, direct, passes := map[blamed]numbers.Sum{}, map[blamed]numbers.Sum{}, map[uint32]bool{}
	for p := range xtf.Proc(r.File.Procs()) {
		err := results.Load(r, p, func(x *xtf.Wait) {
			if x.CauseP != trace.Undefined && x.CauseP != uint32(p) {
				took := numbers.Integer(x.End - min(x.T, x.End))
				waits = numbers.Add(waits, took)
				at := blamed{x.CauseP, x.Pattern & xtf.WaitPatternMask}
				caused[at], passes[uint32(p)] = numbers.Add(caused[at], took), true
			}
		})
		if err == nil {
			err = results.Load(r, p, func(x *xtf.Delay) {
				costs = numbers.Add(costs, numbers.Integer(x.Short), numbers.Integer(x.Long))
				at := blamed{uint32(p), x.Pattern}
				direct[at] = numbers.Add(direct[at], numbers.Integer(x.Short))
			})
		}
		if err != nil {
			return fmt.Errorf("location %d: %w", p, err)
		}
	}
	eachDifferent(direct, caused, blamed.compare, func(at blamed, cost, wait numbers.Sum) {
		if cost > wait || !passes[at.p] {
			v.add("DELAY", "location %d costs others %d ticks directly by pattern %d, they wait %d for it", at.p, cost, at.pattern, wait)
		}
	})
	if waits != costs {
		v.add("DELAY", "costs of %d ticks, the waits have %d", costs, waits)
	}
	return nil
}

// pathLength checks that the critical path has the length of the run.
func (v *Verified) pathLength(r *results.Run) error {
	var length, last uint64
	first := xtf.Never
	for p := range xtf.Proc(r.File.Procs()) {
		end := uint64(0)
		err := results.Load(r, p, func(x *xtf.CPath) {
			if x.T < end || x.End <= x.T {
				v.add("CPATH", "location %d: a piece from %d to %d after one that ends at %d", p, x.T, x.End, end)
			}
			end = x.End
			length += x.End - x.T
		})
		if err == nil {
			err = results.Load(r, p, func(x *xtf.Ival) {
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
