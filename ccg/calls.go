package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// Call is one call of a region.
type Call struct {
	OpenCall
	Number uint64     // among the region's calls in the location, from 0, by enter
	Last   uint64     // number of its leave; if Cut, of the last event in it
	End    trace.Time // of that event
	Depth  int        // open calls around it
	Cut    bool       // it has no leave
	Bound  uint64     // ticks by which End - Begin may be wrong; 0 if lossless
}

// tally counts something that single events have, by node: how many are in one instance, including those inside. A node's own part is at
// its enter or record.
type tally []uint64

// own returns how many a node itself has.
func (n tally) own(v *graph.View, id uint32) uint64 {
	own := n[id]
	if v.Nodes.Kind(id) == graph.KindRepeat {
		return 0
	}
	for _, c := range v.Nodes.Words(id) {
		own -= n[c]
	}
	return own
}

// find returns the position of number k (less than the root's count): its node, the number of its event, and how many calls are open around
// it. Every node must itself have at most one.
func (n tally) find(x *Index, k uint64) (id uint32, event uint64, depth int) {
	v := x.loc.view
	for id = v.Root; ; {
		if own := n.own(v, id); own > k {
			return id, event, depth
		} else {
			k -= own
		}
		list := v.Nodes.Children(id)
		switch v.Nodes.Kind(id) {
		case graph.KindCall:
			event++
			depth++
		case graph.KindRepeat:
			times := k / n[list[0]]
			k -= times * n[list[0]]
			event += times * x.events[list[0]]
		}
		for _, c := range list {
			if n[c] > k {
				id = c
				break
			}
			k -= n[c]
			event += x.events[c]
		}
	}
}

// maxCounted is the number of regions whose counts an Index keeps.
const maxCounted = 16

// callsOf returns the counts of a region. It takes O(edges) the first time.
func (x *Index) callsOf(region uint32) tally {
	if k := x.counted[region]; k != nil {
		return k
	}
	if len(x.counted) >= maxCounted {
		clear(x.counted)
	}
	v := x.loc.view
	k := tally(v.Count(func(id uint32) uint64 {
		if v.Nodes.Kind(id) == graph.KindCall && v.ShapeOf(id).Region(v.Defs) == region {
			return 1
		}
		return 0
	}))
	if x.counted == nil {
		x.counted = map[uint32]tally{}
	}
	x.counted[region] = k
	return k
}

// Calls returns the number of calls of a region.
func (x *Index) Calls(region uint32) uint64 { return x.callsOf(region)[x.loc.view.Root] }

// Call returns call k of a region, from 0 by enter. It takes O(depth * fan), and looks up two times.
func (x *Index) Call(region uint32, k uint64) (Call, error) {
	v := x.loc.view
	calls := x.callsOf(region)
	if k >= calls[v.Root] {
		return Call{}, fmt.Errorf("call graph: location %d: call %d of %d of region %d: %w", x.loc.p, k, calls[v.Root], region, ErrRange)
	}
	id, event, depth := calls.find(x, k)
	h := v.ShapeOf(id)
	call := Call{Number: k, Last: event + x.events[id] - 1, Depth: depth, Cut: h.Cut}
	call.OpenCall = OpenCall{Region: region, Ref: h.Ref, Node: v.Ids[id], Event: event}
	var err error
	if call.Begin, err = x.timeOf(event); err != nil {
		return call, err
	}
	if call.End, err = x.timeOf(call.Last); err == nil {
		call.Bound = x.loc.Deviation().TimeBound(call.Last-event, uint64(call.End-call.Begin))
	}
	return call, err
}
