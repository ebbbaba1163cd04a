package ccg_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// A loop of 1 000 calls becomes a handful of nodes, and comes back event by
// event.
func Example() {
	defs := &trace.Definitions{}
	defs.LocationGroups = []trace.LocationGroup{{Ref: 0, Type: trace.ProcessGroup, Creator: trace.Undefined}}
	defs.Locations = []trace.Location{{Ref: 0, Type: trace.CPUThread}}
	defs.Seal()
	var batch trace.Batch
	batch.Append(0, trace.Enter, 1)
	for i := range trace.Time(1000) {
		batch.Append(10+20*i, trace.Enter, 2)
		batch.Append(17+20*i, trace.Leave, 2)
	}
	batch.Append(21000, trace.Leave, 1)

	b := build.NewBuilder(defs, 0, graph.Options{})
	if err := b.Add(&batch); err != nil {
		fmt.Println(err)
		return
	}
	local, err := b.Finish()
	if err != nil {
		fmt.Println(err)
		return
	}
	union := build.NewUnion(defs, build.NewPartners(defs).Choose(), graph.Options{})
	if err := union.Add(local); err != nil {
		fmt.Println(err)
		return
	}
	shared := union.Shared()
	blob, err := build.NewDistributor(shared).Distribute(local)
	if err != nil {
		fmt.Println(err)
		return
	}

	location, err := ccg.OpenLocation(shared, blob)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(location.Events(), "events,", shared.Nodes(), "nodes,", len(blob) < 100)
	var profile ccg.Profile
	if err := profile.Add(location, true); err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range profile.Regions() {
		if r.Calls > 0 {
			fmt.Println("region", r.Region, "calls", r.Calls, "exclusive", r.Exclusive, "inclusive", r.Inclusive)
		}
	}
	x := location.Expand()
	var out trace.Batch
	if err := x.Next(&out); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Events[1].Time, out.Events[1].Kind, out.Events[1].Ref)
	// Output:
	// 2002 events, 4 nodes, true
	// region 1 calls 1 exclusive 14000 inclusive 21000
	// region 2 calls 1000 exclusive 7000 inclusive 7000
	// 10 Enter 2
}
