package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPeer(t *testing.T) {
	const unknown = UnknownProcess
	d := mixedDefinitions()
	for _, c := range []struct {
		name             string
		comm, rank, self uint32
		want             uint32
	}{
		{"global members", 0, 2, 0, 2},
		{"global members, beyond", 0, 3, 0, unknown},
		{"undefined rank", 0, Undefined, 0, unknown},
		{"self", 1, 0, 2, 2},
		{"self, another rank", 1, 1, 2, unknown},
		{"members out of order, sparse reference", 1 << 25, 0, 0, 2},
		{"members out of order, second", 1 << 25, 1, 2, 0},
		{"members, beyond", 1 << 25, 2, 0, unknown},
		{"member that the location list does not have", 3, 1, 0, unknown},
		{"member after it", 3, 2, 0, 0},
		{"paradigm without location list", 4, 0, 0, unknown},
		{"group not defined", 5, 0, 0, unknown},
		{"group is the location list", 6, 1, 0, 1},
		{"group without members", 7, 0, 0, unknown},
		{"communicator not defined", 1234, 0, 0, unknown},
		{"inter-communicator from A", 8, 0, 0, 1},
		{"inter-communicator from A, beyond B", 8, 1, 2, unknown},
		{"inter-communicator from B", 8, 0, 1, 2},
		{"inter-communicator from B, second", 8, 1, 1, 0},
		{"inter-communicator without B, from A", 9, 0, 1, unknown},
		{"inter-communicator without B, from outside", 9, 0, 0, 1},
		{"inter-communicator of self", 10, 0, 1, unknown},
	} {
		if got := d.Peer(c.comm, c.rank, c.self); got != c.want {
			t.Errorf("%s: Peer(%d, %d, %d) = %#x, want %#x", c.name, c.comm, c.rank, c.self, got, c.want)
		}
	}
}

func TestRankIn(t *testing.T) {
	d := mixedDefinitions()
	for _, c := range []struct {
		name          string
		comm, process uint32
		want          uint32
		member        bool
	}{
		{"global members", 0, 2, 2, true},
		{"process without MPI", 0, 3, 3, false},
		{"self", 1, 3, 0, true},
		{"out of order", 1 << 25, 0, 1, true},
		{"out of order, first", 1 << 25, 2, 0, true},
		{"not a member", 1 << 25, 1, 0, false},
		{"after an unknown member", 3, 0, 2, true},
		{"unknown process is not a member", 3, UnknownProcess, 0, false},
		{"no such communicator", 99, 0, 0, false},
		{"inter-communicator, A", 8, 2, 0, true},
		{"inter-communicator, B", 8, 1, 0, true},
		{"inter-communicator, neither", 8, 3, 0, false},
	} {
		got, ok := d.RankIn(c.comm, c.process)
		if ok != c.member || ok && got != c.want {
			t.Errorf("%s: RankIn(%d, %d) = %d, %v, want %d, %v", c.name, c.comm, c.process, got, ok, c.want, c.member)
		}
	}
}

func TestIsRoot(t *testing.T) {
	d := mixedDefinitions()
	for _, c := range []struct {
		name                string
		comm, root, process uint32
		want                bool
	}{
		{"global members", 0, 2, 2, true},
		{"another one", 0, 2, 1, false},
		{"out of order", 1 << 25, 0, 2, true},
		{"not a member", 1 << 25, 0, 1, false},
		{"self", 1, 0, 3, true},
		{"no root", 0, Undefined, 0, false},
		{"no such communicator", 99, 0, 0, false},
		{"a rank of the other group", 8, 0, 2, false},
		{"root of an inter-communicator", 8, RootSelf, 2, true},
	} {
		if got := d.IsRoot(c.comm, c.root, c.process); got != c.want {
			t.Errorf("%s: IsRoot(%d, %d, %d) = %v", c.name, c.comm, c.root, c.process, got)
		}
	}
}

func TestCommMembers(t *testing.T) {
	d := mixedDefinitions()
	for _, c := range []struct {
		comm    uint32
		size    int
		self    bool
		members []uint32
	}{
		{0, 3, false, []uint32{0, 1, 2}},
		{1, 1, true, nil},
		{1 << 25, 2, false, []uint32{2, 0}},
		{3, 3, false, []uint32{1, UnknownProcess, 0}},
		{4, 0, false, nil},
		{5, 0, false, nil},
		{6, 3, false, []uint32{0, 1, 2}},
		{8, 2, false, []uint32{2, 0}},
		{99, 0, false, nil},
	} {
		if n := d.CommSize(c.comm); n != c.size {
			t.Errorf("size of communicator %d is %d, want %d", c.comm, n, c.size)
		}
		if s := d.IsSelf(c.comm); s != c.self {
			t.Errorf("IsSelf(%d) = %v", c.comm, s)
		}
		if diff := cmp.Diff(c.members, d.CommMembers(c.comm)); diff != "" {
			t.Errorf("members of communicator %d: %s", c.comm, diff)
		}
	}
}

// TestGlobalGroupsShare checks that groups which list no members cost nothing:
// a short file must not make large tables.
func TestGlobalGroupsShare(t *testing.T) {
	const processes, groups = 2000, 2000
	d := &Definitions{Groups: []Group{{Ref: groups, Type: GroupCommLocations, Paradigm: ParadigmMPI}}}
	for i := range uint32(processes) {
		d.LocationGroups = append(d.LocationGroups, LocationGroup{Ref: i, Type: ProcessGroup})
		d.Locations = append(d.Locations, Location{Ref: uint64(i), Group: i})
		d.Groups[0].Members = append(d.Groups[0].Members, uint64(processes-1-i))
	}
	for i := range uint32(groups) {
		d.Groups = append(d.Groups, Group{Ref: i, Type: GroupCommGroup, Paradigm: ParadigmMPI, Flags: GlobalMembers})
		d.Comms = append(d.Comms, Comm{Ref: i, Group: i})
	}
	d.Seal()
	first := d.CommMembers(0)
	for c := range uint32(groups) {
		if m := d.CommMembers(c); len(m) != processes || &m[0] != &first[0] {
			t.Fatalf("communicator %d has a table of its own", c)
		}
	}
}
