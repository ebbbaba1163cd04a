package ccg

// RegionGaps tells how many gaps the times of a region in a Profile consist of.
// Deviation.StoredBound makes of them how far these times may be off.
type RegionGaps struct {
	Exclusive uint64
	Inclusive uint64 // of recursive calls all count, not the outermost alone
}

// RegionGaps counts gaps by region, or trace.Undefined for those outside all calls,
// from multiplicities: O(edges).
func (l *Location) RegionGaps() map[uint32]RegionGaps {
	v := l.view
	events := v.count(func(id uint32) uint64 { return v.shapeOf(id).events() })
	byRegion := map[uint32]RegionGaps{}
	for _, id := range v.order {
		h := v.shapeOf(id)
		if h.class == classEvent {
			continue
		}
		g := byRegion[h.region(v.defs)]
		g.Exclusive += v.mult[id] * v.gapsOf(id)
		if h.class == classCall {
			g.Inclusive += v.mult[id] * (events[id] - 1)
		}
		byRegion[h.region(v.defs)] = g
	}
	return byRegion
}
