package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// Call is one call of a region.
type Call struct {
	OpenCall
	Number uint64     // among the region's calls in the location, from 0, by enter
	Last   uint64     // number of its leave; of the last event in it if Cut
	End    trace.Time // of that event
	Depth  int        // calls around it
	Cut    bool       // it never left
	Bound  uint64     // how far End - Begin may be off, ticks: 0 if lossless
}

// maxCounted is the number of regions whose counts an Index keeps.
const maxCounted = 16

// callsOf returns the counts of a region: O(edges) the first time.
func (x *Index) callsOf(region uint32) tally {
	if k := x.counted[region]; k != nil {
		return k
	}
	if len(x.counted) >= maxCounted {
		clear(x.counted)
	}
	v := x.loc.view
	k := tally(v.count(func(id uint32) uint64 {
		if v.nodes.kind(id) == kindCall && v.shapeOf(id).region(v.defs) == region {
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
func (x *Index) Calls(region uint32) uint64 { return x.callsOf(region)[x.loc.view.root] }

// CallsBefore returns the number of calls of a region that begin before event k.
func (x *Index) CallsBefore(region uint32, k uint64) uint64 {
	return x.callsOf(region).before(x, min(k, x.loc.view.events))
}

// Call returns call number k of a region, from 0 by enter: O(depth * fan) and two
// times to look up.
func (x *Index) Call(region uint32, k uint64) (Call, error) {
	v := x.loc.view
	calls := x.callsOf(region)
	if k >= calls[v.root] {
		return Call{}, fmt.Errorf("call graph: location %d: call %d of %d of region %d: %w", x.loc.p, k, calls[v.root], region, ErrRange)
	}
	id, event, depth := calls.find(x, k)
	h := v.shapeOf(id)
	call := Call{Number: k, Last: event + x.events[id] - 1, Depth: depth, Cut: h.cut}
	call.OpenCall = OpenCall{Region: region, Ref: h.ref, Node: v.ids[id], Event: event}
	return call, x.times(&call)
}

// times looks up begin and end of a call.
func (x *Index) times(call *Call) error {
	var err error
	if call.Begin, err = x.timeOf(call.Event); err == nil {
		err = x.finish(call)
	}
	return err
}

// finish looks up the end of a call.
func (x *Index) finish(call *Call) error {
	var err error
	if call.End, err = x.timeOf(call.Last); err == nil {
		call.Bound = x.loc.Deviation().TimeBound(call.Last-call.Event, uint64(call.End-call.Begin))
	}
	return err
}

// CallsAt returns the calls that are open at time t, outermost first: those with
// Begin <= t < End. It takes a seek, one for each begin and end, and O(depth *
// fan) for each region among them.
func (x *Index) CallsAt(t trace.Time) ([]Call, error) {
	c := x.ownCursor()
	if err := c.after(t); err != nil {
		return nil, err
	}
	open, err := c.Open(nil)
	if err != nil {
		return nil, err
	}
	v := x.loc.view
	calls := make([]Call, 0, len(open))
	byRegion := map[uint32][]int{}
	for i := range c.stack {
		r := &c.stack[i]
		if r.kind != kindCall {
			continue
		}
		n := len(calls)
		call := Call{OpenCall: open[n], Depth: n, Last: r.first + x.events[r.id] - 1, Cut: v.shapeOf(r.id).cut}
		if err := x.finish(&call); err != nil {
			return nil, err
		}
		calls = append(calls, call)
		byRegion[call.Region] = append(byRegion[call.Region], n)
	}
	for region, places := range byRegion {
		before := x.callsOf(region).along(c)
		for _, n := range places {
			calls[n].Number = before[n]
		}
	}
	return calls, nil
}
