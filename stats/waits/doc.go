// Package waits finds the wait states of a run: the time in MPI calls in which a location could not go on before another one did
// something.
//
// NewRun prepares the pass over the locations of a rank. Run.Locate finds the waits of one location after another, and writes their
// WAIT and WAITSUM rows. Totals then adds up the WAITSUM rows of all locations.
//
// # Patterns
//
//	E, L  enter and leave of the call
//	E*    the last enter of a collective operation's members; L° the first leave
//	σ     enter of the call that sent a message
//	ρ     when the receiver could block: the enter of the call that completes the receive, or of the blocking probe directly before it
//	      (calls without a record, such as MPI_Get_count, may lie between)
//	ε, λ  enter and leave of the call that completes a send, for a blocking send the call itself
//	π     enter of the call that posted the receive
//	ο, β  the receiver's first time outside of MPI after π and σ, from ο to β. MPI is here calls in which it communicates and does not
//	      only start an operation. If it is in no such call at max(π, σ), that is ο. β is at the latest the enter of the call that
//	      completes the receive.
//
//	late sender         receiver        [ρ, min(σ, L))         of several messages that one call completes, for the one sent last
//	late receiver       completes send  [ε, π)                 if λ > π; of several, for the one posted last
//	late progress       completes send  [max(ε, π, ο), β)      if λ > β; of several, for the receiver that is back last
//	barrier, all to all each member     [E, min(E*, L))
//	  its completion    each member     [max(E, L°), L)
//	making a handle     each member     [E, E*), as a barrier, if nobody leaves before E*: of a communicator, window or file
//	on a file           each member     the same, in a collective operation
//	late broadcast      not the root    [E, min(E of root, L))
//	early reduce        root            [E, min(first E of the others, L))
//	early scan          member          [E, min(last E of lower ranks, L))
//	late post           origin          [E, σ)  in MPI_Win_start or MPI_Win_complete, σ the enter of the target's MPI_Win_post, if σ <= L
//	early wait          target          [E, σ)  in MPI_Win_wait, σ the last enter of an origin's MPI_Win_complete, if σ <= L
//	lock contention     origin          [E, σ)  in MPI_Win_lock, σ the enter of the MPI_Win_unlock of the last holder that excludes it, if
//	                                            the lock was granted after σ
//	late kernel         host            [E, σ)  outside of MPI, in a call that waits for a device, σ the end of the last kernel or transfer
//	                                            of its process that ended in the call (causes.Within finds them)
//
// Receive and Send have the rules of messages as functions on these instants.
//
// If λ is later than the receiver's instant (π or β), that is the evidence that the send waited for it; a buffered send ends before. If a
// call completes several operations, its end is evidence only for the last of them. So a call without a late sender has the waits for
// the last receivers; time that late receiver and late progress share is late receiver. A call with a late sender has that wait and, in
// the time after it, late progress if that is longer than λ - β: else the message may have been on its way. Calls that send and receive
// in one (MPI_Sendrecv), and calls that test, have no waits of a sender. Late progress ends at β even if the transfer goes on. Later
// times of the receiver outside of MPI are not counted, although the message may wait then too.
//
// The patterns are those of Scalasca (Wait at N x N, N x N Completion, Wait at Barrier, Late Broadcast, Early Reduce, Early Scan; its
// "Performance properties", apps.fz-juelich.de/scalasca/releases/scalasca/2.4/help), which has them for blocking calls. They apply to
// nonblocking collectives too: members enter when they start the operation (a persistent one with MPI_Start), and E and L are of the
// call that completes it. So only time in that call is a wait; calls that test have none. A neighbourhood collective waits only for
// neighbours; recordings have it as messages, and its waits are those of late senders.
//
// Windows have Scalasca's Late Post, Early Wait (with its Late Complete) and Lock Contention (M.-A. Hermanns, M. Geimer, B. Mohr, F.
// Wolf, Scalable detection of MPI-2 remote memory access inefficiency patterns, 2012, and the same help). Wait at Fence is that of a
// barrier, or of an operation on a file if the fence need not synchronise. Their partners are notices, P2P rows without data. A call
// that leaves before σ did not wait: a library may put off the wait of MPI_Win_start to MPI_Win_complete. Records do not show waits in
// one-sided operations, flushes and MPI_Win_unlock (for progress of the target, or for a lock that the library asks for only there), and
// those of MPI_Win_lock_all; these are missing.
//
// MPI_Init, MPI_Finalize and messages of markers have no waits. A late message is in the wrong order if a message that was sent before
// it is received by a later call; in the same-source wrong order if such a message has the same source. A call that completes several
// receives needs all of them, so it has no wrong order.
//
// A location waits for one thing at a time: where spans overlap, the common part belongs to the span that begins first, of these to the
// one that ends first. So waits are never longer than their calls, and WAIT rows neither overlap nor run backwards. (Spans of different
// operations overlap when one call completes several, those of one operation when a member leaves before another enters.)
//
// # Results for a location
//
// Locate walks through the messages and collectives of a location, as matching makes them, and notes receives and waits. From the last
// receive back it finds the wrong orders. Then it writes WAIT rows in the order of time, WAITSUM rows, and for every execution of an
// interval, in the components: waits by pattern, message spans, potential synchronisation and time variation. With Options.PostPoint
// potential synchronisation counts from the posting of a receive; waits stay the same.
//
// # Memory
//
// Locate: five cursors, or 64 KiB where there are few executions, 88 KiB of notes and 8 bytes for each 512 of them, 32 bytes per process
// that the location receives from, 80 per send in progress whose receiver is late, 64 bytes per operation of one call, 80 per (node,
// path, pattern) with waits, and the memory of interval.Sums. Totals: 64 bytes per (node, path, pattern) of the run.
//
// Nothing here is safe for concurrent use.
package waits
