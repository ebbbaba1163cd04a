package partition

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/trace"
)

// TestHomes checks who is home of which process when ranges cut processes.
func TestHomes(t *testing.T) {
	d := &trace.Definitions{}
	for process := range uint32(3) {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: process, Type: trace.ProcessGroup, Creator: trace.Undefined})
		for thread := range uint64(4) {
			d.Locations = append(d.Locations, trace.Location{Ref: thread<<32 | uint64(process), Group: process, Type: trace.CPUThread})
		}
	}
	d.Seal()
	ranges := []Range{{First: 0, End: 2}, {First: 2, End: 3}, {First: 3, End: 9}, {First: 9, End: 12}, {First: 12, End: 12}}
	for rank, want := range []struct {
		first   uint32
		away    int
		sharers []int
	}{
		{0, 0, []int{1, 2}}, {1, 0, nil}, {1, 0, []int{3}}, {3, 2, nil}, {3, 4, nil},
	} {
		h := NewHomes(d, ranges, rank)
		if h.First[rank] != want.first {
			t.Errorf("rank %d: first process at home %d, want %d", rank, h.First[rank], want.first)
		}
		if r, away := h.Away(); r != want.away || away != (r != rank) {
			t.Errorf("rank %d: away %d %v, want %d", rank, r, away, want.away)
		}
		if got := h.Sharers(); !cmp.Equal(got, want.sharers) {
			t.Errorf("rank %d: sharers %v, want %v", rank, got, want.sharers)
		}
	}
}
