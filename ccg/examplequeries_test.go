package ccg_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// loop returns the graph of a location that calls region 2 a thousand times.
func loop() (*ccg.Location, error) {
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
		return nil, err
	}
	local, err := b.Finish()
	if err != nil {
		return nil, err
	}
	union := build.NewUnion(defs, build.NewPartners(defs).Choose(), graph.Options{})
	if err := union.Add(local); err != nil {
		return nil, err
	}
	shared := union.Shared()
	blob, err := build.NewDistributor(shared).Distribute(local)
	if err != nil {
		return nil, err
	}
	return ccg.OpenLocation(shared, blob)
}

// A cursor goes to a time, and from there in both directions.
func ExampleCursor() {
	location, err := loop()
	if err != nil {
		fmt.Println(err)
		return
	}
	c := location.Cursor()
	if err := c.SeekTime(10_000); err != nil {
		fmt.Println(err)
		return
	}
	open, err := c.Open(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, call := range open {
		fmt.Println("in region", call.Region, "since", call.Begin)
	}
	if s, ok := c.Next(); ok {
		fmt.Println(s.Event, s.Time, s.Kind, s.Region)
	}
	for range 2 {
		if s, ok := c.Prev(); ok {
			fmt.Println(s.Event, s.Time, s.Kind, s.Region)
		}
	}
	// Output:
	// in region 1 since 0
	// 1001 10010 Enter 2
	// 1001 10010 Enter 2
	// 1000 9997 Leave 2
}

// An interval counts the parts of calls that lie inside it.
func ExampleIndex_Interval() {
	location, err := loop()
	if err != nil {
		fmt.Println(err)
		return
	}
	iv, err := location.Index().Interval(15, 115)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range iv.Regions {
		fmt.Println("region", r.Region, "begun", r.Calls, "touching", r.Touching, "exclusive", r.Exclusive, "inclusive", r.Inclusive)
	}
	// Output:
	// region 1 begun 0 touching 1 exclusive 65 inclusive 100
	// region 2 begun 5 touching 6 exclusive 35 inclusive 35
}
