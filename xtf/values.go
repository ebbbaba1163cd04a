package xtf

// Bits of CALL.class and TIMEBIN.class. Subsets have their own bit next to the
// class they belong to (START next to P2P or COLL); 0 is the program's own code.
const (
	ClassMPI     uint32 = 1 << iota // any MPI call
	ClassP2P                        // point-to-point, its waits, tests and probes
	ClassStart                      // subset: initiates without waiting
	ClassColl                       // collective, barrier included
	ClassNxN                        // subset of ClassColl: all to all
	ClassBarrier                    // subset of ClassColl
	ClassMPIIO                      // MPI_File_*
	ClassRMA                        // one-sided
	ClassMgmt                       // Init, Finalize, groups, types, the rest
	ClassOneToN                     // subset of ClassColl: Bcast, Scatter
	ClassNToOne                     // subset of ClassColl: Reduce, Gather
	ClassPrefix                     // subset of ClassColl: Scan, Exscan
	ClassIO                         // file input and output outside MPI
	ClassInit                       // subset of ClassMgmt: Init and Finalize
)

// Bits of CALL.flags.
const (
	FlagOutermostMPI        uint32 = 1 << iota // an MPI call not inside another one
	FlagMarker                                 // part of an interval marker
	FlagCut                                    // the trace has no leave: End is the last event
	FlagOutermostIO                            // ClassIO; this and what follows: outside of MPI and of other such calls
	FlagOutermostDeviceCall                    // of a device's runtime
	FlagOutermostDeviceWait                    // for a device
	FlagOutermostLock                          // wait for a lock, or for a critical section
	FlagOutermostOverhead                      // of the measurement
	FlagEstimated                              // no record: known from calling contexts, begin and end are near
	FlagThreadWait                             // wait for other threads, outside of MPI and of such calls
	FlagInCritical                             // the caller is a critical section: it does not wait while this call lasts
	FlagInThreadWait                           // the same of one with FlagThreadWait
	FlagMPIInIO                                // an outermost MPI call inside of one with FlagOutermostIO: all its time is MPI time
	FlagMPIInDeviceCall                        // the same of FlagOutermostDeviceCall
)

// P2P.kind: the low byte says which side, the bits above are flags.
const (
	P2PKindMask    uint32 = 0xff
	P2PSend        uint32 = 0
	P2PRecv        uint32 = 1
	P2PUnmatched   uint32 = 1 << 8  // no mate: mateN is Never
	P2PNonBlocking uint32 = 1 << 9  // posted by an initiating call
	P2PClock       uint32 = 1 << 10 // the receive ends before the send begins
	P2PMarker      uint32 = 1 << 11 // a marker's message to oneself, or P2PNotice: it carries nothing for the program
	P2PBestEffort  uint32 = 1 << 12 // several locations share the channel
	P2PIncomplete  uint32 = 1 << 13 // cancelled, or never completed in the trace
	P2PProbed      uint32 = 1 << 14 // a blocking receive right after a blocking probe, with whose enter post is
	P2PAwaited     uint32 = 1 << 15 // the send ends when the receive is at T: synchronous, or seen to have waited
	P2PAwaitedPost uint32 = 1 << 16 // the send ends when the receive is posted: synchronous, or seen to have waited until then
	P2PNotice      uint32 = 1 << 17 // no message: a synchronisation of a window that lets the receiver go on, see NoticeTag
)

// Notices, which synchronise two processes that use a window. Those of locks have the process of the target as their peer on both
// sides; P2PBestEffort says that a lock waited for the row that MateN names, which has another mate.
const (
	NoticePost     uint32 = iota // of MPI_Win_post, to MPI_Win_start
	NoticeAccess                 // of MPI_Win_post, to the MPI_Win_complete of the epoch, which waits where MPI_Win_start did not
	NoticeComplete               // of MPI_Win_complete, to MPI_Win_wait
	NoticeLock                   // of the release of a lock, to the next acquisition that cannot be granted before
	noticeShift    = 29
)

// NoticeTag is the tag of notices of a kind on a window, false for a window that has none. Messages of MPI have smaller tags.
func NoticeTag(kind, window uint32) (tag uint32, ok bool) {
	return 1<<31 | kind<<noticeShift | window, window < 1<<noticeShift
}

// NoticeKind is the kind of a notice by its tag.
func NoticeKind(tag uint32) uint32 { return tag >> noticeShift & 3 }

// IsNotice reports whether a channel with a tag is one of notices.
func IsNotice(tag uint32) bool { return tag>>31 != 0 && tag != undefined }

// COLL.flags: the low byte is the operation (OTF2 CollectiveOp, or a collective operation
// on a file or a window: trace.OnFile, trace.OnWindow), the bits above are flags.
const (
	CollOpMask      uint32 = 0xff
	CollNonBlocking uint32 = 1 << 8
	CollShort       uint32 = 1 << 9  // not all members of the communicator took part
	CollMixed       uint32 = 1 << 10 // members name different operations or roots
)

// IO.op: the low byte says which operation, the bits above are flags.
const (
	IOOpMask uint32 = 0xff
	IORead   uint32 = 0
	IOWrite  uint32 = 1
	IOOther  uint32 = 2
)

// CHANNEL.direction.
const (
	ChannelSend    uint32 = 0
	ChannelReceive uint32 = 1
	ChannelColl    uint32 = 2 // peer and tag are all ones
)

// WAIT.pattern: the low byte is the pattern, the next one its sub-class.
const (
	WaitPatternMask       uint32 = 0xff
	WaitLateSender        uint32 = 0
	WaitLateReceiver      uint32 = 1
	WaitBarrier           uint32 = 2
	WaitBarrierCompletion uint32 = 3
	WaitNxN               uint32 = 4
	WaitNxNCompletion     uint32 = 5
	WaitLateBroadcast     uint32 = 6
	WaitEarlyReduce       uint32 = 7
	WaitEarlyScan         uint32 = 8
	WaitLateProgress      uint32 = 9
	WaitLatePost          uint32 = 10
	WaitEarlyWait         uint32 = 11
	WaitLock              uint32 = 12
	WaitLateKernel        uint32 = 13 // of a host for a device; the record is the CALL row of the kernel or transfer on the stream that is the cause

	WaitOrderMask      uint32 = 0xff << 8 // of a late sender
	WaitOrderSame      uint32 = 1 << 8    // a message of the same source was there first
	WaitOrderDifferent uint32 = 2 << 8    // one of another source only

	WaitLaunchMask   uint32 = 0xff << 16 // of a late kernel, as far as it is known
	WaitLaunchQueued uint32 = 1 << 16    // its stream was in an earlier one when it was launched
	WaitLaunchLate   uint32 = 2 << 16    // it was launched after the wait began, by another thread
)

// PatternItems are the components of waits, by pattern.
var PatternItems = [...]Item{
	WaitLateSender: ItemLateSender, WaitLateReceiver: ItemLateReceiver, WaitBarrier: ItemWaitBarrier, WaitBarrierCompletion: ItemBarrierCompletion,
	WaitNxN: ItemWaitNxN, WaitNxNCompletion: ItemNxNCompletion, WaitLateBroadcast: ItemLateBroadcast, WaitEarlyReduce: ItemEarlyReduce,
	WaitEarlyScan: ItemEarlyScan, WaitLateProgress: ItemLateProgress,
	WaitLatePost: ItemLatePost, WaitEarlyWait: ItemEarlyWait, WaitLock: ItemLockContention,
	WaitLateKernel: ItemLateKernel,
}

// NoticePatterns are the patterns of waits for notices, by their kind.
var NoticePatterns = [...]uint32{NoticePost: WaitLatePost, NoticeAccess: WaitLatePost, NoticeComplete: WaitEarlyWait, NoticeLock: WaitLock}

// PatternItem is the component of the pattern of a WAIT row; NumItems for one that is not known.
func PatternItem(pattern uint32) Item {
	if k := pattern & WaitPatternMask; k < uint32(len(PatternItems)) {
		return PatternItems[k]
	}
	return NumItems
}

// WaitsForMessage reports whether the record of a wait is a P2P row; of others but late kernels it is a COLL row.
func WaitsForMessage(pattern uint32) bool {
	switch pattern & WaitPatternMask {
	case WaitLateSender, WaitLateReceiver, WaitLateProgress, WaitLatePost, WaitEarlyWait, WaitLock:
		return true
	}
	return false
}

// Activities of a location in CPATH, DELAY and their totals.
const (
	ActivityCPU uint32 = iota
	ActivityMPI        // MPI calls without their waits
	ActivityIO
	ActivityMarker
	ActivityWait
	ActivityOutside // before the first event of the location, or after its last one
	ActivityDeviceCall
	ActivityDeviceWait
	ActivityLock
	ActivityOverhead // of the measurement
	ActivityKernel   // of a stream; of a host that waits for it too
	ActivityTransfer // the same
	ActivityDeviceIdle
	NumActivities
)

// INTERVAL.flags.
const (
	IntervalUneven uint32 = 1 << iota // processes disagree about the number of executions
)

// IVAL.flags.
const (
	IvalCut     uint32 = 1 << iota // no end in the trace: End is the last event
	IvalCrossed                    // ended by the end of an interval around it
	IvalWhole                      // all events of the location: what happens at its first and last instant too
)

// Most is the greatest sum of the times, and of the bytes, that one of a number of locations may have. Sums over all
// locations are then less than 2^63: nothing that adds up what Most allows can wrap. Events beyond it are left out when a
// trace is loaded, rows beyond it are damage.
func Most(locations int) uint64 { return (1<<63 - 1) / uint64(max(locations, 1)) }

// MostWaitTotals is the number of places in WAITTOTAL above which call paths are cut: the deepest levels, as many as it takes, count on
// the paths they were called from.
const MostWaitTotals = 1 << 18

// Add adds v to a sum. It reports whether the result is less than 2^63, as all sums are that rows of a sound file make; else
// the sum stays.
func Add(sum *uint64, v uint64) bool {
	fits := *sum <= Most(1) && v <= Most(1)-*sum
	if fits {
		*sum += v
	}
	return fits
}

// ChannelKey is the key of a CHANNEL row: peer and communicator.
func ChannelKey(peer, comm uint32) uint64 { return uint64(peer)<<32 | uint64(comm) }

// BinKey is the key of a TIMEBIN row; bin has 52 bits.
func BinKey(level uint8, bin uint64) uint64 { return uint64(level)<<52 | bin&(1<<52-1) }

// NodeKey is the key of rows about an interval node: with an item for COMP and
// STAT, with a call path for DELAY, WAITSUM and the totals.
func NodeKey(node, item uint32) uint64 { return uint64(node)<<32 | uint64(item) }
