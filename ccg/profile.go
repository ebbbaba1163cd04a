package ccg

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// RegionTotal is the profile of a region over a set of locations. Regions that differ only in their reference count as one.
type RegionTotal struct {
	Region    uint32 // reference; trace.Undefined: outside all calls
	Calls     uint64
	Estimated uint64 // calls that are only known from calling contexts
	Samples   uint64 // with the region innermost
	Exclusive uint64 // ticks
	Inclusive uint64 // ticks, outermost calls only
}

// Profile is a flat profile; the zero value is empty. Any number of locations
// can be added.
type Profile struct {
	totals map[uint32]*RegionTotal
}

func (p *Profile) region(d *trace.Definitions, ref uint32) *RegionTotal {
	ref = trace.Joined(d, ref)
	if p.totals == nil {
		p.totals = make(map[uint32]*RegionTotal)
	}
	t := p.totals[ref]
	if t == nil {
		t = &RegionTotal{Region: ref}
		p.totals[ref] = t
	}
	return t
}

// Add adds location l. Calls come from the multiplicities of nodes, times from the sums in the columns' heads: O(nodes); of a lossy graph
// also from class tables and columns: O(rows). Inclusive times, if asked for, come from the same sums if all paths to a column's slots have
// the same open regions; otherwise the location's gaps are read: O(events).
func (p *Profile) Add(l *Location, inclusive bool) error {
	v := l.view
	for _, id := range v.Order {
		switch h := v.ShapeOf(id); {
		case h.Class == graph.ClassCall:
			r := p.region(v.Defs, h.Region(v.Defs))
			r.Calls += v.Mult[id]
			if h.Flags&trace.Estimated != 0 {
				r.Estimated += v.Mult[id]
			}
		case h.IsSample():
			p.region(v.Defs, h.Ref).Samples += v.Mult[id]
		}
	}
	var open *stateMap
	if inclusive {
		if open = newStates(v, byContext).assign(v); !open.pure {
			open = nil
		}
	}
	for i, c := range v.Cols {
		if !c.Gap {
			continue
		}
		ticks, err := l.sum(i)
		if err != nil {
			return err
		}
		in := int32(0)
		if open != nil {
			in = open.column[i]
		}
		if err := p.add(l, c.Region, ticks, open, in); err != nil {
			return err
		}
	}
	if err := p.classes(l, open); err != nil {
		return err
	}
	if inclusive && open == nil {
		return p.inclusive(l)
	}
	return nil
}

// add adds exclusive time to a region, and inclusive time to the regions that are open in state n.
func (p *Profile) add(l *Location, region uint32, ticks graph.Total, open *stateMap, n int32) error {
	if !addTimes(&p.region(l.view.Defs, region).Exclusive, ticks.Lo, 1) || ticks.Hi != 0 {
		return l.regionError(region)
	}
	for ; n > 0; n = open.states.parent[n] {
		if r := open.states.region[n]; !addTimes(&p.region(l.view.Defs, r).Inclusive, ticks.Lo, 1) {
			return l.regionError(r)
		}
	}
	return nil
}

func (l *Location) regionError(region uint32) error {
	return fmt.Errorf("call graph: location %d: time of region %d exceeds 64 bits: %w", l.p, region, graph.ErrLimit)
}

// classes adds the times of nodes in class mode: O(rows).
func (p *Profile) classes(l *Location, open *stateMap) error {
	v := l.view
	if v.Tables == nil {
		return nil
	}
	counts, err := l.rowCounts()
	if err != nil {
		return err
	}
	for _, id := range v.Order {
		if v.Tables[id] == nil {
			continue
		}
		ticks := v.TableTime(id, counts[id])
		if ticks == (graph.Total{}) {
			continue
		}
		in := int32(0)
		if open != nil {
			in = open.node[id]
		}
		if err := p.add(l, v.ShapeOf(id).Region(v.Defs), ticks, open, in); err != nil {
			return err
		}
	}
	return nil
}

// inclusive adds inclusive times by a walk through the gaps of a location.
func (p *Profile) inclusive(l *Location) error {
	v := l.view
	type visit struct {
		total *RegionTotal
		begin uint64
	}
	open := map[*RegionTotal]int{}
	region := make([]*RegionTotal, v.Nodes.Len()+1) // by Call
	for _, id := range v.Order {
		if h := v.ShapeOf(id); h.Class == graph.ClassCall {
			region[id] = p.region(v.Defs, h.Region(v.Defs))
		}
	}
	r := l.read(uint64(l.first))
	var calls []visit
	for {
		st, id, _ := r.step()
		switch st {
		case graph.StepEnd:
			return r.err()
		case graph.StepOpen:
			calls = append(calls, visit{region[id], r.time})
			open[region[id]]++
		case graph.StepClose, graph.StepCut:
			top := calls[len(calls)-1]
			calls = calls[:len(calls)-1]
			if open[top.total]--; open[top.total] == 0 && !r.over && !addTimes(&top.total.Inclusive, r.time-top.begin, 1) {
				return l.regionError(top.total.Region)
			}
		}
	}
}

// Regions returns the totals by ascending reference.
func (p *Profile) Regions() []RegionTotal {
	list := make([]RegionTotal, 0, len(p.totals))
	for _, ref := range slices.Sorted(maps.Keys(p.totals)) {
		list = append(list, *p.totals[ref])
	}
	return list
}
