package findings

import (
	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
)

// mostOwn is the most first threads for which the times of the program's own functions are added up.
const mostOwn = 1 << 10

// slowest returns the region in which a process that computes longest is farthest above the mean, and by how much. The time of a
// function of the system's libraries counts for the function of the program that calls it, unless the run has more than mostOwn
// processes.
func slowest(f *finder, rank uint32) (region *results.RegionTime, above numbers.Ratio, err error) {
	h := f.hot
	if h.Slowest == nil || len(f.r.Defs.Processes()) > mostOwn || uint64(rank) >= uint64(len(f.r.Defs.Processes())) {
		return h.Slowest, h.Above, nil
	}
	if !f.r.Defs.OfSystem(f.r.Defs.Region(h.Slowest.Region)) {
		return h.Slowest, h.Above, nil
	}
	all, here := map[uint32]uint64{}, map[uint32]uint64{}
	for of, process := range f.r.Defs.Processes() {
		l, err := f.r.Location(process.First)
		if err != nil {
			return h.Slowest, h.Above, beyond(err)
		}
		var paths ccg.PathProfile
		if err := paths.Add(l); err != nil {
			return h.Slowest, h.Above, beyond(err)
		}
		list, err := paths.Paths()
		if err != nil {
			return h.Slowest, h.Above, beyond(err)
		}
		own, within := make([]uint32, len(list)), make([]bool, len(list)) // results of CallPaths.Own; parents are before their children
		for i, x := range list {
			own[i] = x.Region
			switch d := f.r.Defs.Region(x.Region); {
			case d == nil || x.Depth == 1 && d.Paradigm != trace.ParadigmCompiler:
			case !f.r.Defs.OfSystem(d):
				within[i] = true
			case within[x.Parent]:
				own[i], within[i] = own[x.Parent], true
			}
			all[own[i]] += x.Exclusive
			if uint32(of) == rank {
				here[own[i]] += x.Exclusive
			}
		}
	}
	for i := range h.Profile.Regions {
		x := &h.Profile.Regions[i]
		mean := numbers.NewRatio(all[x.Region], uint64(h.Profile.Processes))
		if d := float64(here[x.Region]) - mean.Value; x.Kind == 0 && mean.Defined && d > above.Value {
			region, above = x, numbers.Ratio{Value: d, Defined: true}
		}
	}
	return region, above, nil
}
