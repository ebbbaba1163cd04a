package predict

import (
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/trace"
)

// tables hold what the definitions say of regions and communicators.
type tables struct {
	defs    *trace.Definitions
	regions []regionInfo
	none    regionInfo
	comms   []simnet.Comm
	kinds   []commKind        // by number in comms
	number  map[uint32]uint32 // communicator -> number in comms
}

// regionInfo is what matters of a region.
type regionInfo struct {
	class trace.CallClass
	post  simnet.ActionKind // of its sends
	test  bool              // may complete nothing
	some  bool              // may complete some of its requests
	probe bool              // waits for a message that another call receives
	spawn bool
	apart bool // a file operation or one-sided call outside of MPI
}

// mute reports whether the records in a call of a region do nothing in the program: MPI_Init is not a barrier, and what the platform's
// file system would take for a transfer outside of MPI is not asked.
func (x *regionInfo) mute() bool { return x.class&trace.ClassInit != 0 || x.apart }

// commKind says how the operations of a communicator are recorded.
type commKind uint8

const (
	commPlain commKind = iota
	commAlone          // of one process: its collectives need nobody; partners are told by process
	commParts          // two groups, or unknown members: partners are told by process, no collectives
)

func newTables(d *trace.Definitions) *tables {
	t := &tables{defs: d, regions: make([]regionInfo, len(d.Regions)), number: map[uint32]uint32{}}
	for i := range d.Regions {
		t.regions[i] = newRegionInfo(d, &d.Regions[i])
	}
	for i := range d.Comms {
		t.addComm(d.Comms[i].Ref)
	}
	for i := range d.InterComms {
		t.addComm(d.InterComms[i].Ref)
	}
	return t
}

func newRegionInfo(d *trace.Definitions, r *trace.Region) regionInfo {
	x := regionInfo{class: d.Class(r), post: simnet.PostSend, probe: d.IsProbe(r)}
	if x.class&trace.ClassMPI == 0 {
		x.apart = x.class&trace.ClassIO != 0 || r.Role == trace.RoleRMA
		return x
	}
	name := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(d.Text(r.Name)), "p"), "mpi_")
	is := func(names string) bool { return slices.Contains(strings.Fields(names), name) }
	switch {
	case is("ssend issend"):
		x.post = simnet.PostSync
	case is("bsend ibsend rsend irsend"):
		x.post = simnet.PostBuffered
	}
	x.spawn = is("comm_spawn comm_spawn_multiple comm_connect comm_accept comm_join")
	x.some = is("waitany waitsome test testany testsome testall")
	x.test = is("test testany testsome testall iprobe improbe request_get_status request_get_status_all request_get_status_any request_get_status_some parrived")
	return x
}

func (t *tables) addComm(ref uint32) {
	if _, ok := t.number[ref]; ok {
		return
	}
	t.number[ref] = uint32(len(t.comms))
	members := t.defs.CommMembers(ref)
	everybody := uint32(len(t.defs.Processes()))
	kind := commPlain
	switch {
	case t.defs.IsSelf(ref) || len(members) == 1:
		kind = commAlone
	case t.defs.IsInter(ref) || !distinct(members, everybody):
		kind = commParts
	}
	c := simnet.Comm{Size: everybody}
	if kind == commPlain {
		c = simnet.Comm{Size: uint32(len(members)), Members: members}
		if identity(members) {
			c.Members = nil
		}
	}
	t.comms, t.kinds = append(t.comms, c), append(t.kinds, kind)
}

func identity(members []uint32) bool {
	for i, p := range members {
		if p != uint32(i) {
			return false
		}
	}
	return true
}

// distinct reports whether there are members, all different and among n processes.
func distinct(members []uint32, n uint32) bool {
	seen := make([]bool, n)
	for _, p := range members {
		if p >= n || seen[p] {
			return false
		}
		seen[p] = true
	}
	return len(members) > 0
}

// region returns what matters of a region; nothing of one that is not defined.
func (t *tables) region(ref uint32) *regionInfo {
	if i, ok := t.defs.RegionIndex(ref); ok {
		return &t.regions[i]
	}
	return &t.none
}

// collKind returns what the network does for a collective operation of OTF2, and whether members have parts of their own size.
func collKind(op uint64) (k simnet.CollKind, varying, ok bool) {
	kinds := [...]simnet.CollKind{
		simnet.Barrier, simnet.Bcast, simnet.Gather, simnet.Gather, simnet.Scatter, simnet.Scatter, simnet.Allgather, simnet.Allgather,
		simnet.Alltoall, simnet.Alltoall, simnet.Alltoall, simnet.Allreduce, simnet.Reduce, simnet.ReduceScatter, simnet.Scan, simnet.Scan, simnet.ReduceScatter,
		22: simnet.Barrier, // from 17 on handles and memory: at least nobody goes on before all have come
	}
	if op >= uint64(len(kinds)) {
		return 0, false, false
	}
	return kinds[op], slices.Contains([]uint64{3, 5, 7, 9, 10, 13}, op), true
}

// collBytes turns the bytes of a record into those of an action: for one partner where there is a part for each. Records count
// what the library would move if everybody sent to everybody concerned, itself included, as Score-P does.
func collBytes(k simnet.CollKind, size uint32, sent, received uint64) (bytes, got uint64) {
	n := uint64(size)
	part := func(b uint64) uint64 {
		q := b / n
		if b%n != 0 {
			q++
		}
		return q
	}
	switch k {
	case simnet.Bcast:
		b := max(received, part(sent))
		return b, b
	case simnet.Reduce:
		b := max(sent, part(received))
		return b, b
	case simnet.Gather:
		b := max(sent, part(received)) // of the root, which may gather in place
		return b, part(received)
	case simnet.Scatter:
		return part(sent), max(received, part(sent))
	case simnet.Scan:
		return sent, received
	case simnet.Allreduce:
		b := part(max(sent, received))
		return b, b
	case simnet.Barrier:
		return 0, 0
	}
	return part(sent), part(received)
}
