package partition

import (
	"sort"

	"github.com/coppice-hpc/coppice/trace"
)

// Homes says which rank a process is at home on: the one that holds its first
// location. A process whose locations are spread over ranks is matched there.
type Homes struct {
	defs   *trace.Definitions
	ranges []Range
	rank   int
	First  []uint32 // first process at home on each rank; one element more than ranks
}

// NewHomes prepares the homes of all processes, for one rank.
func NewHomes(defs *trace.Definitions, ranges []Range, rank int) Homes {
	total := uint32(len(defs.Processes()))
	h := Homes{defs, ranges, rank, make([]uint32, len(ranges)+1)}
	for r := range ranges {
		h.First[r] = total
		if first := ranges[r].First; int(first) < defs.NumLocations() {
			process, thread := defs.Process(first)
			if thread != 0 {
				process++
			}
			h.First[r] = process
		}
	}
	h.First[len(ranges)] = total
	return h
}

// Of returns the rank that a process is at home on.
func (h *Homes) Of(process uint32) int {
	return sort.Search(len(h.ranges)-1, func(r int) bool { return h.First[r+1] > process })
}

// Here reports whether a process is at home on this rank, of which the rank
// holds a location.
func (h *Homes) Here(process uint32) bool { return process >= h.First[h.rank] }

// Away returns the home of the rank's first process where that is another rank.
func (h *Homes) Away() (rank int, ok bool) {
	own := h.ranges[h.rank]
	if own.First >= own.End {
		return h.rank, false
	}
	process, _ := h.defs.Process(own.First)
	for rank = h.rank; h.First[rank] > process; {
		rank--
	}
	return rank, rank != h.rank
}

// Sharers returns the ranks above that hold more locations of this rank's last
// process, if that is at home here.
func (h *Homes) Sharers() []int {
	own := h.ranges[h.rank]
	if own.First >= own.End {
		return nil
	}
	last, _ := h.defs.Process(own.End - 1)
	if !h.Here(last) {
		return nil
	}
	pr := h.defs.Processes()[last]
	var list []int
	for r := h.rank + 1; r < len(h.ranges) && h.ranges[r].First < pr.First+trace.P(pr.Count); r++ {
		if h.ranges[r].First < h.ranges[r].End {
			list = append(list, r)
		}
	}
	return list
}
