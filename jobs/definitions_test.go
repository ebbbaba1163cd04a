package jobs

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// TestDefinitionsMemory compares what a plan has for definitions with the heap that they take: of many processes, of many texts, and of
// communicators whose members have other ranks than in the world, of which each takes more in memory than in the file.
func TestDefinitionsMemory(t *testing.T) {
	const processes = 1024
	base := func() *trace.Definitions {
		d := &trace.Definitions{}
		str := d.Interned(map[string]uint32{})
		all := make([]uint64, processes)
		for p := range uint32(processes) {
			all[p] = uint64(p)
			d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: p, Name: str(fmt.Sprintf("MPI Rank %d", p)), Creator: trace.Undefined})
			d.Locations = append(d.Locations, trace.Location{Ref: uint64(p), Name: str("thread"), Type: trace.CPUThread, Events: 1000, Group: p})
		}
		d.Groups = []trace.Group{{Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI, Members: all}}
		return d
	}
	for name, add := range map[string]func(d *trace.Definitions, i int){
		"processes": func(*trace.Definitions, int) {},
		"texts": func(d *trace.Definitions, i int) {
			for k := range 100 {
				d.Strings = append(d.Strings, trace.String{Ref: uint32(len(d.Strings)), Value: fmt.Sprintf("void solver<%d>::step(int, double *) [%d]", i, k)})
			}
		},
		"communicators": func(d *trace.Definitions, i int) {
			ref, members := uint32(i+1), make([]uint64, processes)
			for r := range members {
				members[r] = uint64((r*5 + i) % processes)
			}
			d.Groups = append(d.Groups, trace.Group{Ref: ref, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: members})
			d.Comms = append(d.Comms, trace.Comm{Ref: ref, Group: ref}, trace.Comm{Ref: ref + 1000, Group: ref})
		},
	} {
		d := base()
		for i := range 256 {
			add(d, i)
		}
		encoded, err := d.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		before := liveHeap()
		x := &trace.Definitions{}
		if err := x.UnmarshalBinary(encoded); err != nil {
			t.Fatal(err)
		}
		took, plan := liveHeap()-before, DefinitionsMemory(x)
		t.Logf("%s: %d KiB encoded, %d KiB on the heap, planned %d KiB", name, len(encoded)>>10, took>>10, plan>>10)
		if took > plan+plan/8 || took < plan-plan/8 {
			t.Errorf("%s take %d KiB, the plan has %d KiB", name, took>>10, plan>>10)
		}
		runtime.KeepAlive(encoded)
		runtime.KeepAlive(d)
	}
}

// liveHeap returns the bytes of heap that are in use.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
