// Package waits finds the wait states of a run: the time in MPI calls in which a location could not go on before another
// one did something.
//
// # Patterns
//
// E and L are enter and leave of the call, E* the last enter of a collective operation's members, L° the first leave;
// a message was sent by a call that began at σ, and its receiver could block from ρ on: the enter of the call that
// completes the receive, or of the blocking probe directly before it (but for management without a record, as MPI_Get_count). A send is completed by a call from ε to λ, which of
// a blocking send is the call itself; its receive was posted by a call that began at π, and the receiver was back in MPI
// at β after it was outside of it from ο on: its first stay outside of calls in which it communicates and does not only start,
// counted from where the receive is posted and the call that begins the send has begun; at the latest β is the enter of the
// call that completes the receive. Where it was in no such call at that instant, ο is that instant.
//
//	late sender         receiver        [ρ, min(σ, L))         of all that one call completes the one sent last
//	late receiver       completes send  [ε, π)                 if λ > π; of all that one call completes the one posted last
//	late progress       completes send  [max(ε, π, ο), β)      if λ > β; of all that one call completes the one back last
//	barrier, all to all each member     [E, min(E*, L))
//	making a handle     each member     [E, E*), as of a barrier  where nobody leaves before E*: a communicator, window or file, on which all have to agree
//	on a file         each member     the same, of a collective operation
//	their completion    each member     [max(E, L°), L)
//	late broadcast      not the root    [E, min(E of root, L))
//	early reduce        root            [E, min(first E of the others, L))
//	early scan          member          [E, min(last E of lower ranks, L))
//	late post           origin          [E, σ)  in MPI_Win_start or MPI_Win_complete, σ the enter of the target's MPI_Win_post, if σ <= L
//	early wait          target          [E, σ)  in MPI_Win_wait, σ the last enter of an origin's MPI_Win_complete, if σ <= L
//	lock contention     origin          [E, σ)  in MPI_Win_lock, σ the enter of the MPI_Win_unlock of the last holder that excludes it, if
//	                                            the lock was granted after σ
//	late kernel         host            [E, σ)  outside MPI in a call that waits for a device, σ the end of the last kernel or transfer of its
//	                                            process that ended in the call (causes.Within finds them)
//
// The rules of messages are functions on these instants (Receive, Send).
//
// That λ is later than the receiver's instant is the evidence that the send waited for it; a send that was buffered ends
// before. Where a call completes several operations its end is evidence for the last of them only. So a call without a
// late sender has the waits for the last receivers; what these two share is late receiver. One with a late sender has that wait and, of the
// time after it, late progress, if that is longer than λ - β: else its message may have been on its way.
// Calls that send and receive in one (MPI_Sendrecv), and calls that test, have no waits of a sender. Late
// progress ends at β even where the transfer goes on, and what a receiver does outside of MPI after its next call is not
// counted, although the message may wait then too.
//
// The patterns are those of Scalasca (Wait at N x N, N x N Completion, Wait at Barrier, Late Broadcast, Early Reduce, Early Scan; its
// "Performance properties", apps.fz-juelich.de/scalasca/releases/scalasca/2.4/help), which has them for blocking calls. A non-blocking
// collective has the same: its members enter when they start it, and E and L are of the call that completes it. So what passes
// between the two calls is no wait, only the part in the second; calls that test have none. A persistent one starts with MPI_Start.
// An operation with neighbours needs these alone; recordings have it as messages, and its waits are those of late senders.
//
// Windows have Scalasca's Late Post, Early Wait (with its Late Complete) and Lock Contention (M.-A. Hermanns, M. Geimer, B. Mohr, F. Wolf, Scalable
// detection of MPI-2 remote memory access inefficiency patterns, 2012, and the same help); Wait at Fence is that of a barrier, or of an
// operation on a file where the fence need not be one. Their partners are notices, rows of P2P that carry nothing. A call that leaves before σ did not wait:
// a library may put off the wait of MPI_Win_start to MPI_Win_complete. What records do not tell has no waits: those in operations, flushes
// and MPI_Win_unlock (for progress of the target, or for a lock that the library asks for only there), and those of MPI_Win_lock_all.
//
// Init and Finalize have no waits, messages of markers neither. A message received late is in the wrong order if another one
// that was sent before it is received by a later call; the same source if one such message has its source. One call that
// completes several receives needs all of them, in whatever order they come: it has no wrong order.
//
// A location waits for one thing at a time: where spans overlap, the one that begins first, of these the one that ends
// first, has the common part. So waits are never longer than their calls, and WAIT rows neither overlap nor run
// backwards. (Spans of different operations overlap when one call completes several, those of one operation when a
// member leaves before another enters.)
//
// # What a location leaves
//
// Locate walks one location, whose messages and collectives pass as their match ends them, and notes its receives and waits; from the last receive back it finds the wrong orders. Then
// come WAIT rows in the order of time, WAITSUM rows, and in its components the waits by pattern,
// message spans, potential synchronisation and time variation of every execution of an interval. Totals adds up WAITSUM
// rows over all locations.
//
// The receive point of potential synchronisation may be the posting of the receive instead (Options.PostPoint); a wait
// is real time of a call and stays where it is.
//
// # Memory
//
// Locate: five cursors, or 64 KiB where there are few executions, 88 KiB of notes and 8 bytes for each 512 of them, 32 bytes
// per process that the location receives from, 80 per send in progress whose receiver is late, 64 bytes per operation of one call, 80 per (node, path, pattern) with waits, and what interval.Sums
// take. Totals: 64 bytes per (node, path, pattern) of the run.
//
// Nothing here is safe for concurrent use.
package waits
