package results

import (
	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/trace"
)

// undefinedCalls returns calls, inclusive and exclusive time of all regions that
// the definitions do not have, as if they were one. Columns of the graph do not
// tell them from time outside of calls, so it reads the location's events: few
// traces have such calls.
func undefinedCalls(r *Run, l *ccg.Location) (calls, inclusive, exclusive uint64, err error) {
	var open []bool // of the calls on the stack: undefined
	var begin, last trace.Time
	undefined := 0
	c := l.Cursor()
	for {
		s, ok := c.Next()
		if !ok {
			break
		}
		n := len(open)
		if n > 0 && open[n-1] {
			exclusive += uint64(s.Time - last)
		}
		last = s.Time
		switch s.Move {
		case ccg.Enters:
			_, known := r.Defs.RegionIndex(s.Region)
			open = append(open, !known)
			if known {
				break
			}
			if undefined == 0 {
				begin = s.Time
			}
			calls++
			undefined++
		case ccg.Leaves:
			if open[n-1] {
				if undefined--; undefined == 0 {
					inclusive += uint64(s.Time - begin)
				}
			}
			open = open[:n-1]
		}
	}
	if undefined > 0 { // never left
		inclusive += uint64(last - begin)
	}
	return calls, inclusive, exclusive, c.Err()
}
