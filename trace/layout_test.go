package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mixedDefinitions are three MPI processes whose ranks run against their ids,
// with threads, an accelerator, a metric recorder, and a process without MPI.
func mixedDefinitions() *Definitions {
	d := &Definitions{
		Strings: []String{{0, ""}, {7, "MPI_Send"}, {1 << 30, "far"}},
		Regions: []Region{{Ref: 4, Name: 7, Paradigm: ParadigmMPI}},
		LocationGroups: []LocationGroup{
			{Ref: 10, Type: ProcessGroup, Creator: Undefined},
			{Ref: 20, Type: ProcessGroup, Creator: Undefined},
			{Ref: 30, Type: AcceleratorGroup, Creator: 10},
			{Ref: 40, Type: ProcessGroup, Creator: Undefined},
			{Ref: 50, Type: ProcessGroup, Creator: Undefined},
			{Ref: 60, Type: AcceleratorGroup, Creator: 999},
		},
		Locations: []Location{
			{Ref: 5, Type: CPUThread, Group: 50},               // no MPI
			{Ref: 1<<40 + 1, Type: CPUThread, Group: 10},       // second thread of rank 2
			{Ref: 1, Type: CPUThread, Group: 10},               // rank 2
			{Ref: 300, Type: MetricLocation, Group: 10},        // its metric recorder
			{Ref: 200, Type: AcceleratorStream, Group: 30},     // its accelerator
			{Ref: 2, Type: CPUThread, Group: 20},               // rank 1, which is not the lowest id
			{Ref: 0, Type: CPUThread, Group: 20},               // but calls no MPI
			{Ref: 1 << 60, Type: UnknownLocation, Group: 40},   // rank 0
			{Ref: 77, Type: AcceleratorStream, Group: 60},      // creator unknown
			{Ref: 78, Type: AcceleratorStream, Group: 1 << 31}, // group unknown
		},
		Groups: []Group{
			{Ref: 3, Type: GroupCommLocations, Paradigm: ParadigmMPI, Members: []uint64{1 << 60, 2, 1}},
			{Ref: 1 << 20, Type: GroupCommGroup, Paradigm: ParadigmMPI, Members: []uint64{2, 0}},
			{Ref: 5, Type: GroupCommGroup, Paradigm: ParadigmMPI, Members: []uint64{}, Flags: GlobalMembers},
			{Ref: 6, Type: GroupCommSelf, Paradigm: ParadigmMPI},
			{Ref: 7, Type: GroupCommGroup, Paradigm: ParadigmMPI, Members: []uint64{1, 9, 0}},
			{Ref: 8, Type: GroupCommGroup, Paradigm: ParadigmOpenMP, Members: []uint64{0}},
			{Ref: 9, Type: GroupCommGroup, Paradigm: ParadigmMPI, Members: []uint64{1}},
			{Ref: 11, Type: GroupCommGroup, Paradigm: ParadigmMPI},
		},
		Comms: []Comm{
			{Ref: 0, Group: 5},
			{Ref: 1, Group: 6},
			{Ref: 1 << 25, Group: 1 << 20},
			{Ref: 3, Group: 7},
			{Ref: 4, Group: 8},
			{Ref: 5, Group: 12345},
			{Ref: 6, Group: 3},
			{Ref: 7, Group: 11},
		},
		InterComms: []InterComm{
			{Ref: 8, GroupA: 1 << 20, GroupB: 9}, {Ref: 9, GroupA: 9, GroupB: 12345}, {Ref: 10, GroupA: 6, GroupB: 9},
		},
	}
	d.Seal()
	return d
}

func TestSealOrder(t *testing.T) {
	d := mixedDefinitions()
	type row struct {
		ID              uint64
		Process, Thread uint32
	}
	var got []row
	for p := range P(d.NumLocations()) {
		process, thread := d.Process(p)
		got = append(got, row{d.Location(p).Ref, process, thread})
	}
	want := []row{
		{1 << 60, 0, 0},
		{2, 1, 0},
		{0, 1, 1},
		{1, 2, 0},
		{1<<40 + 1, 2, 1},
		{200, 2, 2},
		{300, 2, 3},
		{5, 3, 0},
		{77, 4, 0},
		{78, 5, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantProcesses := []Process{{40, 0, 1}, {20, 1, 2}, {10, 3, 4}, {50, 7, 1}, {60, 8, 1}, {1 << 31, 9, 1}}
	if diff := cmp.Diff(wantProcesses, d.Processes()); diff != "" {
		t.Error(diff)
	}
	for p := range P(d.NumLocations()) {
		if q, ok := d.Ordinal(d.Location(p).Ref); !ok || p != q {
			t.Errorf("location id %d found as %d, %v, want %d", d.Location(p).Ref, q, ok, p)
		}
	}
	if _, ok := d.Ordinal(6); ok {
		t.Error("found a location that is not defined")
	}
	if len(d.Problems().Codes) > 0 {
		t.Errorf("problems: %+v", d.Problems())
	}
}

func TestSealWithoutMPI(t *testing.T) {
	d := &Definitions{
		LocationGroups: []LocationGroup{{Ref: 9, Type: ProcessGroup}, {Ref: 2, Type: ProcessGroup}},
		Locations:      []Location{{Ref: 1, Group: 2}, {Ref: 4, Group: 9}, {Ref: 3, Group: 9}},
	}
	d.Seal()
	var ids []uint64
	for p := range P(3) {
		ids = append(ids, d.Location(p).Ref)
	}
	if diff := cmp.Diff([]uint64{3, 4, 1}, ids); diff != "" {
		t.Errorf("groups in the order of their records, locations by id: %s", diff)
	}
	empty := &Definitions{}
	empty.Seal()
	if empty.NumLocations() != 0 || len(empty.Processes()) != 0 || empty.Clock() != (ClockProperties{}) {
		t.Error("definitions without records are not empty")
	}
}

// TestCreatorCycle checks that accelerators which create each other end somewhere.
func TestCreatorCycle(t *testing.T) {
	d := &Definitions{
		LocationGroups: []LocationGroup{{Ref: 0, Type: AcceleratorGroup, Creator: 1}, {Ref: 1, Type: AcceleratorGroup, Creator: 0}},
		Locations:      []Location{{Ref: 0, Group: 0}, {Ref: 1, Group: 1}},
	}
	d.Seal()
	askAll(t, d)
}

func TestDuplicates(t *testing.T) {
	d := &Definitions{
		Strings:   []String{{0, "first"}, {0, "second"}, {1 << 31, "a"}, {1 << 31, "b"}},
		Regions:   []Region{{Ref: 1, Name: 0}, {Ref: 1, Name: 5}},
		Locations: []Location{{Ref: 3}, {Ref: 3}},
		Comms:     []Comm{{Ref: 2}, {Ref: 2}},
	}
	d.Seal()
	if d.Text(0) != "first" || d.Text(1<<31) != "a" || d.Region(1).Name != 0 {
		t.Error("the first of two definitions is not the one used")
	}
	if n := d.Problems().Count(DiagBadDefinition); n != 5 {
		t.Errorf("%d double definitions counted, want 5: %+v", n, d.Problems())
	}
	askAll(t, d)
}

func TestLookups(t *testing.T) {
	d := mixedDefinitions()
	if d.Text(1<<30) != "far" || d.Text(7) != "MPI_Send" || d.Text(8) != "" || d.Text(Undefined) != "" {
		t.Error("strings by sparse references")
	}
	if r := d.Region(4); r == nil || !d.IsMPI(r) || d.Region(5) != nil {
		t.Error("regions by reference")
	}
	if i, ok := d.RegionIndex(4); !ok || i != 0 {
		t.Error("index of a region")
	}
	d.CallingContexts = []CallingContext{{Ref: 12, Region: 4}}
	d.Seal()
	if r, ok := d.ContextRegion(12); !ok || r != 4 {
		t.Errorf("region of a calling context: %d, %v", r, ok)
	}
	if r, ok := d.ContextRegion(0); ok || r != Undefined {
		t.Errorf("region of an unknown calling context: %d, %v", r, ok)
	}
}

// TestIndex compares the index with a map, dense and sparse.
func TestIndex(t *testing.T) {
	for _, keys := range [][]uint64{
		nil, {0}, {Undefined64}, {5, 5, 5}, {3, 1, 2, 1}, {0, 1 << 40, 1 << 20, 1 << 40}, {1027, 0}, {1028, 0}, {Undefined, 0, 7},
	} {
		x := newIndex(len(keys), func(i int) uint64 { return keys[i] })
		first, duplicates := map[uint64]int{}, 0
		for i, k := range keys {
			if _, ok := first[k]; ok {
				duplicates++
				continue
			}
			first[k] = i
		}
		if x.duplicates != duplicates {
			t.Errorf("%v: %d duplicates, want %d", keys, x.duplicates, duplicates)
		}
		for _, k := range append([]uint64{0, 1, 2, 4, 6, 1024, 1 << 39, Undefined64 - 1, Undefined64}, keys...) {
			want, known := first[k]
			if got, ok := x.find(k); ok != known || got != want {
				t.Errorf("%v: key %d found at %d, %v, want %d, %v", keys, k, got, ok, want, known)
			}
		}
	}
}

// TestMetersBelong: a group of which all locations record metrics is no process: it belongs to the first one on its node, or of all.
func TestMetersBelong(t *testing.T) {
	d := &Definitions{
		LocationGroups: []LocationGroup{
			{Ref: 1, Type: ProcessGroup, Parent: 8, Creator: Undefined}, // meters
			{Ref: 2, Type: ProcessGroup, Parent: 7, Creator: Undefined},
			{Ref: 3, Type: ProcessGroup, Parent: 8, Creator: Undefined},
			{Ref: 4, Type: ProcessGroup, Parent: 9, Creator: Undefined}, // meters, of a node without processes
			{Ref: 5, Type: ProcessGroup, Parent: 8, Creator: Undefined}, // a rank of MPI
		},
		Locations: []Location{
			{Ref: 10, Type: MetricLocation, Group: 1},
			{Ref: 20, Type: CPUThread, Group: 2},
			{Ref: 30, Type: CPUThread, Group: 3},
			{Ref: 40, Type: MetricLocation, Group: 4},
			{Ref: 50, Type: MetricLocation, Group: 5},
		},
		Groups: []Group{{Ref: 1, Type: GroupCommLocations, Paradigm: ParadigmMPI, Members: []uint64{30, 20, 50}}},
	}
	d.Seal()
	want := []Process{{3, 0, 2}, {2, 2, 2}, {5, 4, 1}}
	if diff := cmp.Diff(want, d.Processes()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	only := &Definitions{LocationGroups: d.LocationGroups[:1], Locations: d.Locations[:1]}
	only.Seal()
	if got := len(only.Processes()); got != 1 {
		t.Errorf("%d processes of a group alone, want 1", got)
	}
}
