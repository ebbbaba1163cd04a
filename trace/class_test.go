package trace

import (
	"math/bits"
	"slices"
	"strings"
	"testing"
)

func TestClass(t *testing.T) {
	const (
		p2p  = ClassMPI | ClassP2P
		coll = ClassMPI | ClassColl
		mgmt = ClassMPI | ClassManagement
		file = ClassMPI | ClassFileIO
		rma  = ClassMPI | ClassRMA
	)
	for _, c := range []struct {
		name     string
		paradigm ParadigmID
		role     RegionRole
		want     CallClass
	}{
		{"MPI_Send", ParadigmMPI, 0, p2p},
		{"MPI_Isend", ParadigmMPI, 0, p2p | ClassStart},
		{"MPI_Isend_c", ParadigmMPI, 0, p2p | ClassStart},
		{"PMPI_Recv", ParadigmMPI, 0, p2p},
		{"mpi_waitall", ParadigmMPI, 0, p2p},
		{"MPI_Startall", ParadigmMPI, 0, p2p | ClassStart},
		{"MPI_Send_init", ParadigmMPI, 0, p2p},
		{"MPI_Pready", ParadigmMPI, 0, p2p},
		{"MPI_Mprobe", ParadigmMPI, 0, p2p},
		{"MPI_Probe", ParadigmMPI, 0, p2p},
		{"probe", ParadigmMPI, 0, p2p},
		{"put", ParadigmMPI, 0, rma},
		{"MPI_Improbe", ParadigmMPI, 0, p2p},
		{"MPI_Barrier", ParadigmMPI, 0, coll | ClassBarrier},
		{"MPI_Ibarrier", ParadigmMPI, 0, coll | ClassBarrier | ClassStart},
		{"MPI_Bcast", ParadigmMPI, 0, coll | ClassOneToN},
		{"MPI_Ibcast", ParadigmMPI, 0, coll | ClassOneToN | ClassStart},
		{"MPI_Gatherv", ParadigmMPI, 0, coll | ClassNToOne},
		{"MPI_Exscan", ParadigmMPI, 0, coll | ClassPrefix},
		{"MPI_Reduce_scatter_block", ParadigmMPI, 0, coll | ClassNxN},
		{"MPI_Ialltoallw", ParadigmMPI, 0, coll | ClassNxN | ClassStart},
		{"MPI_Ineighbor_alltoall", ParadigmMPI, 0, coll | ClassNxN | ClassStart},
		{"MPI_Bcast_init", ParadigmMPI, 0, mgmt},
		{"MPI_Init", ParadigmMPI, 0, mgmt | ClassInit},
		{"MPI_Init_thread", ParadigmMPI, 0, mgmt | ClassInit},
		{"MPI_Info_create", ParadigmMPI, 0, mgmt},
		{"MPI_Comm_split", ParadigmMPI, 0, mgmt},
		{"MPI_Pcontrol", ParadigmMPI, 0, mgmt},
		{"MPI_File_write_at_all", ParadigmMPI, 0, file},
		{"MPI_File_iread", ParadigmMPI, 0, file},
		{"MPI_Put", ParadigmMPI, 0, rma},
		{"MPI_Win_fence", ParadigmMPI, 0, rma},
		{"MPI_Newsend", ParadigmMPI, RolePointToPoint, p2p},
		{"MPI_Newcoll", ParadigmMPI, RoleCollAllToAll, coll | ClassNxN},
		{"MPI_Newcoll", ParadigmMPI, RoleCollOther, coll},
		{"MPI_Newgather", ParadigmMPI, RoleCollAllToOne, coll | ClassNToOne},
		{"MPI_Newbcast", ParadigmMPI, RoleCollOneToAll, coll | ClassOneToN},
		{"MPI_Newbarrier", ParadigmMPI, RoleBarrier, coll | ClassBarrier},
		{"MPI_Newput", ParadigmMPI, RoleRMA, rma},
		{"MPI_Newfile", ParadigmMPI, RoleFileIO, file},
		{"MPI_New", ParadigmMPI, RoleFunction, mgmt},
		{"MPI_Send", ParadigmUnknown, 0, p2p},
		{"MPI_Send", ParadigmUser, 0, 0},
		{"send", ParadigmUnknown, 0, 0},
		{"write", ParadigmUnknown, RoleFileIO, ClassIO},
		{"close", ParadigmUser, RoleFileIOMetadata, ClassIO},
		{"!$omp barrier", ParadigmOpenMP, RoleBarrier, 0},
		{"", ParadigmMPI, 0, mgmt},
	} {
		d := &Definitions{Strings: []String{{1, c.name}}, Regions: []Region{{Ref: 1, Name: 1, Role: c.role, Paradigm: c.paradigm}, {Ref: 2, Paradigm: ParadigmMPI}}}
		d.Seal()
		if got := d.Class(d.Region(1)); got != c.want {
			t.Errorf("%q (paradigm %d, role %d): class %#x, want %#x", c.name, c.paradigm, c.role, got, c.want)
		}
	}
}

// TestNamesAlone: where no region is of MPI by its paradigm, names tell, as in archives of EZTrace.
func TestNamesAlone(t *testing.T) {
	d := &Definitions{Strings: []String{{1, "MPI_Send"}, {2, "solve"}}, Regions: []Region{{Ref: 1, Name: 1, Paradigm: ParadigmUser}, {Ref: 2, Name: 2, Paradigm: ParadigmUser}}}
	d.Seal()
	if a, b := d.Class(d.Region(1)), d.Class(d.Region(2)); a != ClassMPI|ClassP2P || b != 0 {
		t.Errorf("classes %#x and %#x", a, b)
	}
	for _, handles := range [][]IoHandle{nil, {{Ref: 1}}} { // who writes these records I/O
		d := &Definitions{Strings: []String{{1, "write"}, {2, "writes"}}, Regions: []Region{
			{Ref: 1, Name: 1, Role: RoleFunction, Paradigm: ParadigmUser},
			{Ref: 2, Name: 1, Role: RoleFunction, Paradigm: ParadigmCompiler},
			{Ref: 3, Name: 2, Role: RoleFunction, Paradigm: ParadigmUser},
		}, IoHandles: handles}
		d.Seal()
		if a := d.Class(d.Region(1)); a == ClassIO != (handles != nil) || d.Class(d.Region(2)) != 0 || d.Class(d.Region(3)) != 0 {
			t.Errorf("%d handles: classes %#x, %#x, %#x", len(handles), a, d.Class(d.Region(2)), d.Class(d.Region(3)))
		}
	}
}

// TestSameRegions: regions that differ in anything but references are not the same.
func TestSameRegions(t *testing.T) {
	d := &Definitions{
		Strings: []String{{1, "solve"}, {2, "solve"}, {3, "solve.c"}},
		Regions: []Region{{Ref: 7, Name: 1}, {Ref: 8, Name: 2}, {Ref: 9, Name: 1, BeginLine: 1}, {Ref: 10, Name: 2, SourceFile: 3}, {Ref: 11, Name: 3}, {Ref: 12, Name: 2, BeginLine: 1}, {Ref: 13, Name: Undefined}, {Ref: 14, Name: Undefined}},
	}
	for i := range d.Regions {
		r := &d.Regions[i]
		for _, ref := range []*uint32{&r.Description, &r.SourceFile, &r.CanonicalName} {
			if *ref == 0 {
				*ref = Undefined
			}
		}
	}
	d.Seal()
	var got []int
	for _, r := range d.Regions {
		i, _ := d.SameRegion(r.Ref)
		got = append(got, i)
	}
	if i, ok := d.SameRegion(99); !slices.Equal(got, []int{0, 0, 2, 3, 4, 2, 6, 7}) || i != len(d.Regions) || ok {
		t.Errorf("%v, and %d, %t of one without definition", got, i, ok)
	}
}

// TestCollectiveClass compares the classes of operations with those of the calls
// of the same names.
func TestCollectiveClass(t *testing.T) {
	for op, name := range CollectiveOps {
		want := ClassColl
		if c, ok := classByName[strings.ToLower(name)]; ok {
			want = c
		}
		if got := CollectiveClass(uint32(op)); got != want {
			t.Errorf("%s: class %#x, want %#x", name, got, want)
		}
	}
	if got := CollectiveClass(200); got != ClassColl {
		t.Errorf("an unknown operation: class %#x", got)
	}
}

// TestNoRegion asks about a call of a region without definition, which a damaged run has.
func TestNoRegion(t *testing.T) {
	d := &Definitions{}
	if r := d.Region(7); d.IsMPI(r) || d.StartsMPI(r) || d.EndsMPI(r) || d.IsProbe(r) {
		t.Error("it is a call of MPI")
	}
}

func TestIsProbe(t *testing.T) {
	for _, c := range []struct {
		name     string
		paradigm ParadigmID
		want     bool
	}{
		{"MPI_Probe", ParadigmMPI, true},
		{"PMPI_Mprobe", ParadigmMPI, true},
		{"mpi_probe", ParadigmMPI, true},
		{"MPI_Iprobe", ParadigmMPI, false},
		{"MPI_Recv", ParadigmMPI, false},
		{"MPI_Probe", ParadigmUser, false},
	} {
		d := &Definitions{Strings: []String{{1, c.name}}, Regions: []Region{{Ref: 1, Name: 1, Paradigm: c.paradigm}, {Ref: 2, Paradigm: ParadigmMPI}}}
		d.Seal()
		if got := d.IsProbe(d.Region(1)); got != c.want {
			t.Errorf("%q, paradigm %d: %v", c.name, c.paradigm, got)
		}
	}
}

// TestClassesDisjoint checks that every MPI call is in one main class and that
// subsets come with theirs.
func TestClassesDisjoint(t *testing.T) {
	names := []string{"zzz", "file_open", "win_lock"}
	for n := range classByName {
		names = append(names, n, "i"+n)
	}
	for _, n := range names {
		d := &Definitions{Strings: []String{{0, "MPI_" + n}}, Regions: []Region{{Paradigm: ParadigmMPI}}}
		d.Seal()
		c := d.Class(d.Region(0))
		if c&ClassMPI == 0 || bits.OnesCount32(uint32(c&(ClassP2P|ClassColl|ClassFileIO|ClassRMA|ClassManagement))) != 1 {
			t.Errorf("MPI_%s: main classes of %#x", n, c)
		}
		if c&(ClassNxN|ClassBarrier|ClassOneToN|ClassNToOne|ClassPrefix) != 0 && c&ClassColl == 0 || c&ClassInit != 0 && c&ClassManagement == 0 ||
			c&ClassStart != 0 && c&(ClassP2P|ClassColl) == 0 || c&ClassIO != 0 {
			t.Errorf("MPI_%s: subsets of %#x", n, c)
		}
	}
}

// TestOnFile says of calls which collective operations on files they are, "" for none.
func TestOnFile(t *testing.T) {
	for call, want := range map[string]string{
		"MPI_File_open": "FILE_OPEN", "MPI_File_close": "FILE_CLOSE", "PMPI_File_sync": "FILE_SYNC", "mpi_file_set_view_": "FILE_SET_VIEW",
		"MPI_File_write_all": "FILE_WRITE", "MPI_File_write_at_all": "FILE_WRITE", "MPI_File_read_ordered": "FILE_READ", "MPI_File_read_all_c": "FILE_READ",
		"MPI_File_write_at_all_begin": "FILE_WRITE", "MPI_File_read_ordered_begin": "FILE_READ", "MPI_File_set_info": "FILE_SET_INFO",
		"MPI_File_write_all_end": "", "MPI_File_iwrite_all": "", "MPI_File_iread_at_all": "", "MPI_File_write": "", "MPI_File_read": "", "MPI_File_write_at": "",
		"MPI_File_write_shared": "", "MPI_File_seek": "", "MPI_File_delete": "", "MPI_File_read_begin": "", "MPI_Allreduce": "", "close": "",
	} {
		d := &Definitions{Strings: []String{{1, call}}, Regions: []Region{{Ref: 1, Name: 1, Paradigm: ParadigmMPI}}}
		d.Seal()
		got := ""
		if op, ok := d.OnFile(d.Region(1)); ok {
			if got = CollectiveName(uint64(op)); !Unnumbered(op) || !MayMeet(op) || CollectiveClass(op) != ClassColl || d.SetsClock(op, 1, true) {
				t.Errorf("%s, %s", call, got)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
	for op, want := range map[uint64]string{0: "WIN_FENCE", 17: "WIN_CREATE", 18: "WIN_FREE", 21: "WIN_CREATE", 22: "WIN_FREE", 1: "", 11: "", 19: "", 1 << 40: ""} {
		got := ""
		if x, ok := OnWindow(op); ok {
			if got = CollectiveName(uint64(x)); !Unnumbered(x) || !MayMeet(x) || CollectiveClass(x) != ClassColl {
				t.Errorf("operation %d, %s", op, got)
			}
		}
		if got != want {
			t.Errorf("operation %d: %q, want %q", op, got, want)
		}
	}
}
