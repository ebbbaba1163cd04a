package interval_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// planned has regions, parameters and communicators of which plans make something.
func planned() *trace.Definitions {
	d := &trace.Definitions{
		Clocks:              []trace.ClockProperties{{TimerResolution: 1_000_000, TraceLength: 103}},
		SystemTreeNodes:     []trace.SystemTreeNode{{Parent: trace.Undefined}},
		SourceCodeLocations: []trace.SourceCodeLocation{{Ref: 4, File: 1, LineNumber: 77}},
		CallingContexts:     []trace.CallingContext{{Ref: 0, Region: 0, SourceCodeLocation: 4, Parent: trace.Undefined}, {Ref: 1, Region: 1, SourceCodeLocation: 5, Parent: trace.Undefined}},
	}
	for i, s := range []string{"MPI_Pcontrol", "file.c", "MPI_Init", "MPI_Init_thread", "MPI_Finalize", "solve/x", "phase", "prv:7 Kind", "prv:77", "interval", "MPI_COMM_WORLD", "coppice.intervals", "half", "MPI_Send"} {
		d.Strings = append(d.Strings, trace.String{Ref: uint32(i), Value: s})
	}
	for i, name := range []uint32{0, 2, 3, 4, 13, 5, 6} {
		r := trace.Region{Ref: uint32(i), Name: name, Paradigm: trace.ParadigmMPI, SourceFile: 1, BeginLine: uint32(10 * i), Description: trace.Undefined}
		if i >= 5 {
			r.Paradigm = trace.ParadigmUser
		}
		d.Regions = append(d.Regions, r)
	}
	d.Regions[6].Flags, d.Regions[5].Description = trace.RegionPhase, 7
	for i, x := range [][2]uint32{{9, 1}, {9, 0}, {7, 2}, {8, 2}} {
		d.Parameters = append(d.Parameters, trace.Parameter{Ref: uint32(i), Name: x[0], Type: uint8(x[1])})
	}
	ranks := trace.Group{Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI}
	for p := range uint32(4) {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: p, Type: 1, Creator: trace.Undefined})
		d.Locations = append(d.Locations, trace.Location{Ref: uint64(p), Type: 1, Group: p})
		ranks.Members = append(ranks.Members, uint64(p))
	}
	d.Groups = []trace.Group{ranks}
	for c, n := range []int{2, 3, 3} {
		d.Groups = append(d.Groups, trace.Group{Ref: uint32(c + 1), Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: ranks.Members[:n]})
		d.Comms = append(d.Comms, trace.Comm{Ref: uint32(c), Name: 12, Group: uint32(c + 1), Parent: trace.Undefined})
	}
	d.Seal()
	return d
}

func planOf(t *testing.T, d *trace.Definitions, f interval.Flags) *interval.Plan {
	t.Helper()
	o, err := f.Parse()
	if err != nil {
		t.Fatal(err)
	}
	p, err := interval.NewPlan(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlanLaw applies options to definitions by hand: what calls of each region mean, in order, and which intervals parameters begin.
func TestPlanLaw(t *testing.T) {
	const control, interv, begin, end = interval.UseControl, interval.UseInterval, interval.UseInit, interval.UseFinalize
	for _, c := range []struct {
		f      interval.Flags
		uses   [8]interval.Use
		values [4]interval.Form
	}{
		{interval.Flags{}, [8]interval.Use{0: control, 6: interv}, [4]interval.Form{0: interval.FormParameter}},
		{interval.Flags{Init: "exclude", Markers: "f5"}, [8]interval.Use{0: control, 1: begin, 2: begin, 3: end}, [4]interval.Form{}},
		{interval.Flags{Init: "exclude", Markers: "f4"}, [8]interval.Use{0: control, 1: begin, 2: begin, 3: end}, [4]interval.Form{}},
		{interval.Flags{Markers: "f1"}, [8]interval.Use{}, [4]interval.Form{}},
		{interval.Flags{Intervals: []string{"region:sol*x"}}, [8]interval.Use{0: control, 5: interv}, [4]interval.Form{0: interval.FormParameter}},
		{interval.Flags{Intervals: []string{"prv:7"}}, [8]interval.Use{0: control, 5: interv, 6: interv}, [4]interval.Form{0: interval.FormParameter, 2: interval.FormParaver}},
		{interval.Flags{Intervals: []string{"prv:77"}}, [8]interval.Use{0: control, 6: interv}, [4]interval.Form{0: interval.FormParameter, 3: interval.FormParaver}},
	} {
		p := planOf(t, planned(), c.f)
		for i, want := range c.uses {
			if p.Uses[i] != want {
				t.Errorf("%+v: region %d is used as %d, want %d", c.f, i, p.Uses[i], want)
			}
		}
		for i, want := range c.values {
			if got := p.Value(uint32(i)); got != want {
				t.Errorf("%+v: parameter %d makes %v, want %v", c.f, i, got, want)
			}
		}
	}
	p := planOf(t, planned(), interval.Flags{Intervals: []string{"prv:7"}})
	if k := p.EventKey(2); k != (interval.Key{Name: "prv:7 Kind", Form: interval.FormParaver}) {
		t.Errorf("event type %+v", k)
	}
	if k := p.RegionKey(5); k != (interval.Key{Name: "solve/x", Form: interval.FormParaver, File: "file.c", Line: 50}) {
		t.Errorf("region %+v", k)
	}
	if k, ok := p.AtSite(interval.Key{ID: 3}, 0); !ok || k != (interval.Key{ID: 3, File: "file.c", Line: 77}) {
		t.Errorf("call site %+v, %t", k, ok)
	}
	for _, context := range []uint32{1, 2} {
		if k, ok := p.AtSite(interval.Key{ID: 3}, context); ok || k != (interval.Key{ID: 3}) {
			t.Errorf("call site of context %d: %+v", context, k)
		}
	}
	if p.Text(6) != "phase" {
		t.Errorf("text %q", p.Text(6))
	}
	for i, ok := range map[int]bool{-1: false, 0: true, 6: true, 7: false} {
		if _, found := p.At(interval.Key{}, i); found != ok {
			t.Errorf("region %d is known: %t", i, found)
		}
	}
	for _, f := range []interval.Flags{{Intervals: []string{"region:none"}}, {Intervals: []string{"region:MPI_Send"}}, {Intervals: []string{"prv:8"}}, {Sidecar: []byte("4,1,2,3,\n")}, {Sidecar: []byte("0,9,2ns,3,\n")}, {Slice: "1ns"}} {
		o, err := f.Parse()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := interval.NewPlan(planned(), o); !errors.Is(err, interval.ErrOption) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// TestBetween has the largest communicator, the first of several, end intervals, unless one is named as that of all processes.
func TestBetween(t *testing.T) {
	for world, named := range map[uint32]bool{1: false, 2: true} {
		d := planned()
		if named {
			d.Comms[2].Name = 10
		}
		p := planOf(t, d, interval.Flags{Between: "coll:allreduce"})
		for comm := range uint32(3) {
			for op := range uint32(20) {
				if p.IsBetween(op, comm) != (op == 11 && comm == world) {
					t.Errorf("operation %d on communicator %d: %t", op, comm, p.IsBetween(op, comm))
				}
			}
		}
		if k := p.BetweenKey(5); k != (interval.Key{ID: 5, Name: "MPI_Allreduce", Form: interval.FormDerived}) {
			t.Errorf("between: %+v", k)
		}
	}
	if planOf(t, planned(), interval.Flags{}).IsBetween(trace.Undefined, 1) {
		t.Error("intervals end without --between")
	}
	d := planned()
	d.Comms = nil
	d.Seal()
	f := interval.Flags{Between: "coll:allreduce"}
	o, _ := f.Parse()
	if _, err := interval.NewPlan(d, o); err == nil || !strings.Contains(err.Error(), "--between") {
		t.Errorf("without a communicator: %v", err)
	}
}

// TestSliceLengths cuts a trace of 103 ticks, and any: slices hold each tick once, and their number is the one asked for.
func TestSliceLengths(t *testing.T) {
	for _, n := range []int{1, 2, 7, 50, 103, 1000} {
		p := planOf(t, planned(), interval.Flags{SliceCount: n})
		width := uint64((103 + n - 1) / n) // the least with which n slices hold all ticks
		for at := range uint64(300) {
			want, end := min(at/width, uint64(n-1)), xtf.Never
			if want < uint64(n-1) {
				end = (want + 1) * width
			}
			if k, e, ok := p.SliceAt(at); k != want || e != end || !ok || p.TooManySlices(at) {
				t.Fatalf("%d slices: tick %d is in slice %d, which ends at %d", n, at, k, e)
			}
		}
	}
	p := planOf(t, planned(), interval.Flags{Slice: "3us"})
	for at, want := range map[uint64]uint64{0: 0, 2: 0, 3: 1, 3*interval.MaxSlices - 1: interval.MaxSlices - 1, 3 * interval.MaxSlices: interval.MaxSlices - 1} {
		if k, end, ok := p.SliceAt(at); !ok || k != want || (end == xtf.Never) != (want == interval.MaxSlices-1) || p.TooManySlices(at) != (at >= 3*interval.MaxSlices) {
			t.Errorf("tick %d is in slice %d, which ends at %d; too many: %t", at, k, end, p.TooManySlices(at))
		}
	}
	if _, _, ok := planOf(t, planned(), interval.Flags{}).SliceAt(3); ok || interval.SliceKey(4) != (interval.Key{ID: 4, Name: "slice", Form: interval.FormDerived}) {
		t.Errorf("slices without being asked for, %+v", interval.SliceKey(4))
	}
}

// TestDerive follows items from random ones, as docs/metrics.md has them.
func TestDerive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var c interval.Components
		x := c.Node(1 + rng.Uint32N(3))
		for i := range x {
			x[i] = rng.Uint64N(20)
		}
		x[xtf.ItemTime] = rng.Uint64N(300)
		before, aside := *x, uint64(0)
		x.Derive()
		for _, i := range xtf.AsideItems {
			aside += before[i]
		}
		comm, cpu, measured := before[xtf.ItemP2P]+before[xtf.ItemColl]+before[xtf.ItemRMA], int64(before[xtf.ItemTime])-int64(aside), int64(before[xtf.ItemTime])-int64(before[xtf.ItemSetup])
		if x[xtf.ItemComm] != comm || int64(x[xtf.ItemCPU]) != max(cpu, 0) || int64(x[xtf.ItemMeasured]) != max(measured, 0) {
			t.Fatalf("%v become %v", before, *x)
		}
		c.Forget(xtf.ItemTime)
		n := 0
		c.Each(func(node uint32, item xtf.Item, v uint64) {
			if item == xtf.ItemTime {
				t.Errorf("node %d has %s after that was forgotten", node, fmt.Sprint(v))
			}
			n++
		})
		if n == 0 || c.Has(0) || c.Len() < 2 {
			t.Errorf("%d values, %d nodes", n, c.Len())
		}
	}
}
