package causes

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// byHand is a program without intervals whose locations all end at one instant.
func byHand(last uint64, locations ...rows) *program {
	p := &program{locations: locations, derived: make([]bool, 1), last: last}
	for i := range p.locations {
		p.locations[i].last, p.locations[i].mpi = last, true
	}
	return p
}

func lateSender(from, to uint64, cause uint32) xtf.Wait {
	return xtf.Wait{T: from, End: to, CauseP: cause, Pattern: xtf.WaitLateSender}
}

// TestCostsByHand has costs worked out by hand where a process waits across the
// instant at which a pair synchronised, in one slab and with waits that end with a slab.
func TestCostsByHand(t *testing.T) {
	type place struct{ p, path, activity uint32 }
	first, second := xtf.Call{End: 30}, xtf.Call{T: 30, End: 70, Region: 1}
	for _, x := range []struct {
		name   string
		p      *program
		strict bool
		want   map[place][costKinds]uint64
	}{
		{
			// 1 waits for 0 until 20, then again from 22 to 60. In [20, 60) 0 computes for 20 ticks, 1 for 2; 0 waits in [20, 30) and [40, 50),
			// 10 ticks each. So 38 ticks fall to 18 of CPU and to 20 of waits, 10 to each; 2 caused both, on its first and its second path.
			"waits by their time since", byHand(
				70,
				rows{waits: []xtf.Wait{lateSender(10, 30, 2), lateSender(40, 50, 2)}},
				rows{waits: []xtf.Wait{lateSender(5, 20, 0), lateSender(22, 60, 0)}},
				rows{calls: []xtf.Call{first, second}},
			), false,
			map[place][costKinds]uint64{
				{0, 0, xtf.ActivityCPU}: {5 + 18, 0},
				{0, 0, xtf.ActivityMPI}: {10, 0}, // at 20 the first wait of 0 is not over
				{2, 1, xtf.ActivityCPU}: {20, 10},
				{2, 2, xtf.ActivityCPU}: {10, 10},
			},
		},
		{
			// 0 waits in [10, 60). 1 waits for it until 20: 5 ticks of CPU, 10 in the wait, which is not over. It waits again in [25, 40): 20
			// ticks in the wait since 20.
			"a wait that is not over", byHand(
				70,
				rows{waits: []xtf.Wait{lateSender(10, 60, 2)}},
				rows{waits: []xtf.Wait{lateSender(5, 20, 0), lateSender(25, 40, 0)}},
				rows{calls: []xtf.Call{first, second}},
			), false,
			map[place][costKinds]uint64{
				{0, 0, xtf.ActivityCPU}: {5, 0},
				{0, 0, xtf.ActivityMPI}: {10 + 15, 0},
				{2, 1, xtf.ActivityCPU}: {25, 0},
				{2, 2, xtf.ActivityCPU}: {25, 0},
			},
		},
		{
			// 0 and 1 wait for each other until 50: both waits count as MPI. Since they met at 20 that is 30 ticks of 0, and 20 of 1, which
			// computes for 10 before. 40 ticks fall to 1 as 10 to 20; 20 ticks to 0.
			"a circle", byHand(
				70,
				rows{waits: []xtf.Wait{lateSender(10, 50, 1)}},
				rows{waits: []xtf.Wait{lateSender(12, 20, 0), lateSender(30, 50, 0)}},
			), true,
			map[place][costKinds]uint64{
				{0, 0, xtf.ActivityMPI}: {8 + 20, 0},
				{1, 0, xtf.ActivityCPU}: {13, 0},
				{1, 0, xtf.ActivityMPI}: {27, 0},
			},
		},
		{
			// 0 waits in [10, 20) and at once again in [20, 30), both for 2, which computes: 10 ticks each. 1 waits for 0 in [12, 20), when
			// the first wait is over: 0 computed for 10 ticks, no longer than 1, and waited for 10, so that all 8 pass on to 2.
			"a wait that follows another one at once", byHand(
				70,
				rows{waits: []xtf.Wait{lateSender(10, 20, 2), lateSender(20, 30, 2)}},
				rows{waits: []xtf.Wait{lateSender(12, 20, 0)}},
				rows{},
			), false,
			map[place][costKinds]uint64{{2, 0, xtf.ActivityCPU}: {20, 8}},
		},
		{
			// 0 and 1 wait for 2 until 30, 2 for 3 and 3 for 4 until the same instant. All that 2 and 3 did more of is their waits, so 20 and 10
			// ticks pass on to the wait of 2, and once both are dealt out, with its own 25, to that of 3, and from there to 4.
			"waits that end at one instant", byHand(
				70,
				rows{waits: []xtf.Wait{lateSender(10, 30, 2)}},
				rows{waits: []xtf.Wait{lateSender(20, 30, 2)}},
				rows{waits: []xtf.Wait{lateSender(5, 30, 3)}},
				rows{waits: []xtf.Wait{lateSender(1, 30, 4)}},
				rows{},
			), false,
			map[place][costKinds]uint64{{4, 0, xtf.ActivityCPU}: {29, 55}},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, slab := range []uint64{x.p.last, 20} {
				x.p.slabs = everyTick(slab, x.p.last)
				f := x.p.analyze(t, 1)
				got := map[place][costKinds]uint64{}
				for name, c := range f.costs {
					got[place{uint32(name.p), uint32(name.key), name.activity}] = c
				}
				if d := cmp.Diff(x.want, got); d != "" || f.report.Strict != x.strict {
					t.Errorf("slabs of %d ticks: strict %t; costs (-want +got):\n%s", slab, f.report.Strict, d)
				}
			}
		})
	}
}

// TestPathOfRoot has the root of a reduction whose last member enters, by the
// clocks, when the root has left: the path goes over at the leave. Of two that it
// waits for until then, the path takes the first.
func TestPathOfRoot(t *testing.T) {
	root := rows{
		colls:  []xtf.Coll{{T: 10, End: 20, Ordinal: 1, Flags: opReduce}},
		causes: []xtf.CollCause{{CauseT: xtf.Never, CauseP: trace.Undefined, LastT: 30, LastP: 2}},
	}
	also := root
	also.waits = []xtf.Wait{lateSender(10, 20, 1)}
	for _, x := range []struct {
		root rows
		over trace.P
	}{{root, 2}, {also, 1}} {
		f := byHand(50, x.root, rows{}, rows{}).analyze(t, 1)
		want := map[trace.P][2]uint64{0: {20, 50}, x.over: {0, 20}}
		got := map[trace.P][2]uint64{}
		for at, list := range f.paths {
			got[at] = [2]uint64{list[0].T, list[len(list)-1].End}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("critical path (-want +got):\n%s", d)
		}
	}
}

// TestPathEnds has the location on which the path ends.
func TestPathEnds(t *testing.T) {
	early := candidate{Extent{Events: true, MPI: true, Last: 10}, 0}
	late := candidate{Extent{Events: true, MPI: true, Last: 20}, 2}
	for _, x := range []struct {
		name         string
		better, than candidate
	}{
		{"with events", early, candidate{P: 1}},
		{"with MPI, though another one ends later", early, candidate{Extent{Events: true, Last: 30}, 1}},
		{"that ends last", late, early},
		{"the first of them", late, candidate{late.Extent, 3}},
	} {
		if !x.better.better(&x.than) || x.than.better(&x.better) {
			t.Errorf("%s: not chosen", x.name)
		}
	}
}

// TestFirstAndLastCall finds the first MPI call, among so many, and the last one of random calls: whether they are MPI_Init and MPI_Finalize.
func TestFirstAndLastCall(t *testing.T) {
	d := &trace.Definitions{Strings: []trace.String{{Ref: 0, Value: "MPI_Init"}, {Ref: 1, Value: "MPI_Finalize"}, {Ref: 2, Value: "MPI_Send"}}}
	for i := range uint32(3) {
		d.Regions = append(d.Regions, trace.Region{Ref: i, Name: i, Paradigm: trace.ParadigmMPI})
	}
	d.Seal()
	types := xtf.StandardTypes(xtf.Packed)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		calls := make([]xtf.Call, 1+r.IntN([]int{5, 700, 9000}[seed%3]))
		first, last := -1, -1
		for i := range calls {
			calls[i] = xtf.Call{T: uint64(10 * i), End: uint64(10*i + 5), Region: r.Uint32N(3), Flags: xtf.FlagOutermostIO}
			if r.IntN(1+len(calls)) == 0 || seed%5 == 0 {
				calls[i].Flags = xtf.FlagOutermostMPI
				if last = i; first < 0 && i < 4096 {
					first = i
				}
			}
		}
		a := idealArray(t, types, xtf.TypeCall, calls)
		c, ok, err := Initialize(d, xtf.ScanArray(types, a, 0))
		if want := first >= 0 && calls[first].Region == 0; err != nil || ok != want || first >= 0 && (c.T != calls[first].T || c.End != calls[first].End) {
			t.Errorf("seed %d: first call %+v, %t, %v; want number %d", seed, c, ok, err, first)
		}
		c, n, ok, err := Finalize(d, uint64(len(calls)), func(from uint64) *xtf.Cursor { return xtf.ScanArray(types, a, from) })
		if want := last >= 0 && calls[last].Region == 1; err != nil || ok != want || last >= 0 && (n != uint64(last) || c.T != calls[last].T || c.End != calls[last].End) {
			t.Errorf("seed %d: last call %+v, number %d, %t, %v; want number %d", seed, c, n, ok, err, last)
		}
	}
}

// TestPathInCircle has three locations wait for each other until 50: the path comes to each once.
func TestPathInCircle(t *testing.T) {
	f := byHand(70, rows{waits: []xtf.Wait{lateSender(10, 50, 1)}}, rows{waits: []xtf.Wait{lateSender(12, 50, 2)}}, rows{waits: []xtf.Wait{lateSender(14, 50, 0)}}).analyze(t, 1)
	if a, b := f.paths[0], f.paths[2]; len(f.paths) != 2 || a[0].T != 50 || a[len(a)-1].End != 70 || b[0].T != 0 || b[len(b)-1].End != 50 {
		t.Errorf("critical path %+v, want [50, 70) on 0 and [0, 50) on 2", f.paths)
	}
}

// TestAsMPI moves ticks of waits to MPI, on a path and node that have some or not.
func TestAsMPI(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 300 {
		on, want := slotKey{termKey(r.Uint32N(3), xtf.ActivityCPU), r.Uint32N(2)}, map[slotKey]uint64{}
		var terms []term
		for path := range uint32(3) {
			for _, activity := range []uint32{xtf.ActivityCPU, xtf.ActivityMPI} {
				for node := range uint32(2) {
					if r.IntN(2) == 0 {
						terms = append(terms, term{termKey(path, activity), node, 1 + r.Uint64N(9)})
					}
				}
			}
		}
		wait := term{waitSlot.key, waitSlot.node, 1 + r.Uint64N(20)}
		terms = append(terms, wait)
		slices.SortFunc(terms, compareTerms)
		for _, x := range terms {
			want[slotKey{x.key, x.node}] += x.ticks
		}
		ticks := r.Uint64N(wait.ticks + 1)
		want[slotKey{wait.key, wait.node}] -= ticks
		want[slotKey{termKey(uint32(on.key>>activityBits), xtf.ActivityMPI), on.node}] += ticks
		got := asMPI(terms, on, ticks)
		for i, x := range got {
			if k := (slotKey{x.key, x.node}); want[k] != x.ticks || x.ticks == 0 || i > 0 && compareTerms(got[i-1], x) >= 0 {
				t.Fatalf("%+v, want %d ticks", got, want[k])
			}
			delete(want, slotKey{x.key, x.node})
		}
		for k, left := range want {
			if left > 0 {
				t.Fatalf("%+v lack %d ticks of %+v", got, left, k)
			}
		}
	}
}
