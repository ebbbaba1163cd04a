package counters

import (
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// TestScopeOfMeters: what a group of recorders counts is of its node; of a process only if the node has no other one.
func TestScopeOfMeters(t *testing.T) {
	for _, processes := range []int{1, 2} {
		d := &trace.Definitions{SystemTreeNodes: []trace.SystemTreeNode{{Ref: 7, Parent: trace.Undefined}}}
		for i := range uint32(processes) {
			d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: i, Type: trace.ProcessGroup, Parent: 7, Creator: trace.Undefined})
			d.Locations = append(d.Locations, trace.Location{Ref: uint64(i), Type: trace.CPUThread, Group: i})
		}
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: 9, Type: trace.ProcessGroup, Parent: 7, Creator: trace.Undefined})
		d.Locations = append(d.Locations, trace.Location{Ref: 9, Type: trace.MetricLocation, Group: 9})
		d.MetricClasses = []trace.MetricClass{{Ref: 4}}
		d.Seal()
		at, _ := d.Ordinal(9)
		got := newCounterScopes(d).of(at, 4)
		if got.single != (processes == 1) || processes > 1 && got.id != 7 {
			t.Errorf("%d processes on the node: %+v", processes, got)
		}
	}
}
