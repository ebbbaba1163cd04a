package synthetic

import "github.com/coppice-hpc/coppice/trace"

// Region references. They are the same in every program.
const (
	rMain uint32 = iota
	rStep
	rBroken
	rInit
	rFinalize
	rSend
	rSsend
	rRecv
	rIsend
	rIrecv
	rSendrecv
	rWait
	rWaitall
	rBarrier
	rBcast
	rReduce
	rGather
	rScatter
	rAllreduce
	rAllgather
	rAlltoall
	rScan
	rIbarrier
	rIbcast
	rIallreduce
	rParallel
	rFor
	rImplicitBarrier
	rWrite
	rUser // the first of the nested user functions
)

// dangling is a reference that no definition has.
const dangling = 999_999

type regionInfo struct {
	name     string
	role     trace.RegionRole
	paradigm trace.ParadigmID
	class    trace.CallClass // what the program means; tests compare it with trace.Class
}

// Region returns role and paradigm of a region that programs have, by its name.
func Region(name string) (role trace.RegionRole, paradigm trace.ParadigmID, ok bool) {
	for _, r := range regionTable() {
		if r.name == name {
			return r.role, r.paradigm, true
		}
	}
	return 0, 0, false
}

func regionTable() []regionInfo {
	const (
		mpi, user, omp = trace.ParadigmMPI, trace.ParadigmCompiler, trace.ParadigmOpenMP
		p2p            = trace.ClassMPI | trace.ClassP2P
		start          = p2p | trace.ClassStart
		coll           = trace.ClassMPI | trace.ClassColl
		nxn            = coll | trace.ClassNxN
		oneToN         = coll | trace.ClassOneToN
		nToOne         = coll | trace.ClassNToOne
		init           = trace.ClassMPI | trace.ClassManagement | trace.ClassInit
	)
	return []regionInfo{
		rMain:            {"main", trace.RoleFunction, user, 0},
		rStep:            {"timestep", trace.RoleFunction, user, 0},
		rBroken:          {"broken", trace.RoleFunction, user, 0},
		rInit:            {"MPI_Init", trace.RoleFunction, mpi, init},
		rFinalize:        {"MPI_Finalize", trace.RoleFunction, mpi, init},
		rSend:            {"MPI_Send", trace.RolePointToPoint, mpi, p2p},
		rSsend:           {"MPI_Ssend", trace.RolePointToPoint, mpi, p2p},
		rRecv:            {"MPI_Recv", trace.RolePointToPoint, mpi, p2p},
		rIsend:           {"MPI_Isend", trace.RolePointToPoint, mpi, start},
		rIrecv:           {"MPI_Irecv", trace.RolePointToPoint, mpi, start},
		rSendrecv:        {"MPI_Sendrecv", trace.RolePointToPoint, mpi, p2p},
		rWait:            {"MPI_Wait", trace.RolePointToPoint, mpi, p2p},
		rWaitall:         {"MPI_Waitall", trace.RolePointToPoint, mpi, p2p},
		rBarrier:         {"MPI_Barrier", trace.RoleBarrier, mpi, coll | trace.ClassBarrier},
		rBcast:           {"MPI_Bcast", trace.RoleCollOneToAll, mpi, oneToN},
		rReduce:          {"MPI_Reduce", trace.RoleCollAllToOne, mpi, nToOne},
		rGather:          {"MPI_Gather", trace.RoleCollAllToOne, mpi, nToOne},
		rScatter:         {"MPI_Scatter", trace.RoleCollOneToAll, mpi, oneToN},
		rAllreduce:       {"MPI_Allreduce", trace.RoleCollAllToAll, mpi, nxn},
		rAllgather:       {"MPI_Allgather", trace.RoleCollAllToAll, mpi, nxn},
		rAlltoall:        {"MPI_Alltoall", trace.RoleCollAllToAll, mpi, nxn},
		rScan:            {"MPI_Scan", trace.RoleCollOther, mpi, coll | trace.ClassPrefix},
		rIbarrier:        {"MPI_Ibarrier", trace.RoleBarrier, mpi, coll | trace.ClassBarrier | trace.ClassStart},
		rIbcast:          {"MPI_Ibcast", trace.RoleCollOneToAll, mpi, oneToN | trace.ClassStart},
		rIallreduce:      {"MPI_Iallreduce", trace.RoleCollAllToAll, mpi, nxn | trace.ClassStart},
		rParallel:        {"!$omp parallel @solver.c:41", trace.RoleParallel, omp, 0},
		rFor:             {"!$omp for @solver.c:42", trace.RoleLoop, omp, 0},
		rImplicitBarrier: {"!$omp implicit barrier @solver.c:60", trace.RoleImplicitBarrier, omp, 0},
		rWrite:           {"write", trace.RoleFileIO, trace.ParadigmUnknown, trace.ClassIO},
	}
}

// Values of the CollectiveOp enumeration.
const (
	opBarrier      = 0
	opBcast        = 1
	opGather       = 2
	opScatter      = 4
	opAllgather    = 6
	opAlltoall     = 8
	opAllreduce    = 11
	opReduce       = 12
	opScan         = 14
	opCreateHandle = 17
)

// Communicators of every program; a program's own follow, then thread teams.
const (
	commWorld uint32 = iota
	commSelf
	commOwn
)

// noRoot is the root of a collective that has none.
const noRoot = trace.Undefined
