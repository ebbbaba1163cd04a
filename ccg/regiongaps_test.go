package ccg

import (
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/google/go-cmp/cmp"
)

// TestRegionGapsEqualEvents counts the events themselves: every event's gap lies
// in the innermost open call before it, and inside all open calls.
func TestRegionGapsEqualEvents(t *testing.T) {
	m := makeGraph(t, 3, 4000, true, graph.Options{})
	for p, l := range m.locs {
		want := map[uint32]*RegionGaps{trace.Undefined: {}}
		get := func(r uint32) *RegionGaps {
			if want[r] == nil {
				want[r] = &RegionGaps{}
			}
			return want[r]
		}
		var open, refs []uint32 // regions; their contexts or regions
		var kinds []trace.Kind
		b := m.streams[p]
		for i := range b.Events {
			e := &b.Events[i]
			n := len(open)
			for _, r := range open {
				get(r).Inclusive++
			}
			if n > 0 {
				get(open[n-1]).Exclusive++
			} else {
				get(trace.Undefined).Exclusive++
			}
			switch e.Kind {
			case trace.Enter, trace.CallingContextEnter:
				ref, region := e.Ref, e.Ref
				if e.Kind == trace.CallingContextEnter {
					ref = uint32(b.Words(e)[0])
					region, _ = m.defs.ContextRegion(ref)
				}
				open, refs, kinds = append(open, region), append(refs, ref), append(kinds, e.Kind)
				get(region)
			case trace.Leave, trace.CallingContextLeave:
				ref, enter := e.Ref, trace.Enter
				if e.Kind == trace.CallingContextLeave {
					ref, enter = uint32(b.Words(e)[0]), trace.CallingContextEnter
				}
				if n > 0 && refs[n-1] == ref && kinds[n-1] == enter {
					open, refs, kinds = open[:n-1], refs[:n-1], kinds[:n-1]
				}
			}
		}
		got := map[uint32]*RegionGaps{}
		for r, g := range l.RegionGaps() {
			got[r] = &g
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("location %d (-want +got):\n%s", p, d)
		}
	}
}
