package trace

import (
	"fmt"
	"slices"
	"strings"
)

// CallClass groups calls for the analysis. The values are stored in files:
// numbers are never reused.
type CallClass uint32

// Classes of calls. P2P, Coll, FileIO, RMA and Management are disjoint and cover
// every MPI call; other bits mark subsets of them.
const (
	ClassMPI        CallClass = 1 << iota // any MPI call
	ClassP2P                              // point-to-point, completion and probing included
	ClassStart                            // subset of P2P and Coll: initiates non-blocking work only
	ClassColl                             // collective, barrier included
	ClassNxN                              // subset of Coll: everybody needs everybody's data
	ClassBarrier                          // subset of Coll
	ClassFileIO                           // MPI-IO
	ClassRMA                              // one-sided
	ClassManagement                       // initialisation, communicators, everything else
	ClassOneToN                           // subset of Coll: broadcast, scatter
	ClassNToOne                           // subset of Coll: reduce, gather
	ClassPrefix                           // subset of Coll: scan, exscan
	ClassIO                               // I/O outside MPI
	ClassInit                             // subset of Management: MPI_Init and MPI_Finalize
)

// Class returns the class of a region: 0 for computation, and for nil, a region without definition. The names of MPI calls
// decide, which every writer records alike; roles decide for names that the MPI standard does not have.
func (d *Definitions) Class(r *Region) CallClass {
	if r == nil {
		return 0
	}
	if !d.IsMPI(r) {
		if r.Role == RoleFileIO || r.Role == RoleFileIOMetadata || d.namesIO(r) {
			return ClassIO
		}
		return 0
	}
	name := d.CallName(r)
	if c, ok := classByName[name]; ok {
		return ClassMPI | c
	}
	if c := classByPrefix(name); c != 0 {
		return ClassMPI | c
	}
	return ClassMPI | classByRole(r.Role)
}

// namesIO reports whether a region is a call of the C library on files, by its name alone. EZTrace writes such regions: all its
// regions have the role and the paradigm of functions of the user. Only writers that record I/O define handles.
func (d *Definitions) namesIO(r *Region) bool {
	return len(d.IoHandles) > 0 && r.Paradigm == ParadigmUser && r.Role == RoleFunction && slices.Contains(ioCalls, d.Text(r.Name))
}

var ioCalls = strings.Fields("open open64 creat creat64 close read write readv writev pread pwrite pread64 pwrite64 preadv pwritev " +
	"fopen fopen64 fdopen freopen fclose fread fwrite fgets fputs fseek fflush lseek lseek64 dup dup2 fsync fdatasync")

// CallName returns the name of an MPI call as CallOf has it.
func (d *Definitions) CallName(r *Region) string { return CallOf(d.Text(r.Name)) }

// CallOf returns the name of a call in lower case, without the prefix of MPI and without the parentheses that TAU writes after it.
func CallOf(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), "(")
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimRight(name, " _"), "pmpi_"), "mpi_"), "_c")
}

// IsCall reports whether a region is an MPI call with one of these names, in the form of CallName.
func (d *Definitions) IsCall(r *Region, names ...string) bool {
	return d.IsMPI(r) && slices.Contains(names, d.CallName(r))
}

// IsProbe reports whether a region is a call that blocks until a message can be
// received, and does not receive it.
func (d *Definitions) IsProbe(r *Region) bool { return d.IsCall(r, "probe", "mprobe") }

// IsSynchronous reports whether a region is a call whose send ends only when the
// receive has begun.
func (d *Definitions) IsSynchronous(r *Region) bool { return d.IsCall(r, "ssend", "issend") }

// IsExchange reports whether a region is a call that sends and receives in one, or Paraver's state for it.
func (d *Definitions) IsExchange(r *Region) bool {
	return d.IsCall(r, "sendrecv", "sendrecv_replace", "isendrecv", "isendrecv_replace", "send receive")
}

// IsTest reports whether a region is a call that completes requests if they are
// done, and does not wait.
func (d *Definitions) IsTest(r *Region) bool {
	return d.IsCall(r, "test", "testall", "testany", "testsome")
}

// looksAtRequests are the calls that ask about requests without changing them.
var looksAtRequests = []string{"request_get_status", "request_get_status_all", "request_get_status_any", "request_get_status_some"}

// Polls reports whether a region is a call that asks whether messages, requests or ends of epochs are there, without waiting for
// them. A process that waits may call it again and again.
func (d *Definitions) Polls(r *Region) bool {
	return d.IsTest(r) || d.IsCall(r, "iprobe", "improbe", "parrived", "win_test") || d.IsCall(r, looksAtRequests...)
}

// Unrecorded returns the code that counts a call of a region without a record between its enter and leave: a collective, a
// one-sided operation or its synchronisation, a file operation with data. It is 0 for other calls, which need no record.
func (d *Definitions) Unrecorded(r *Region) Code {
	class := d.Class(r)
	name := d.CallName(r)
	switch {
	case class&ClassColl != 0:
		return DiagNoCollRecord
	case class&ClassRMA != 0 && (classByName[name] != 0 || slices.Contains(synchronises, strings.TrimPrefix(name, "win_"))),
		class&ClassFileIO != 0 && (strings.Contains(name, "read") || strings.Contains(name, "write")):
		return DiagNoRecord
	}
	return 0
}

// synchronises are the calls MPI_Win_... after which one-sided operations are done, or may begin.
var synchronises = strings.Fields("fence start complete post wait test lock lock_all unlock unlock_all flush flush_all flush_local flush_local_all")

// Epoch is what a call does to an epoch of general active target synchronisation.
type Epoch uint8

// Epochs begin with MPI_Win_post and MPI_Win_start and end with MPI_Win_wait, or MPI_Win_test, and MPI_Win_complete.
const (
	EpochNone Epoch = iota
	EpochPost
	EpochStart
	EpochComplete
	EpochWait
)

// Epoch returns what a call of a region does to an epoch.
func (d *Definitions) Epoch(r *Region) Epoch {
	for e, names := range [...][]string{EpochPost: {"win_post"}, EpochStart: {"win_start"}, EpochComplete: {"win_complete"}, EpochWait: {"win_wait", "win_test"}} {
		if d.IsCall(r, names...) {
			return Epoch(e)
		}
	}
	return EpochNone
}

// TellsWaits reports whether the records of a one-sided call tell its waits. They do for synchronisation, except for calls that
// may wait for transfers, or that all share.
func (d *Definitions) TellsWaits(r *Region) bool {
	return d.IsCall(r, "win_fence", "win_post", "win_start", "win_complete", "win_wait", "win_lock")
}

// OfRequests reports whether a region is a point-to-point call that starts or completes what other calls made: messages, or
// collective operations.
func (d *Definitions) OfRequests(r *Region) bool {
	return d.IsTest(r) || d.IsCall(r, "wait", "waitall", "waitany", "waitsome", "start", "startall", "cancel", "test_cancelled") ||
		d.IsCall(r, looksAtRequests...)
}

// StartsMPI reports whether a region is MPI_Init or MPI_Init_thread.
func (d *Definitions) StartsMPI(r *Region) bool { return d.IsCall(r, "init", "init_thread") }

// EndsMPI reports whether a region is MPI_Finalize.
func (d *Definitions) EndsMPI(r *Region) bool { return d.IsCall(r, "finalize") }

// StartsProcesses reports whether a region is a call that starts other processes.
func (d *Definitions) StartsProcesses(r *Region) bool {
	return d.IsCall(r, "comm_spawn", "comm_spawn_multiple")
}

// roleClasses are the roles of MPI calls, of classes with a role the most special first.
var roleClasses = [...]struct {
	role  RegionRole
	class CallClass
}{
	{RoleBarrier, ClassColl | ClassBarrier},
	{RoleCollOneToAll, ClassColl | ClassOneToN},
	{RoleCollAllToOne, ClassColl | ClassNToOne},
	{RoleCollAllToAll, ClassColl | ClassNxN},
	{RoleCollOther, ClassColl},
	{RoleFileIO, ClassFileIO},
	{RoleFileIOMetadata, ClassFileIO},
	{RoleRMA, ClassRMA},
	{RolePointToPoint, ClassP2P},
}

func classByRole(r RegionRole) CallClass {
	for _, x := range roleClasses {
		if x.role == r {
			return x.class
		}
	}
	return ClassManagement
}

// Role returns the role of MPI calls of a class.
func (c CallClass) Role() RegionRole {
	for _, x := range roleClasses {
		if c&x.class == x.class {
			return x.role
		}
	}
	return RoleFunction
}

func classByPrefix(name string) CallClass {
	switch {
	case strings.HasPrefix(name, "file_"):
		return ClassFileIO
	case strings.HasPrefix(name, "win_"):
		return ClassRMA
	case strings.HasPrefix(name, "i"):
		// MPI_I<collective>: initiation of a non-blocking collective
		if c, ok := classByName[name[1:]]; ok && c&ClassColl != 0 {
			return c | ClassStart
		}
	}
	return 0
}

// classByName holds the calls of MPI 4.1 by lower-case name without prefix.
var classByName = ByName(map[CallClass]string{
	ClassP2P: "send bsend ssend rsend recv mrecv sendrecv sendrecv_replace probe iprobe mprobe improbe " +
		"wait waitall waitany waitsome test testall testany testsome cancel test_cancelled " +
		"request_get_status request_get_status_all request_get_status_any request_get_status_some " +
		"send_init bsend_init ssend_init rsend_init recv_init psend_init precv_init pready pready_range pready_list parrived",
	ClassP2P | ClassStart:    "isend ibsend issend irsend irecv imrecv isendrecv isendrecv_replace start startall",
	ClassColl | ClassBarrier: "barrier",
	ClassColl | ClassOneToN:  "bcast scatter scatterv",
	ClassColl | ClassNToOne:  "reduce gather gatherv",
	ClassColl | ClassPrefix:  "scan exscan",
	ClassColl | ClassNxN: "allreduce allgather allgatherv alltoall alltoallv alltoallw reduce_scatter reduce_scatter_block " +
		"neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw",
	ClassRMA:                    "put get accumulate get_accumulate fetch_and_op compare_and_swap rput rget raccumulate rget_accumulate",
	ClassFileIO:                 "register_datarep",
	ClassManagement | ClassInit: "init init_thread finalize",
})

// CollectiveOps are the names of collective operations, by their numbers: the OTF2 enumeration CollectiveOp.
var CollectiveOps = strings.Fields("BARRIER BCAST GATHER GATHERV SCATTER SCATTERV ALLGATHER ALLGATHERV ALLTOALL ALLTOALLV ALLTOALLW " +
	"ALLREDUCE REDUCE REDUCE_SCATTER SCAN EXSCAN REDUCE_SCATTER_BLOCK CREATE_HANDLE DESTROY_HANDLE ALLOCATE DEALLOCATE " +
	"CREATE_HANDLE_AND_ALLOCATE DESTROY_HANDLE_AND_DEALLOCATE")

// CollectiveName returns the name of a collective operation, and "INVALID <N>" for a number that is not defined: such are kept, never
// rejected.
func CollectiveName(op uint64) string {
	switch {
	case op < uint64(len(CollectiveOps)):
		return CollectiveOps[op]
	case op >= firstOnFile && op-firstOnFile < uint64(len(onFiles)):
		return "FILE_" + strings.ToUpper(onFiles[op-firstOnFile])
	case op >= firstOnWindow && op-firstOnWindow < uint64(len(onWindows)):
		return "WIN_" + strings.ToUpper(onWindows[op-firstOnWindow])
	}
	return fmt.Sprintf("INVALID <%d>", op)
}

// CollectiveClass returns the class of a collective operation. Operations on communicators, files and windows belong to no subset
// of the collectives: who waits for whom is known only for those of MayMeet.
func CollectiveClass(op uint32) CallClass {
	if op < uint32(len(collectiveClasses)) {
		return collectiveClasses[op]
	}
	return ClassColl
}

// collectiveClasses are those of CollectiveOps.
var collectiveClasses = func() (list []CallClass) {
	for _, op := range CollectiveOps {
		list = append(list, ClassColl|classByName[strings.ToLower(op)])
	}
	return list
}()

// CreatesHandle reports whether a collective operation makes a communicator, window or
// file, on which all members have to agree: nobody leaves before the last one enters.
func CreatesHandle(op uint32) bool {
	const create, createAndAllocate = 17, 21
	return op == create || op == createAndAllocate
}

// onFiles are the collective operations on files. OTF2 has no numbers for them: theirs begin with firstOnFile.
var onFiles = strings.Fields("open close read write sync set_view seek_shared set_size preallocate set_atomicity set_info")

// onWindows are the collective operations on windows. RmaCollectiveEnd gives them numbers that mean other operations elsewhere.
var onWindows = strings.Fields("fence create free")

const (
	firstOnFile   = 0xf0
	firstOnWindow = 0xfc
)

// OnWindow returns the number of the collective operation on a window that a record says, false for others.
func OnWindow(op uint64) (uint32, bool) {
	const barrier, create, destroy, createAndAllocate, destroyAndDeallocate = 0, 17, 18, 21, 22
	switch op {
	case barrier:
		return firstOnWindow, true
	case create, createAndAllocate:
		return firstOnWindow + 1, true
	case destroy, destroyAndDeallocate:
		return firstOnWindow + 2, true
	}
	return 0, false
}

// RecordedOp is the number that rows have for the collective operation of a record. Undefined numbers from firstOnFile on become
// firstOnFile-1.
func RecordedOp(op uint64) uint32 { return uint32(min(op, firstOnFile-1)) }

// OnFile returns the number of the collective operation that a call on a file is, and false for other calls. A split operation
// counts at the call that begins it.
func (d *Definitions) OnFile(r *Region) (op uint32, ok bool) {
	name, ok := strings.CutPrefix(d.CallName(r), "file_")
	if !ok || !d.IsMPI(r) {
		return 0, false
	}
	if base, moves := strings.CutSuffix(strings.TrimSuffix(name, "_begin"), "_all"); moves {
		name = strings.TrimSuffix(base, "_at")
	} else if base, moves = strings.CutSuffix(base, "_ordered"); moves {
		name = base
	} else if name == "read" || name == "write" {
		return 0, false
	}
	i := slices.Index(onFiles, name)
	if i < 0 {
		return 0, false
	}
	return firstOnFile + uint32(i), true
}

// Unnumbered reports whether a collective operation is one of OnFile or OnWindow: OTF2 has no numbers for them.
func Unnumbered(op uint32) bool { return op >= firstOnFile }

// MayMeet reports whether it depends on the MPI library that all members enter a collective operation before any of them leaves:
// it makes a handle, or is on a file or a window. The evidence is then that nobody left before the last one entered.
func MayMeet(op uint32) bool { return CreatesHandle(op) || Unnumbered(op) }

// SetsClock reports whether a collective operation, completed in a call of region, implies that its members cannot leave before
// others have entered. With alltoallv and alltoallw a member may get nothing from the last one that enters. Init makes handles
// without waiting, and so do calls that do not block.
func (d *Definitions) SetsClock(op, region uint32, blocking bool) bool {
	const alltoallv, alltoallw = 9, 10
	if CreatesHandle(op) {
		return blocking && d.Class(d.Region(region))&ClassInit == 0
	}
	return CollectiveClass(op)&^ClassColl != 0 && op != alltoallv && op != alltoallw
}

// ByName inverts lists of names, separated by blanks: it maps each name to the key of its list.
func ByName[V comparable](lists map[V]string) map[string]V {
	m := make(map[string]V)
	for v, names := range lists {
		for _, name := range strings.Fields(names) {
			m[name] = v
		}
	}
	return m
}
