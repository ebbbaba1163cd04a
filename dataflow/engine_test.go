package dataflow

import (
	"fmt"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
)

// testDefs makes processes of several locations each, the world communicator 1 of
// all processes, and one for each list of processes from 2 on.
func testDefs(processes, threads int, comms ...[]uint64) *trace.Definitions {
	d := &trace.Definitions{}
	d.Strings = append(d.Strings, trace.String{Ref: 0, Value: "x"})
	d.SystemTreeNodes = append(d.SystemTreeNodes, trace.SystemTreeNode{Ref: 0, Parent: trace.Undefined})
	all := trace.Group{Ref: 0, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI}
	world := trace.Group{Ref: 1, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI}
	for p := range processes {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: uint32(p), Type: 1, Creator: trace.Undefined})
		for i := range threads {
			d.Locations = append(d.Locations, trace.Location{Ref: uint64(p*threads + i), Type: 1, Group: uint32(p)})
		}
		all.Members = append(all.Members, uint64(p*threads))
		world.Members = append(world.Members, uint64(p))
	}
	d.Groups = append(d.Groups, all, world)
	d.Comms = append(d.Comms, trace.Comm{Ref: 1, Group: 1, Parent: trace.Undefined})
	for i, members := range comms {
		ref := uint32(i + 2)
		d.Groups = append(d.Groups, trace.Group{Ref: ref, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: members})
		d.Comms = append(d.Comms, trace.Comm{Ref: ref, Group: ref, Parent: 1})
	}
	d.Seal()
	return d
}

func evenRanges(locations, ranks int) []partition.Range {
	return partition.Ranges(make([]uint64, locations), ranks)
}

// runWalkers runs a pass on several ranks and gives the report of each.
func runWalkers(t *testing.T, d *trace.Definitions, ranks int, o Options, walker func(p trace.P) Walker) []*Report {
	t.Helper()
	ranges := evenRanges(d.NumLocations(), ranks)
	reports := make([]*Report, ranks)
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		o := o
		o.Comm, o.Defs, o.Ranges = c, d, ranges
		for p := ranges[c.Rank()].First; p < ranges[c.Rank()].End; p++ {
			o.Walkers = append(o.Walkers, walker(p))
		}
		r, err := Run(o)
		mu.Lock()
		reports[c.Rank()] = r
		mu.Unlock()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

// walkFunc is a Walker without state.
type walkFunc func(x *Port) (bool, error)

func (f walkFunc) Walk(x *Port) (bool, error) { return f(x) }

func TestChainCountsLocations(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 7} {
		const n = 23
		got := make([]uint64, n)
		r := runWalkers(t, testDefs(n, 1), ranks, Options{}, func(p trace.P) Walker {
			return walkFunc(func(x *Port) (bool, error) {
				v, ok := uint64(0), true
				if p > 0 {
					v, ok = x.Receive(5, p-1)
				}
				if ok && p+1 < n {
					x.Send(p+1, 5, v+1)
				}
				got[p] = v
				return ok, nil
			})
		})
		for p, v := range got {
			if v != uint64(p) {
				t.Errorf("%d ranks: location %d has %d", ranks, p, v)
			}
		}
		if r[0].Deadlock != nil {
			t.Errorf("%d ranks: %v", ranks, r[0].Deadlock)
		}
	}
}

func TestPrefixOverPermutedRanks(t *testing.T) {
	const n = 9
	perm := []uint64{4, 2, 7, 0, 8, 1, 3, 6, 5}
	d := testDefs(n, 1, perm)
	for _, ranks := range []int{1, 2, 4, 9} {
		got := make([]uint64, n)
		runWalkers(t, d, ranks, Options{}, func(p trace.P) Walker {
			entered := false
			return walkFunc(func(x *Port) (bool, error) {
				c := Collective{Comm: 2, Kind: PrefixMax}
				if !entered {
					entered = true
					if !x.Enter(c, uint64(p)*10) {
						return true, fmt.Errorf("location %d is no member", p)
					}
				}
				v, ok := x.Result(c)
				got[p] = v
				return ok, nil
			})
		})
		var high uint64
		for _, p := range perm {
			if high = max(high, p*10); got[p] != high {
				t.Errorf("%d ranks: process %d has %d, want %d", ranks, p, got[p], high)
			}
		}
	}
}
