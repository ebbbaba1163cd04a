package predict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/predict/pipeline"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrNoJob means that what was to be a job is not in a run.
var ErrNoJob = errors.New("no such job in the run")

// ObservedJobs says what of a run a job is. The zero value: the run is one job, from MPI_Init to MPI_Finalize.
type ObservedJobs struct {
	Node   *uint32 // each execution of this node of the interval tree
	Region string  // each call of this function that is in no other one
	Repeat bool    // each execution of the outermost interval, or else function, that all processes execute more than once
}

// jobs finds the jobs of all ranks.
func (o *observer) jobs(out *pipeline.Observed, j ObservedJobs) error {
	if j.Repeat {
		var err error
		if j, err = o.repeated(out); err != nil {
			return err
		}
	}
	if j.Node == nil && j.Region == "" {
		return nil
	}
	found := false
	for r, p := range o.d.Processes() {
		x := &out.Ranks[r]
		var err error
		if j.Node != nil {
			err = o.executions(x, p, *j.Node)
		} else {
			err = o.calls(x, p, j.Region)
		}
		if err != nil {
			return fmt.Errorf("process %d: %w", r, err)
		}
		found = found || len(x.Jobs) > 0
	}
	if !found {
		return fmt.Errorf("%w: no process executes it", ErrNoJob)
	}
	return nil
}

// executions makes a job of each execution of a node, on the first location of a process.
func (o *observer) executions(r *pipeline.ObservedRank, p trace.Process, node uint32) error {
	return xtf.Each(o.f, xtf.Proc(p.First), func(_ uint64, x *xtf.Ival) error {
		if x.Node == node {
			return o.job(r, x.T, x.End)
		}
		return nil
	})
}

// calls makes a job of each outermost call of a function.
func (o *observer) calls(r *pipeline.ObservedRank, p trace.Process, region string) error {
	names := o.regionsOf(region)
	var end uint64
	return xtf.Each(o.f, xtf.Proc(p.First), func(_ uint64, c *xtf.Call) error {
		if c.End == xtf.Never || !names[c.Region] || c.T < end {
			return nil
		}
		end = c.End
		return o.job(r, c.T, c.End)
	})
}

func (o *observer) job(r *pipeline.ObservedRank, begin, end uint64) error {
	if end < begin {
		return xtf.ErrCorrupt
	}
	r.Jobs = append(r.Jobs, pipeline.ObservedSpan{Begin: o.time(begin), End: o.time(end)})
	return nil
}

// regionsOf are the definitions with a name.
func (o *observer) regionsOf(name string) map[uint32]bool {
	found := map[uint32]bool{}
	for i := range o.d.Regions {
		if r := &o.d.Regions[i]; o.d.Text(r.Name) == name {
			found[r.Ref] = true
		}
	}
	return found
}

// repeat counts the executions of what may be a job, rank after rank.
type repeat struct {
	rank   int // that executed it last
	here   int // executions there
	each   int // executions of each rank before that communicates
	ranks  int // of these
	uneven bool
	ticks  float64
}

// add counts an execution of a rank, not below the last one.
func (x *repeat) add(list []pipeline.ObservedRank, rank int, ticks uint64) {
	if rank != x.rank {
		x.close(list)
		x.rank = rank
	}
	x.here++
	x.ticks += float64(ticks)
}

// close ends the last rank.
func (x *repeat) close(list []pipeline.ObservedRank) {
	if x.here > 0 && communicates(&list[x.rank]) {
		x.each = cmp.Or(x.each, x.here)
		x.uneven = x.uneven || x.here != x.each
		x.ranks++
	}
	x.here = 0
}

// regular says whether all ranks that communicate have equally many executions, and more than one.
func (x *repeat) regular(list []pipeline.ObservedRank, communicating int) bool {
	x.close(list)
	return x.ranks == communicating && !x.uneven && x.each > 1
}

func communicates(r *pipeline.ObservedRank) bool { return len(r.Messages)+len(r.Collectives) > 0 }

// repeated finds the outermost thing that all processes execute again and again; of several the one with the most time.
func (o *observer) repeated(out *pipeline.Observed) (ObservedJobs, error) {
	nodes, parents := map[uint32]*repeat{}, map[uint32]uint32{}
	err := xtf.Each(o.f, xtf.WholeRun, func(_ uint64, x *xtf.Interval) error {
		if uint64(x.Parent) >= x.Key && x.Key > 0 {
			return xtf.ErrCorrupt
		}
		if x.Key > 0 && x.Key < 1<<32 {
			nodes[uint32(x.Key)], parents[uint32(x.Key)] = &repeat{}, x.Parent
		}
		return nil
	})
	if err != nil {
		return ObservedJobs{}, err
	}
	regions := map[uint32]*repeat{}
	for r, p := range o.d.Processes() {
		err = xtf.Each(o.f, xtf.Proc(p.First), func(_ uint64, x *xtf.Ival) error {
			if n := nodes[x.Node]; n != nil {
				n.add(out.Ranks, r, x.End-min(x.T, x.End))
			}
			return nil
		})
		if err == nil {
			err = o.countRegions(regions, r, out.Ranks, xtf.Proc(p.First))
		}
		if err != nil {
			return ObservedJobs{}, err
		}
	}
	communicating := 0
	for r := range out.Ranks {
		if communicates(&out.Ranks[r]) {
			communicating++
		}
	}
	covered := map[uint32]bool{} // by a node above it, which has a lower number
	if n, ok := mostTime(nodes, func(n uint32, x *repeat) bool {
		above := nodes[parents[n]]
		covered[n] = covered[parents[n]] || above != nil && above.regular(out.Ranks, communicating)
		return !covered[n] && x.regular(out.Ranks, communicating)
	}); ok {
		return ObservedJobs{Node: &n}, nil
	}
	if ref, ok := mostTime(regions, func(_ uint32, x *repeat) bool { return x.regular(out.Ranks, communicating) }); ok {
		return ObservedJobs{Region: o.name(ref)}, nil
	}
	return ObservedJobs{}, fmt.Errorf("%w: no interval and no function is executed equally often, and more than once, by all processes. "+
		"Name what a job is, or give the run intervals: analyze --between coll:Allreduce, or markers in the program", ErrNoJob)
}

// countRegions counts the calls of functions of the program, those inside of calls of the same function left out.
func (o *observer) countRegions(list map[uint32]*repeat, rank int, ranks []pipeline.ObservedRank, p xtf.Proc) error {
	open := map[uint32]uint64{}
	return xtf.Each(o.f, p, func(_ uint64, c *xtf.Call) error {
		if c.End == xtf.Never || c.End < c.T || c.T < open[c.Region] || c.Flags&xtf.FlagMarker != 0 || strings.HasPrefix(o.name(c.Region), "MPI_") {
			return nil
		}
		open[c.Region] = c.End
		if list[c.Region] == nil {
			list[c.Region] = &repeat{}
		}
		list[c.Region].add(ranks, rank, c.End-c.T)
		return nil
	})
}

// mostTime is the candidate with the most time, of equals the lowest. It asks in ascending order.
func mostTime(list map[uint32]*repeat, candidate func(uint32, *repeat) bool) (best uint32, ok bool) {
	keys := make([]uint32, 0, len(list))
	for k := range list {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if candidate(k, list[k]) && (!ok || list[k].ticks > list[best].ticks) {
			best, ok = k, true
		}
	}
	return best, ok
}
