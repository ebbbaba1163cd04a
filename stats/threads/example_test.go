package threads_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/stats/threads"
	"github.com/coppice-hpc/coppice/trace"
)

// The accelerator stream of a process is not one of its threads.
func ExampleTeamOf() {
	d := &trace.Definitions{}
	d.LocationGroups = []trace.LocationGroup{{Ref: 0, Type: trace.ProcessGroup, Creator: trace.Undefined}}
	for i, kind := range []trace.LocationType{trace.CPUThread, trace.CPUThread, trace.AcceleratorStream} {
		d.Locations = append(d.Locations, trace.Location{Ref: uint64(i), Type: kind})
	}
	d.Seal()
	fmt.Println(threads.TeamOf(d, 0).Count, "threads of", d.NumLocations(), "locations")
	// Output: 2 threads of 3 locations
}
