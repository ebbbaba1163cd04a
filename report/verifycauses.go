package report

import (
	"cmp"
	"fmt"
	"slices"

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

// delayTotals checks that the costs of delays are the waits that have a cause, and
// that DELAYTOTAL is their sum.
func (v *Verified) delayTotals(r *Run) error {
	all, whole := blameSums{}, blameSums{}
	waits, costs := Sum(0), Sum(0)
	for p := range trace.P(r.Defs.NumLocations()) {
		err := r.rows(xtf.Proc(p), xtf.TypeWait, func(row []byte) {
			var x xtf.Wait
			if x.Load(row); x.CauseP != trace.Undefined && x.CauseP != uint32(p) {
				waits = add(waits, integer(x.End-min(x.T, x.End)))
			}
		})
		if err == nil {
			err = r.rows(xtf.Proc(p), xtf.TypeDelay, func(row []byte) {
				var x xtf.Delay
				x.Load(row)
				all.add(blamePlace{x.Key, x.Pattern, x.Activity}, uint32(p), x.Short, x.Long)
				costs = add(costs, integer(x.Short), integer(x.Long))
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
