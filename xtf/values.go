package xtf

// Bits of CALL.class and TIMEBIN.class. A subset has its own bit next to that of its class (START next to P2P or COLL). 0 stands for the
// program's own code.
const (
	ClassMPI     uint32 = 1 << iota // any MPI call
	ClassP2P                        // point-to-point, also its waits, tests and probes
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
	FlagOutermostMPI        uint32 = 1 << iota // an MPI call that is not inside another one
	FlagMarker                                 // part of an interval marker
	FlagCut                                    // the trace has no leave: End is the last event
	FlagOutermostIO                            // ClassIO; this flag and the next ones are for calls outside of MPI and of each other
	FlagOutermostDeviceCall                    // of a device's runtime
	FlagOutermostDeviceWait                    // for a device
	FlagOutermostLock                          // wait for a lock or a critical section
	FlagOutermostOverhead                      // of the measurement
	FlagEstimated                              // not recorded: known from calling contexts, so begin and end are approximate
	FlagThreadWait                             // wait for other threads, outside of MPI and of calls with the flags above
	FlagInCritical                             // the caller is a critical section, which does not wait during this call
	FlagInThreadWait                           // the caller has FlagThreadWait and does not wait during this call
	FlagMPIInIO                                // an outermost MPI call inside of one with FlagOutermostIO; all its time is MPI time
	FlagMPIInDeviceCall                        // the same inside of one with FlagOutermostDeviceCall
)

// P2P.kind: the low byte is the side, the bits above are flags.
const (
	P2PKindMask    uint32 = 0xff
	P2PSend        uint32 = 0
	P2PRecv        uint32 = 1
	P2PUnmatched   uint32 = 1 << 8  // no mate; MateN is Never
	P2PNonBlocking uint32 = 1 << 9  // posted by an initiating call
	P2PClock       uint32 = 1 << 10 // the receive ends before the send begins
	P2PMarker      uint32 = 1 << 11 // message of a marker to its own process, or P2PNotice: without data of the program
	P2PBestEffort  uint32 = 1 << 12 // several locations share the channel
	P2PIncomplete  uint32 = 1 << 13 // cancelled, or never completed in the trace
	P2PProbed      uint32 = 1 << 14 // a blocking receive right after a blocking probe; Post is the enter of the probe
	P2PAwaited     uint32 = 1 << 15 // the send ended when the receive was at T: it is synchronous, or was seen to wait
	P2PAwaitedPost uint32 = 1 << 16 // the send ended when the receive was posted: it is synchronous, or was seen to wait until then
	P2PNotice      uint32 = 1 << 17 // not a message but a synchronisation of a window that lets the receiver continue, see NoticeTag
)

// Notices synchronise two processes that use a window. On both sides of a notice of a lock, the peer is the process of the target. With
// P2PBestEffort, a lock waited for the row MateN, which has another mate.
const (
	NoticePost     uint32 = iota // of MPI_Win_post, to MPI_Win_start
	NoticeAccess                 // of MPI_Win_post, to the MPI_Win_complete of the epoch, which waits if MPI_Win_start has not
	NoticeComplete               // of MPI_Win_complete, to MPI_Win_wait
	NoticeLock                   // of the release of a lock, to the next acquisition, which could not be granted before
	noticeShift    = 29
)

// NoticeTag returns the tag of notices of a kind on a window. ok is false for windows whose number is too large. Tags of MPI messages are
// smaller.
func NoticeTag(kind, window uint32) (tag uint32, ok bool) {
	return 1<<31 | kind<<noticeShift | window, window < 1<<noticeShift
}

// NoticeKind returns the kind of a notice from its tag.
func NoticeKind(tag uint32) uint32 { return tag >> noticeShift & 3 }

// IsNotice reports whether a channel with this tag has notices.
func IsNotice(tag uint32) bool { return tag>>31 != 0 && tag != undefined }

// COLL.flags: the low byte is the operation (OTF2 CollectiveOp, or a collective operation
// on a file or a window: trace.OnFile, trace.OnWindow), the bits above are flags.
const (
	CollOpMask      uint32 = 0xff
	CollNonBlocking uint32 = 1 << 8
	CollShort       uint32 = 1 << 9  // not all members of the communicator took part
	CollMixed       uint32 = 1 << 10 // members name different operations or roots
)

// IO.op: the low byte is the operation, the bits above are flags.
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
	WaitLateKernel        uint32 = 13 // of a host for a device; the record is the CALL row of the kernel or transfer on the stream that caused it

	WaitOrderMask      uint32 = 0xff << 8 // sub-class of a late sender
	WaitOrderSame      uint32 = 1 << 8    // a message of the same source was there first
	WaitOrderDifferent uint32 = 2 << 8    // only messages of other sources were there first

	WaitLaunchMask   uint32 = 0xff << 16 // sub-class of a late kernel, as far as known
	WaitLaunchQueued uint32 = 1 << 16    // the stream was busy with earlier work when the kernel was launched
	WaitLaunchLate   uint32 = 2 << 16    // another thread launched it after the wait had begun
)

// PatternItems has the component of each pattern of waits.
var PatternItems = [...]Item{
	WaitLateSender: ItemLateSender, WaitLateReceiver: ItemLateReceiver, WaitBarrier: ItemWaitBarrier, WaitBarrierCompletion: ItemBarrierCompletion,
	WaitNxN: ItemWaitNxN, WaitNxNCompletion: ItemNxNCompletion, WaitLateBroadcast: ItemLateBroadcast, WaitEarlyReduce: ItemEarlyReduce,
	WaitEarlyScan: ItemEarlyScan, WaitLateProgress: ItemLateProgress,
	WaitLatePost: ItemLatePost, WaitEarlyWait: ItemEarlyWait, WaitLock: ItemLockContention,
	WaitLateKernel: ItemLateKernel,
}

// NoticePatterns has the pattern of waits for each kind of notice.
var NoticePatterns = [...]uint32{NoticePost: WaitLatePost, NoticeAccess: WaitLatePost, NoticeComplete: WaitEarlyWait, NoticeLock: WaitLock}

// PatternItem returns the component of the pattern of a WAIT row, or NumItems for an unknown one.
func PatternItem(pattern uint32) Item {
	if k := pattern & WaitPatternMask; k < uint32(len(PatternItems)) {
		return PatternItems[k]
	}
	return NumItems
}

// WaitsForMessage reports whether the record of a wait is a P2P row. For other patterns except a late kernel it is a COLL row.
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
	ActivityOutside // before the first or after the last event of the location
	ActivityDeviceCall
	ActivityDeviceWait
	ActivityLock
	ActivityOverhead // of the measurement
	ActivityKernel   // of a stream, or of a host that waits for it
	ActivityTransfer // the same for transfers
	ActivityDeviceIdle
	NumActivities
)

// INTERVAL.flags.
const (
	IntervalUneven uint32 = 1 << iota // processes have different numbers of executions
)

// IVAL.flags.
const (
	IvalCut     uint32 = 1 << iota // has no end in the trace; End is the last event
	IvalCrossed                    // ended by the end of an enclosing interval
	IvalWhole                      // has all events of the location, also those at its first and last instant
)

// Most returns the greatest sum of times, or of bytes, that one of a number of locations may have. Sums over all locations are then below
// 2^63, so adding amounts that Most allows cannot overflow. Events beyond the limit are left out when a trace is loaded; rows beyond it are
// damage.
func Most(locations int) uint64 { return (1<<63 - 1) / uint64(max(locations, 1)) }

// MostWaitTotals is the number of rows in WAITTOTAL above which call paths are shortened: paths of the deepest levels are counted for the
// paths that called them, until there are few enough.
const MostWaitTotals = 1 << 18

// Add adds v to a sum and returns true, if the result is below 2^63, as it is for rows of an intact file. Else it leaves the sum and
// returns false.
func Add(sum *uint64, v uint64) bool {
	fits := *sum <= Most(1) && v <= Most(1)-*sum
	if fits {
		*sum += v
	}
	return fits
}

// ChannelKey returns the key of a CHANNEL row from the peer and the communicator.
func ChannelKey(peer, comm uint32) uint64 { return uint64(peer)<<32 | uint64(comm) }

// BinKey returns the key of a TIMEBIN row. bin has 52 bits.
func BinKey(level uint8, bin uint64) uint64 { return uint64(level)<<52 | bin&(1<<52-1) }

// NodeKey returns the key of rows about an interval node: for COMP and STAT with an item, for DELAY, WAITSUM and the totals with a call
// path.
func NodeKey(node, item uint32) uint64 { return uint64(node)<<32 | uint64(item) }
