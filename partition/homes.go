package partition

import (
	"sort"

	"github.com/coppice-hpc/coppice/trace"
)

// Homes says which rank is the home of a process: the rank with its first location. A process whose locations are spread over several ranks
// is matched there.
type Homes struct {
	defs   *trace.Definitions
	ranges []Range
	rank   int
	First  []uint32 // first process at home on each rank; one element more than ranks
}

// NewHomes computes the homes of all processes, for one rank.
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

// Of returns the home of a process.
func (h *Homes) Of(process uint32) int {
	return sort.Search(len(h.ranges)-1, func(r int) bool { return h.First[r+1] > process })
}

// Here reports whether this rank is the home of a process of which it has a location.
func (h *Homes) Here(process uint32) bool { return process >= h.First[h.rank] }

// Away returns the home of this rank's first process, and whether that is another rank.
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

// Sharers returns the later ranks that have locations of this rank's last process. It returns nil if that process has another home.
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
