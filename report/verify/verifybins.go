package verify

import (
	"cmp"
	"fmt"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// levelSums are order-free sums over the rows of one level of TIMEBIN. Each value
// is weighed by its bin and region, modulo 2^64, so that they add up over
// locations and tell levels apart.
type levelSums struct {
	rows   uint64
	own    uint64 // by the rows' bins
	coarse uint64 // by the bins of the level above
}

func (s *levelSums) add(bin uint64, x *xtf.TimeBin) {
	s.rows++
	for i, v := range [...]uint64{x.Count, x.Inclusive, x.Exclusive, x.Bytes} {
		s.own += v * spread(bin, uint64(x.Region), uint64(i))
		s.coarse += v * spread(bin>>2, uint64(x.Region), uint64(i))
	}
}

// pyramid is what the levels of an array of TIMEBIN add up to.
type pyramid struct {
	levels [256]levelSums
	found  []string // what is wrong
}

// runPyramid reads the time bins of p. Levels must follow one another without gaps
// up to one with a single bin, bins must not run backwards, a region occurs once
// in a bin, and each level must be the sum of the one below. O(rows).
func runPyramid(r *results.Run, p xtf.Proc) (*pyramid, error) {
	y := &pyramid{}
	a, err := r.File.Array(p, xtf.TypeTimeBin)
	if err != nil {
		return nil, err
	}
	place := func(ref uint32) int {
		if i, ok := r.Defs.RegionIndex(ref); ok {
			return i
		}
		return len(r.Defs.Regions)
	}
	var last xtf.TimeBin
	n := uint64(0)
	err = results.EachRow(a, 0, a.Len(), func(x *xtf.TimeBin) {
		level, bin := x.Key>>52, x.Key&(1<<52-1)
		switch order := cmp.Or(cmp.Compare(last.Key, x.Key), cmp.Compare(place(last.Region), place(x.Region))); {
		case level > 32:
			y.add("row %d is of level %d", n, level)
			level = 255
		case n > 0 && order >= 0:
			y.add("row %d is not after the one before", n)
		case n > 0 && level > last.Key>>52+1:
			y.add("level %d is missing", level-1)
		}
		y.levels[level].add(bin, x)
		last = *x
		n++
	})
	if err != nil || n == 0 {
		return y, err
	}
	if last.Key&(1<<52-1) != 0 {
		y.add("the top level has more than one bin")
	}
	finest, top := y.span()
	for l := finest; l < top; l++ {
		if y.levels[l].coarse != y.levels[l+1].own {
			y.add("level %d is not the sum of level %d", l+1, l)
		}
	}
	return y, nil
}

func (y *pyramid) add(format string, args ...any) {
	if len(y.found) < keptFindings {
		y.found = append(y.found, fmt.Sprintf(format, args...))
	}
}

// span is the lowest level with rows, -1 without, and the highest, the profile.
func (y *pyramid) span() (finest, top int) {
	finest = -1
	for l := range y.levels {
		if y.levels[l].rows > 0 {
			if finest < 0 {
				finest = l
			}
			top = l
		}
	}
	return finest, top
}

// comparePyramid checks the levels of a location's time bins.
func (c *locationCheck) comparePyramid() error {
	y, err := runPyramid(c.r, xtf.Proc(c.p))
	if err != nil {
		return err
	}
	for _, what := range y.found {
		c.add("TIMEBIN", nil, "%s", what)
	}
	return nil
}

// pyramids checks that the whole run's time bins are the sum of the locations'.
func (v *Verified) pyramids(r *results.Run, rows bool) error {
	whole, err := runPyramid(r, xtf.WholeRun)
	if err != nil {
		return err
	}
	for _, what := range whole.found {
		v.add("TIMEBIN", "whole run: %s", what)
	}
	finest, top := whole.span()
	if !rows || finest < 0 {
		return nil
	}
	var sum uint64 // of the locations' rows, at the whole run's finest level
	for p := range xtf.Proc(r.File.Procs()) {
		y, err := runPyramid(r, p)
		if err != nil {
			return err
		}
		if low, high := y.span(); low >= 0 && (low > finest || high != top) {
			v.add("TIMEBIN", "location %d has levels %d to %d, the whole run %d to %d", p, low, high, finest, top)
			return nil
		}
		sum += y.levels[finest].own
	}
	if sum != whole.levels[finest].own {
		v.add("TIMEBIN", "level %d of the whole run is not the sum of the locations'", finest)
	}
	return nil
}
