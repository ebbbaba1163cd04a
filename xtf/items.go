package xtf

import "fmt"

// Item is one component of an interval on one process (COMP rows) and over all
// processes (STAT rows). Numbers are stored in files and never reused.
type Item uint32

// Items of a node; node 0 is the whole program. Times are ticks, sizes bytes. ItemEvents, ItemFirst and
// ItemLast are of node 0 only.
const (
	ItemTime          Item = 0 // first to last event
	ItemMPI           Item = 1 // in outermost MPI calls
	ItemMarker        Item = 2 // in interval markers
	ItemIO            Item = 3 // in I/O outside MPI
	ItemCPU           Item = 4 // time - AsideItems
	ItemP2P           Item = 5 // MPI by class
	ItemColl          Item = 6
	ItemNxN           Item = 7
	ItemBarrier       Item = 8
	ItemFileIO        Item = 9
	ItemRMA           Item = 10
	ItemManagement    Item = 11
	ItemComm          Item = 12 // P2P + collective + RMA
	ItemStart         Item = 13 // initiating non-blocking work
	ItemSendRecv      Item = 14 // message spans: enter of the send to leave of the receive
	ItemPotentialSync Item = 15 // potential synchronisation loss
	ItemVariation     Item = 16 // time variation of collectives
	ItemEvents        Item = 17
	ItemCalls         Item = 18
	ItemSends         Item = 19
	ItemReceives      Item = 20
	ItemBytesOut      Item = 21
	ItemBytesIn       Item = 22
	ItemCollectives   Item = 23
	ItemCollOut       Item = 24
	ItemCollIn        Item = 25
	ItemFirst         Item = 26 // first event
	ItemLast          Item = 27 // last event

	ItemExecutions        Item = 28 // of the interval
	ItemLateSender        Item = 29 // waits by pattern
	ItemLateSenderSame    Item = 30 // subset of late sender: wrong order, same source
	ItemLateSenderOther   Item = 31 // subset of late sender: wrong order, different source
	ItemLateReceiver      Item = 32
	ItemWaitBarrier       Item = 33
	ItemBarrierCompletion Item = 34
	ItemWaitNxN           Item = 35
	ItemNxNCompletion     Item = 36
	ItemLateBroadcast     Item = 37
	ItemEarlyReduce       Item = 38
	ItemEarlyScan         Item = 39
	ItemWaitCount         Item = 40 // WAIT rows
	ItemOverlap           Item = 41 // CPU time while a request is open
	ItemIdeal             Item = 42 // executions replayed on the ideal network
	ItemIdealFirst        Item = 43 // first begin in that replay
	ItemIdealLast         Item = 44 // last end in that replay
	ItemCriticalCPU       Item = 45 // critical path by activity
	ItemCriticalMPI       Item = 46
	ItemCriticalIO        Item = 47
	ItemCriticalMarker    Item = 48

	// ItemThreadTime and the three after it are ticks of all threads together, of processes with several threads and parallel regions.
	ItemThreadTime       Item = 49 // outside of MPI calls of the first thread, and in parallel regions
	ItemThreadSerial     Item = 50 // other threads idle outside of parallel regions
	ItemThreadImbalance  Item = 51 // threads idle longer than the busiest one of a parallel region
	ItemThreadScheduling Item = 52 // what even the busiest one idles, for all threads
	ItemLateProgress     Item = 53 // waits by pattern, as from ItemLateSender on

	ItemDeviceCall Item = 54 // outside MPI in the runtime of a device, which 55 is not a part of
	ItemDeviceWait Item = 55 // outside MPI in calls that wait for a device
	ItemLockWait   Item = 56 // outside MPI in calls that wait for a lock or a critical section
	ItemOverhead   Item = 57 // outside MPI in what the measurement did
	ItemSetup      Item = 58 // part of management: Init and Finalize
	ItemMeasured   Item = 59 // time - set-up
	ItemThreadWait Item = 60 // part of CPU: in calls that wait for what other threads do

	ItemLatePost       Item = 61 // waits by pattern, as from ItemLateSender on; these are for synchronisation of windows
	ItemEarlyWait      Item = 62
	ItemLockContention Item = 63
	ItemPolling        Item = 64 // part of CPU: between two calls that ask for messages one after the other, the first in vain
	ItemLateKernel     Item = 65 // a wait as from ItemLateSender on, of a host for a device, outside MPI
	NumItems           Item = 66
)

// itemNames are the names in reports and in the file's table of names.
var itemNames = [NumItems]string{
	"time", "mpi", "marker", "io", "cpu", "p2p", "collective_all", "all_to_all", "barrier", "mpi_io", "rma", "mgmt",
	"comm", "t_start", "send_recv", "potent_sync", "time_variation", "events", "calls", "sends", "receives",
	"bytes_out", "bytes_in", "collectives", "coll_bytes_out", "coll_bytes_in", "first_event", "last_event",
	"executions", "late_sender", "late_sender_wrong_order_same", "late_sender_wrong_order_different", "late_receiver",
	"wait_barrier", "barrier_completion", "wait_nxn", "nxn_completion", "late_broadcast", "early_reduce", "early_scan",
	"wait_count", "overlap", "ideal", "ideal_first", "ideal_last",
	"critical_cpu", "critical_mpi", "critical_io", "critical_marker",
	"thread_time", "thread_serial", "thread_imbalance", "thread_scheduling", "late_progress",
	"device_call", "device_wait", "lock_wait", "overhead", "setup", "measured", "thread_wait",
	"late_post", "early_wait", "lock_contention", "polling", "late_kernel",
}

// String returns the item's name.
func (i Item) String() string {
	if i < NumItems {
		return itemNames[i]
	}
	return "unknown"
}

// NeedsPartners reports whether the item compares the two sides of messages or
// the members of collectives, or is known only where rows are kept.
func (i Item) NeedsPartners() bool {
	return i >= ItemSendRecv && i <= ItemVariation || i >= ItemLateSender && i <= ItemThreadScheduling && i != ItemOverlap || i >= ItemLatePost && i <= ItemLockContention || i == ItemLateKernel
}

// Adds reports whether the item of a process is the sum over its locations: counts
// and what concerns single messages, and the critical path. Other items are those of
// the first location that executed the node; so are waits, which are a part of its
// time in MPI.
func (i Item) Adds() bool {
	return i >= ItemSendRecv && i <= ItemCollIn || i >= ItemCriticalCPU && i <= ItemThreadScheduling
}

// Kinds of file sections and region blobs next to rows.
const (
	KindDetails uint32 = 7 // blob: texts of the location's DIAG rows, each a length and its bytes
	KindNames   uint32 = 8 // section: the names after numbers in rows, one per line

	KindNodeNames uint32 = 9 // section: names and files of intervals, each a length and its bytes
)

// DiagTotal in DIAG.detail marks the row with a code's total; other values are
// 0 for no text, or 1 + the offset of the text in the blob KindDetails.
const DiagTotal uint32 = 0xFFFFFFFF

// classNames are the names of the bits of CALL.class, lowest first.
var classNames = [...]string{
	"mpi", "p2p", "start", "collective", "all_to_all", "barrier", "mpi_io", "rma", "mgmt", "one_to_n", "n_to_one", "prefix", "io", "init",
}

// Names returns the names of items and classes as lines "kind number name", so
// that a file explains itself.
func Names() []byte {
	var b []byte
	for i := range NumItems {
		b = fmt.Appendf(b, "item %d %s\n", i, i)
	}
	for i, n := range classNames {
		b = fmt.Appendf(b, "class %d %s\n", 1<<i, n)
	}
	return b
}
