package ccg

import (
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// RegionGaps tells how many gaps the times of a region in a Profile consist of.
// Deviation.StoredBound makes of them how far these times may be off.
type RegionGaps struct {
	Exclusive uint64
	Inclusive uint64 // of recursive calls all count, not the outermost alone
}

// RegionGaps counts gaps by region, of those alike by the first, or trace.Undefined for those outside all calls,
// from multiplicities: O(edges).
func (l *Location) RegionGaps() map[uint32]RegionGaps {
	v := l.view
	events := v.Count(func(id uint32) uint64 { return v.ShapeOf(id).Events() })
	byRegion := map[uint32]RegionGaps{}
	for _, id := range v.Order {
		h := v.ShapeOf(id)
		if h.Class == graph.ClassEvent {
			continue
		}
		region := trace.Joined(v.Defs, h.Region(v.Defs))
		g := byRegion[region]
		g.Exclusive += v.Mult[id] * v.GapsOf(id)
		if h.Class == graph.ClassCall {
			g.Inclusive += v.Mult[id] * (events[id] - 1)
		}
		byRegion[region] = g
	}
	return byRegion
}
