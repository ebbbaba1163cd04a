package findings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// openCalls are the outermost MPI calls that never returned, of the locations that
// are in one at their last event: by location. Set-up does not count. Of processes
// with a location that cannot be read nothing is known.
func openCalls(r *results.Run) (list []endCall, unknown []uint32, err error) {
	lost, err := r.EachLocation(results.Ranks{}, "findings", func(p trace.P) error {
		rank, _ := r.Defs.Process(p)
		v, err := r.Components(p)
		if last := v[xtf.ItemLast]; err == nil && v[xtf.ItemEvents] > 0 {
			for _, c := range results.Overlapping[xtf.Call](r, p, last-min(last, 1), xtf.Never, &err) {
				if c.Flags&xtf.FlagCut != 0 && c.Flags&xtf.FlagOutermostMPI != 0 && c.Class&xtf.ClassInit == 0 {
					list = append(list, endCall{rank, c.Region, c.Class, c.T})
				}
			}
		}
		return r.Failed(xtf.Proc(p), "open calls", err)
	})
	for i := range lost {
		unknown = append(unknown, lost[i].Process)
	}
	return list, slices.Compact(unknown), err
}

// openGroup is the processes that are in one region at the end.
type openGroup struct {
	region      uint32
	class       uint32
	ranks       results.Ranks
	first, last uint64 // enters
}

// groups joins open calls of one region, in the order of the first rank.
func groups(open []endCall) []*openGroup {
	var list []*openGroup
	at := map[uint32]*openGroup{}
	for _, c := range open {
		g := at[c.region]
		if g == nil {
			g = &openGroup{region: c.region, class: c.class, ranks: results.Ranks{List: []uint32{}}, first: c.since}
			at[c.region] = g
			list = append(list, g)
		}
		if n := len(g.ranks.List); n == 0 || g.ranks.List[n-1] != c.rank {
			g.ranks.List = append(g.ranks.List, c.rank)
		}
		g.first, g.last = min(g.first, c.since), max(g.last, c.since)
	}
	return list
}

// hangFinding is the report of calls that never returned; open and unknown are by rank.
func hangFinding(r *results.Run, u numbers.Units, open []endCall, unknown []uint32, query, last string) Finding {
	list := groups(open)
	x := Finding{Kind: kindHang, Basis: "no gain: calls that never returned in the trace", Query: query}
	var parts []string
	for _, g := range list {
		x.Where.Processes = append(x.Where.Processes, g.ranks.List...)
		since := u.Ticks(g.first) + " " + u.Name()
		if g.last > g.first {
			since += " to " + u.Ticks(g.last)
		}
		parts = append(parts, fmt.Sprintf("%s in %s since %s", rankText(g.ranks), numbers.Clean(r.RegionName(g.region), 60), since))
	}
	slices.Sort(x.Where.Processes)
	x.Where.Processes = slices.Compact(x.Where.Processes)
	x.Where.Region, x.Where.Place = numbers.Clean(results.CallName(r, list[0].region), 60), results.CallPlace(r, list[0].region)
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
		parts = append(parts, rankText(results.Ranks{List: others})+" in no MPI call at the end")
	}
	if len(unknown) > 0 {
		parts = append(parts, rankText(results.Ranks{List: unknown})+" cannot be read")
	}
	var never []string
	for _, g := range list {
		if g.class&xtf.ClassColl == 0 {
			continue
		}
		if missing := without(g.ranks.List); len(missing) > 0 {
			never = append(never, fmt.Sprintf("%s of %s did not begin on %s", numbers.Clean(r.RegionName(g.region), 60), rankText(g.ranks), rankText(results.Ranks{List: missing})))
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
func lastCollective(r *results.Run) (string, error) {
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
			if results.Partial(err) {
				return "", nil
			}
			if err != nil {
				return "", r.Failed(xtf.Proc(p), "collectives", err)
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
	return fmt.Sprintf("the last collective that all finished is number %s of %s, %s: the next one differs", numbers.Count(common.Ordinal), numbers.Clean(r.CommName(common.Comm), 60), numbers.Clean(r.RegionName(common.Region), 60)), nil
}

// rankText is a set of ranks in a sentence.
func rankText(r results.Ranks) string {
	if len(r.List) == 1 {
		return "rank " + r.String()
	}
	return "ranks " + r.String()
}
