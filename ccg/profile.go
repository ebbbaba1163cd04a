package ccg

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// RegionTotal is the profile of one region over a set of locations.
type RegionTotal struct {
	Region    uint32 // reference; trace.Undefined: outside all calls
	Calls     uint64
	Estimated uint64 // of the calls: known from calling contexts alone
	Samples   uint64 // with the region innermost
	Exclusive uint64 // ticks
	Inclusive uint64 // ticks, outermost calls only
}

// Profile is a flat profile; the zero value is empty. Any number of locations
// can be added.
type Profile struct {
	totals map[uint32]*RegionTotal
}

func (p *Profile) region(ref uint32) *RegionTotal {
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

// Add adds location l. Calls come from the multiplicities of nodes, times from
// the sums in the columns' heads: O(nodes), and of a lossy graph from its class
// tables and columns: O(rows). Inclusive times, if wanted, come
// from the same sums where every way to a column's slots has the same open
// regions; else they read the location's gaps: O(events).
func (p *Profile) Add(l *Location, inclusive bool) error {
	v := l.view
	for _, id := range v.order {
		switch h := v.shapeOf(id); {
		case h.class == classCall:
			r := p.region(h.region(v.defs))
			r.Calls += v.mult[id]
			if h.flags&trace.Estimated != 0 {
				r.Estimated += v.mult[id]
			}
		case h.isSample():
			p.region(h.ref).Samples += v.mult[id]
		}
	}
	var open *stateMap
	if inclusive {
		if open = newStates(v, byContext).assign(v); !open.pure {
			open = nil
		}
	}
	for i, c := range v.cols {
		if !c.gap {
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
		if err := p.add(l, c.region, ticks, open, in); err != nil {
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

// add adds exclusive time to a region, and to the regions that are open in state n.
func (p *Profile) add(l *Location, region uint32, ticks total, open *stateMap, n int32) error {
	if !addTimes(&p.region(region).Exclusive, ticks.lo, 1) || ticks.hi != 0 {
		return l.regionError(region)
	}
	for ; n > 0; n = open.states.parent[n] {
		if r := open.states.region[n]; !addTimes(&p.region(r).Inclusive, ticks.lo, 1) {
			return l.regionError(r)
		}
	}
	return nil
}

func (l *Location) regionError(region uint32) error {
	return fmt.Errorf("call graph: location %d: time of region %d exceeds 64 bits: %w", l.p, region, ErrLimit)
}

// classes adds the times of nodes in class mode: O(rows).
func (p *Profile) classes(l *Location, open *stateMap) error {
	v := l.view
	if v.tables == nil {
		return nil
	}
	counts, err := l.rowCounts()
	if err != nil {
		return err
	}
	for _, id := range v.order {
		if v.tables[id] == nil {
			continue
		}
		ticks := v.tableTime(id, counts[id])
		if ticks == (total{}) {
			continue
		}
		in := int32(0)
		if open != nil {
			in = open.node[id]
		}
		if err := p.add(l, v.shapeOf(id).region(v.defs), ticks, open, in); err != nil {
			return err
		}
	}
	return nil
}

// inclusive walks through the gaps of a location.
func (p *Profile) inclusive(l *Location) error {
	v := l.view
	type visit struct {
		total *RegionTotal
		begin uint64
	}
	open := map[*RegionTotal]int{}
	region := make([]*RegionTotal, v.nodes.len()+1) // by Call
	for _, id := range v.order {
		if h := v.shapeOf(id); h.class == classCall {
			region[id] = p.region(h.region(v.defs))
		}
	}
	r := l.read(uint64(l.first))
	var calls []visit
	for {
		st, id, _ := r.step()
		switch st {
		case stepEnd:
			return r.err()
		case stepOpen:
			calls = append(calls, visit{region[id], r.time})
			open[region[id]]++
		case stepClose, stepCut:
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
