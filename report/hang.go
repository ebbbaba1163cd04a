package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// openCalls are the outermost MPI calls that never returned, of the locations that
// are in one at their last event: by location. Set-up does not count. A location that
// cannot be read has none.
func (r *Run) openCalls() ([]endCall, error) {
	var list []endCall
	for p := range trace.P(r.Defs.NumLocations()) {
		v, err := r.components(p)
		if err == nil && v[xtf.ItemEvents] > 0 {
			var a *xtf.Array
			if a, err = r.File.Array(xtf.Proc(p), xtf.TypeCall); err == nil {
				last := v[xtf.ItemLast]
				err = a.Overlapping(last-min(last, 1), xtf.Never, func(_ uint64, row []byte) bool {
					var c xtf.Call
					c.Load(row)
					if c.Flags&xtf.FlagCut != 0 && c.Flags&xtf.FlagOutermostMPI != 0 && c.Class&xtf.ClassInit == 0 {
						rank, _ := r.Defs.Process(p)
						list = append(list, endCall{rank, c.Region, c.Class, c.T})
					}
					return true
				})
			}
		}
		if err != nil && !Partial(err) {
			return nil, fmt.Errorf("%s: location %d: open calls: %w", r.Name, r.Defs.Location(p).Ref, err)
		}
	}
	return list, nil
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

// hangFinding is the report of calls that never returned; open is by rank.
func (r *Run) hangFinding(u unit, open []endCall, query, last string) RunFinding {
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
	var others []uint32
	for rank := range r.Defs.Processes() {
		if _, ok := slices.BinarySearch(x.Where.Processes, uint32(rank)); !ok {
			others = append(others, uint32(rank))
		}
	}
	if len(others) > 0 {
		parts = append(parts, rankText(Ranks{list: others})+" in no MPI call at the end")
	}
	var never []string
	for _, g := range list {
		if g.class&xtf.ClassColl == 0 {
			continue
		}
		var missing []uint32
		for rank := range r.Defs.Processes() {
			if _, ok := slices.BinarySearch(g.ranks.list, uint32(rank)); !ok {
				missing = append(missing, uint32(rank))
			}
		}
		if len(missing) > 0 {
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
// "" where they differ, or a process had none. What follows it is where they part.
func (r *Run) lastCollective() (string, error) {
	var common xtf.Coll
	for rank, x := range r.Defs.Processes() {
		var own *xtf.Coll
		for p := x.First; p < x.First+trace.P(x.Count); p++ {
			a, err := r.File.Array(xtf.Proc(p), xtf.TypeColl)
			if err != nil || a.Len() == 0 {
				if err != nil && !Partial(err) {
					return "", fmt.Errorf("%s: location %d: collectives: %w", r.Name, r.Defs.Location(p).Ref, err)
				}
				continue
			}
			b, err := a.Row(a.Len()-1, nil)
			if err != nil {
				if !Partial(err) {
					return "", fmt.Errorf("%s: location %d: collectives: %w", r.Name, r.Defs.Location(p).Ref, err)
				}
				continue
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
