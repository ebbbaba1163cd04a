package ccg

import (
	"cmp"
	"slices"
)

// RegionGaps tells how many gaps the times of a region in a Profile consist of.
// Deviation.StoredBound makes of them how far these times may be off.
type RegionGaps struct {
	Region    uint32 // reference; trace.Undefined: outside all calls
	Exclusive uint64
	Inclusive uint64 // of recursive calls all count, not the outermost alone
}

// RegionGaps counts gaps by region, ascending, from multiplicities: O(edges).
func (l *Location) RegionGaps() []RegionGaps {
	v := l.view
	events := v.count(func(id uint32) uint64 { return v.shapeOf(id).events() })
	byRegion := map[uint32]*RegionGaps{}
	for _, id := range v.order {
		h := v.shapeOf(id)
		if h.class == classEvent {
			continue
		}
		ref := h.region(v.defs)
		g := byRegion[ref]
		if g == nil {
			g = &RegionGaps{Region: ref}
			byRegion[ref] = g
		}
		gaps := uint64(0)
		for _, c := range v.nodes.children(id) {
			if v.isReal(c) {
				gaps++
			}
		}
		if v.nodes.kind(id) == kindRepeat {
			gaps *= v.nodes.count(id)
		}
		if h.class == classCall {
			if !h.cut {
				gaps++
			}
			g.Inclusive += v.mult[id] * (events[id] - 1)
		}
		g.Exclusive += v.mult[id] * gaps
	}
	list := make([]RegionGaps, 0, len(byRegion))
	for _, g := range byRegion {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b RegionGaps) int { return cmp.Compare(a.Region, b.Region) })
	return list
}
