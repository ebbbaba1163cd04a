package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// openCalls are the outermost MPI calls that never returned, of the locations that
// are in one at their last event: by location. Set-up does not count. Of processes
// with a location that cannot be read nothing is known.
func (r *Run) openCalls() (list []endCall, unknown []uint32, err error) {
	for p := range trace.P(r.Defs.NumLocations()) {
		rank, _ := r.Defs.Process(p)
		v, err := r.components(p)
		if err == nil && v[xtf.ItemEvents] > 0 {
			var a *xtf.Array
			if a, err = r.File.Array(xtf.Proc(p), xtf.TypeCall); err == nil {
				last := v[xtf.ItemLast]
				err = a.Overlapping(last-min(last, 1), xtf.Never, func(_ uint64, row []byte) bool {
					var c xtf.Call
					c.Load(row)
					if c.Flags&xtf.FlagCut != 0 && c.Flags&xtf.FlagOutermostMPI != 0 && c.Class&xtf.ClassInit == 0 {
						list = append(list, endCall{rank, c.Region, c.Class, c.T})
					}
					return true
				})
			}
		}
		if Partial(err) {
			unknown = append(unknown, rank)
		} else if err != nil {
			return nil, nil, fmt.Errorf("%s: location %d: open calls: %w", r.Name, r.Defs.Location(p).Ref, err)
		}
	}
	return list, slices.Compact(unknown), nil
}

// openGroup is the processes that are in one region at the end.
type openGroup struct {
	region      uint32
	class       uint32
	ranks       Ranks
	first, last uint64 // enters
}

// groups joins open calls of one region, in the order of the first rank.
func groups(open []endCall) []*openGroup {
	var list []*openGroup
	at := map[uint32]*openGroup{}
	for _, c := range open {
		g := at[c.region]
		if g == nil {
			g = &openGroup{region: c.region, class: c.class, ranks: Ranks{list: []uint32{}}, first: c.since}
			at[c.region] = g
			list = append(list, g)
		}
		if n := len(g.ranks.list); n == 0 || g.ranks.list[n-1] != c.rank {
			g.ranks.list = append(g.ranks.list, c.rank)
		}
		g.first, g.last = min(g.first, c.since), max(g.last, c.since)
	}
	return list
}

// hangFinding is the report of calls that never returned; open and unknown are by rank.
func (r *Run) hangFinding(u unit, open []endCall, unknown []uint32, query, last string) RunFinding {
	list := groups(open)
	x := RunFinding{Kind: kindHang, Basis: "no gain: calls that never returned in the trace", Query: query}
	var parts []string
	for _, g := range list {
		x.Where.Processes = append(x.Where.Processes, g.ranks.list...)
		since := u.ticks(g.first) + " " + u.name()
		if g.last > g.first {
			since += " to " + u.ticks(g.last)
		}
		parts = append(parts, fmt.Sprintf("%s in %s since %s", rankText(g.ranks), clean(r.RegionName(g.region), 60), since))
	}
	slices.Sort(x.Where.Processes)
	x.Where.Processes = slices.Compact(x.Where.Processes)
	x.Where.Region = clean(r.RegionName(list[0].region), 60)
	x.Where.Path = []string{x.Where.Region}
	without := func(list []uint32) (others []uint32) {
		for rank := range r.Defs.Processes() {
			_, ok := slices.BinarySearch(list, uint32(rank))
			if _, lost := slices.BinarySearch(unknown, uint32(rank)); !ok && !lost {
				others = append(others, uint32(rank))
			}
		}
		return others
	}
	if others := without(x.Where.Processes); len(others) > 0 {
		parts = append(parts, rankText(Ranks{list: others})+" in no MPI call at the end")
	}
	if len(unknown) > 0 {
		parts = append(parts, rankText(Ranks{list: unknown})+" cannot be read")
	}
	var never []string
	for _, g := range list {
		if g.class&xtf.ClassColl == 0 {
			continue
		}
		if missing := without(g.ranks.list); len(missing) > 0 {
			never = append(never, fmt.Sprintf("%s of %s did not begin on %s", clean(r.RegionName(g.region), 60), rankText(g.ranks), rankText(Ranks{list: missing})))
		}
	}
	if len(never) > 0 && last != "" {
		never = append(never, last)
	}
	x.Evidence = strings.Join(append(parts, never...), "; ")
	x.Text = "hang, or the trace was cut there: calls that never returned: " + x.Evidence
	return x
}

// lastCollective names the collective operation that was the last one of every process;
// "" where they differ, a process had none, or a location cannot be read. What follows
// it is where they part.
func (r *Run) lastCollective() (string, error) {
	var common xtf.Coll
	for rank, x := range r.Defs.Processes() {
		var own *xtf.Coll
		for p := x.First; p < x.First+trace.P(x.Count); p++ {
			var b []byte
			a, err := r.File.Array(xtf.Proc(p), xtf.TypeColl)
			if err == nil && a.Len() == 0 {
				continue
			}
			if err == nil {
				b, err = a.Row(a.Len()-1, nil)
			}
			if Partial(err) {
				return "", nil
			}
			if err != nil {
				return "", fmt.Errorf("%s: location %d: collectives: %w", r.Name, r.Defs.Location(p).Ref, err)
			}
			var c xtf.Coll
			c.Load(b)
			if own == nil || c.T > own.T {
				own = &c
			}
		}
		switch {
		case own == nil || rank > 0 && (own.Comm != common.Comm || own.Ordinal != common.Ordinal):
			return "", nil
		case rank == 0:
			common = *own
		}
	}
	return fmt.Sprintf("the last collective that all finished is number %s of %s, %s: the next one differs", count(common.Ordinal), clean(r.CommName(common.Comm), 60), clean(r.RegionName(common.Region), 60)), nil
}

// rankText is a set of ranks in a sentence.
func rankText(r Ranks) string {
	if len(r.list) == 1 {
		return "rank " + r.String()
	}
	return "ranks " + r.String()
}
