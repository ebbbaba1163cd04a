package findings

import (
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// FindingFacts are the facts that conditions of the table of advice are about.
type FindingFacts struct {
	pattern     string // of waits
	path        uint32 // of waits: the call path with most of the time
	Region      string // the call
	Activity    string // of the cause
	causeRegion uint32
	causeNode   uint32
	SameSource  bool // wrong order: most of the time is in messages of one source
	threads     bool
	scheduling  bool     // of threads: most of the time even the busiest thread is idle
	item        xtf.Item // of a component that is a loss by itself
	outside     bool     // work outside of recorded calls
	Uneven      bool
	Even        bool          // over the run no process computes much more than the others
	Busy        bool          // the process that makes others wait computes nearly all the time
	inTurn      string        // text that says that processes compute one after another, "" if they do not
	ofActivity  numbers.Ratio // of waits: the share of the cause's activity, over all places
	fromSetup   bool          // the cause is a call of set-up
	OtherCall   bool          // the cause is a call of another function than the one in which others wait
	often       bool          // a process makes many collective calls with few bytes each
	heavy       bool          // the process that makes others wait moves more bytes than others
	seldom      lateness      // the process that makes others wait does so in few of many calls
	starved     bool          // the process that makes others wait, or loses most, has no processor for half of its computing
	known       known         // other facts about the cause
	untilLast   bool          // the process that makes others wait in a call of MPI mostly waits there itself, for the last member
	bound       bool          // to processors that others may not use
}

// known is a further fact about a cause.
type known uint8

const (
	aheadOfReceive known = iota + 1 // sends: most of the time the receive of the message has not begun
	whileComputing                  // messages: the process computes during their transfer
	againAndAgain                   // a process makes the call more than once, on average
	behindLocks                     // threads: one waits for locks for at least half of the loss
	inTasks                         // threads: they work in tasks
	inSingle                        // threads: they wait for one in a single construct
	withoutLoop                     // threads: the trace has no loop and no sections in parallel regions
	inOwnCode                       // of a hang: processes in no MPI call
	allSend                         // of a hang: all processes are in blocking sends
	nobodyMissing                   // of a hang: every process is in a call, and every member of a collective in it
	unlikeMembers                   // of a hang, or of clocks: members of a collective differ
	neverTaken                      // of a hang: a message to a process that may wait for one
	receivedLater                   // messages: many that were sent earlier are received later
)

// adviceRow is advice about findings of some kinds, in some calls, under a condition.
type adviceRow struct {
	Kind  string // words
	calls string // words; "" for all
	when  func(x *FindingFacts) bool
	Text  string
}

// makers are calls that make an object on which all members agree.
const makers = "MPI_Comm_dup MPI_Comm_dup_with_info MPI_Comm_split MPI_Comm_split_type MPI_Comm_create MPI_Cart_create MPI_Cart_sub MPI_Graph_create " +
	"MPI_Dist_graph_create MPI_Dist_graph_create_adjacent MPI_Comm_create_group MPI_Intercomm_create MPI_Intercomm_merge MPI_Win_create MPI_Win_allocate MPI_Win_allocate_shared MPI_Win_create_dynamic MPI_Win_free"

// completers are calls that complete non-blocking sends.
const completers = "MPI_Wait MPI_Waitall MPI_Waitany MPI_Waitsome"

// deviceSetup are calls that begin and end the use of a device.
const deviceSetup = "cuInit cuCtxCreate cuCtxCreate_v2 cuCtxDestroy cuCtxDestroy_v2 cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease cuDevicePrimaryCtxReset " +
	"cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary cudaSetDevice cudaDeviceReset hipInit hipSetDevice hipDeviceReset hipModuleLoad hipModuleLoadData " +
	"clGetPlatformIDs clCreateContext clCreateContextFromType clReleaseContext clCreateProgramWithSource clBuildProgram acc_init"

// AdviceTable is all advice. The first row that matches counts; if none does, there is no advice. docs/metrics.md explains the
// conditions.
var AdviceTable = []adviceRow{
	{"late_sender barrier_wait nxn_wait imbalance", "", func(x *FindingFacts) bool { return x.seldom == lateRegularly }, "look at what the process that makes others wait does before these calls and before no other"},
	{"late_sender barrier_wait nxn_wait imbalance", "", func(x *FindingFacts) bool { return x.seldom == lateSeldom }, "look at what the process that makes others wait does in these steps and in no other, or what else runs on its processor then"},
	{"late_sender wrong_order late_receiver late_progress late_broadcast late_post early_wait", "", func(x *FindingFacts) bool { return x.Busy }, "give the process that is late less to do: it is busy nearly all the time, and another order of its calls gains little"},
	{KindLateSender, "", func(x *FindingFacts) bool { return x.Activity == "cpu" && x.Even && x.inTurn == "" }, "send earlier, or balance each step: over the run no process computes much more than the others"},
	{KindLateSender, "", func(x *FindingFacts) bool { return x.Activity == "cpu" && x.Even }, "send earlier, or let all compute at the same time: over the run no process computes much more than the others"},
	{KindLateSender, "", func(x *FindingFacts) bool { return x.Activity == "cpu" }, "send earlier, or give the sender less to compute before"},
	{KindLateSender, "", func(x *FindingFacts) bool { return x.Activity == "io" }, "read or write after the message is sent"},
	{"late_sender barrier_wait nxn_wait", "", func(x *FindingFacts) bool { return x.Activity == "kernel" }, "give the device of the process that is late less to compute, or let the host go on before it waits for it"},
	{KindWrongOrder, "", func(x *FindingFacts) bool { return x.SameSource }, "receive in the order of sending; that saves no more than the time between the two sends"},
	{KindWrongOrder, "", nil, "receive from any source, or in the order of arrival"},
	{"late_receiver", "", func(x *FindingFacts) bool { return x.Activity == "cpu" && x.Even && x.inTurn == "" }, "post the receive before the sender needs it, or balance each step: over the run no process computes much more than the others"},
	{"late_receiver", completers, nil, "post the receive before the sender needs it, or complete the send later"},
	{"late_receiver", "", nil, "post the receive before the sender needs it, or send without blocking"},
	{"late_progress", "", nil, "enter MPI during the computation (MPI_Test), or use a progress thread"},
	{"late_post", "", nil, "post the window before the origin needs it, or give the target less to compute before"},
	{"early_wait", "", nil, "complete the epoch earlier, or give the target something to do before it waits"},
	{"lock_contention", "", nil, "hold the lock for a shorter time, or use atomic operations under shared locks"},
	{kindInterruptions, "", func(x *FindingFacts) bool { return x.starved }, "look at what else runs on this host: other programs, or threads of the program that are not recorded"},
	{kindInterruptions, "", nil, "keep other programs off the processor of that process, or leave one processor of its host free for them"},
	{"late_sender barrier_wait nxn_wait small_messages long_messages transfer", "", func(x *FindingFacts) bool { return x.known == receivedLater }, "receive messages in the order in which they are sent, or begin to receive before they come: MPI looks through all that wait"},
	{KindTransfer, makers, func(x *FindingFacts) bool { return x.known == againAndAgain }, "make the communicator or window once and keep it"},
	{kindBarrier, makers, func(x *FindingFacts) bool { return !x.fromSetup }, "make the communicator or window once and keep it, or balance the work before"},
	{"late_broadcast barrier_wait nxn_wait", "", func(x *FindingFacts) bool { return x.untilLast }, "balance the work before the call that makes others wait: its process waits there for the member that comes last"},
	{kindBarrier, "", func(x *FindingFacts) bool { return x.Activity == "cpu" && x.onFile() }, "balance the work before the operation on the file, or use one that is not collective"},
	{kindBarrier, "", func(x *FindingFacts) bool { return x.Activity == "cpu" && x.Even }, "drop the barrier if nothing needs it, or balance each step: over the run no process computes much more than the others"},
	{kindBarrier, "", func(x *FindingFacts) bool { return x.Activity == "cpu" }, "balance the work before the barrier, or drop the barrier if nothing needs it"},
	{"barrier_wait nxn_wait", "", func(x *FindingFacts) bool { return x.Activity == "mpi" && !x.fromSetup && x.OtherCall }, "make the calls shorter in which the process is that makes others wait"},
	{kindBarrier, "", func(x *FindingFacts) bool { return x.Activity == "mpi" && !x.fromSetup && !x.onFile() }, "drop the barrier if nothing needs it"},
	{kindNxN, "", func(x *FindingFacts) bool { return x.Activity == "cpu" && x.Even }, "balance each step, or let processes meet less often: over the run no process computes much more than the others"},
	{"nxn_wait early_scan", "", func(x *FindingFacts) bool { return x.Activity == "cpu" }, "balance the work before the operation"},
	{kindNxN, "", func(x *FindingFacts) bool { return x.heavy }, "deal out more evenly what processes send and receive"},
	{"late_broadcast", "", func(x *FindingFacts) bool { return x.Activity == "cpu" }, "move the operation up, or the root's work after it"},
	{"early_reduce", "", nil, "let the root compute before the reduction, it waits for all others"},
	{kindImbalance, "", func(x *FindingFacts) bool { return x.outside }, "instrument the program's functions to see where, then deal out the work more evenly"},
	{kindImbalance, "", nil, "deal out the work more evenly"},
	{kindSerial, "", func(x *FindingFacts) bool { return x.threads }, "make more of the code parallel"},
	{kindSerial, "", func(x *FindingFacts) bool { return x.inTurn != "" }, "let the processes compute at the same time, or give them something else to do meanwhile"},
	{kindSerial, "", func(x *FindingFacts) bool { return !x.threads }, "give the other processes a part of it, or something else to do meanwhile"},
	{kindPolling, "", nil, "if these processes have nothing to do meanwhile, they wait there: give the process that computes most less to do, or let it answer earlier"},
	{kindTrend, "", nil, "look at what grows from execution to execution: data that is kept, lists that are searched, or the problem itself"},
	{KindIO, "", func(x *FindingFacts) bool { return x.inTurn != "" }, "let the processes read and write at the same time"},
	{KindIO, "", func(x *FindingFacts) bool { return x.Uneven }, "read and write on all processes evenly"},
	{KindIO, "MPI_File_write_at MPI_File_read_at MPI_File_write MPI_File_read MPI_File_iwrite MPI_File_iread", nil, "read or write more at once, or with a collective call where all processes take part"},
	{"small_messages nxn_wait", "", func(x *FindingFacts) bool { return x.often }, "let processes meet less often, or join operations that follow each other"},
	{"small_messages long_messages transfer", "", func(x *FindingFacts) bool { return x.known == aheadOfReceive }, "begin to receive earlier: until then the sends may wait for room in buffers"},
	{KindSmallMessages, "", nil, "join messages to the same process"},
	{kindLongMessages, "", func(x *FindingFacts) bool { return x.heavy }, "deal out more evenly what processes send and receive"},
	{kindLongMessages, "", func(x *FindingFacts) bool { return x.known == whileComputing }, "send less; MPI may move messages only while it is called: try MPI_Test in the computation, or a progress thread, which gain little within a host"},
	{kindLongMessages, "", nil, "send less, or compute while messages are on their way"},
	{kindThreadImbalance, "", func(x *FindingFacts) bool { return x.known == behindLocks }, "hold locks for a shorter time first: a thread that waits for one comes later to the barrier"},
	{kindThreadImbalance, "", func(x *FindingFacts) bool { return x.known == inTasks }, "cut the longest tasks into smaller ones, or create them first"},
	{kindThreadImbalance, "", func(x *FindingFacts) bool { return x.known == inSingle }, "let more threads do what single constructs have, or go on meanwhile (nowait)"},
	{kindThreadImbalance, "", func(x *FindingFacts) bool { return x.Region == posixBarrier || !x.scheduling && x.known == withoutLoop }, "give the threads equal work between their barriers"},
	{kindThreadImbalance, "", func(x *FindingFacts) bool { return !x.scheduling }, "deal out the iterations of parallel loops, or the work of sections, more evenly"},
	{kindThreadImbalance, "", func(x *FindingFacts) bool { return x.scheduling }, "give the threads equal work between their barriers, or make parallel regions longer, or fewer"},
	{kindLockWait, "", func(x *FindingFacts) bool { return strings.Contains(x.Region, "omp ordered") }, "do less in ordered sections, or drop the order if nothing needs it"},
	{kindLockWait, "", nil, "hold the lock for a shorter time, or give threads data of their own"},
	{kindThreadWait, "", nil, "give the threads that wait a part of what the others do, or something else to do meanwhile"},
	{kindOverhead, "", func(x *FindingFacts) bool { return x.scheduling }, "deal out more iterations at once, as with schedule(dynamic,100), or with schedule(static) where all take equally long"},
	{kindOverhead, "", func(x *FindingFacts) bool { return x.item == xtf.ItemMarker }, "mark fewer intervals: they are too fine"},
	{kindDeviceIdle, "", func(x *FindingFacts) bool { return x.Activity == otherDevice }, "launch work on all devices before the host waits for one"},
	{kindDeviceIdle, "", func(x *FindingFacts) bool { return x.Activity == "transfer_call" }, "transfer without blocking, next to kernels"},
	{kindDeviceIdle, deviceSetup, func(x *FindingFacts) bool { return x.Activity == "device_call" }, "set devices up once, next to what else the program sets up; a longer run spends no more on it"},
	{kindDeviceIdle, "", func(x *FindingFacts) bool { return x.Activity == "device_call" }, "keep memory of devices and use it again"},
	{kindDeviceIdle, "", func(x *FindingFacts) bool { return x.Activity == "launch" }, "launch fewer and longer kernels, or several at once"},
	{kindDeviceIdle, "", func(x *FindingFacts) bool { return x.Activity == "cpu" }, "launch before the host computes, or compute on the device"},
	{kindDeviceImbalance, "", nil, "deal out the work of devices more evenly"},
	{kindDeviceCollective, "", nil, "give the late device less work before the collective, or launch it earlier there"},
	{kindDeviceTransfer, "", nil, "transfer in a stream of its own while kernels run, or less"},
	{KindOversubscription, "", func(x *FindingFacts) bool { return x.threads }, "start fewer threads, or let the processes use more processors"},
	{KindOversubscription, "", func(x *FindingFacts) bool { return x.bound }, "bind each process to a processor of its own"},
	{KindOversubscription, "", nil, "start fewer processes, or take more hosts"},
	{kindHang, "", func(x *FindingFacts) bool { return x.known == neverTaken }, "look whether a process waits for that message with another tag, communicator or source, or else at the calls on the processes that did not come"},
	{"hang clock", "", func(x *FindingFacts) bool { return x.known == unlikeMembers }, "let all processes call the same collective operations in the same order, with the same root: what follows one that differs is paired wrongly"},
	{kindHang, "", func(x *FindingFacts) bool { return x.known == allSend }, "let one process of each pair receive first, or use MPI_Sendrecv, or send without blocking: each waits for its receiver"},
	{kindHang, "", func(x *FindingFacts) bool { return x.known == inOwnCode }, "look at what the processes in no MPI call do, as with a debugger or coppice record --sample, or why they ended"},
	{kindHang, "", func(x *FindingFacts) bool { return x.known == nobodyMissing }, "look at what these calls wait for: every process is in one"},
	{kindHang, "", nil, "look at the calls on the processes that did not come"},
	{kindAbort, "MPI_Abort", nil, "look at why the program calls MPI_Abort there"},
	{kindAbort, "", nil, "look at why these processes end, and what the program printed then"},
	{KindClock, "", nil, "analyze with --clock-repair"},
}

// onFile reports whether the call is a collective operation on a file.
func (x *FindingFacts) onFile() bool { return strings.HasPrefix(trace.CallOf(x.Region), "file_") }

// calls reports whether the call has that name, in the spelling of any writer.
func (x *FindingFacts) calls(name string) bool { return trace.CallOf(name) == trace.CallOf(x.Region) }

// Advice returns the text of the first row that matches, "" for none.
func Advice(kind string, x *FindingFacts) string {
	if x.starved && kind != kindInterruptions {
		return "let the process that computes longest have a processor first: its time tells little about its work"
	}
	for i := range AdviceTable {
		row := &AdviceTable[i]
		if slices.Contains(strings.Fields(row.Kind), kind) && (row.calls == "" || slices.ContainsFunc(strings.Fields(row.calls), x.calls)) && (row.when == nil || row.when(x)) {
			return row.Text
		}
	}
	return ""
}
