// Package causes finds out why the ranks of a program waited, from the calls, messages, collectives, waits
// and executions of its locations: who and what the waits are to be blamed on
// (Delays), and which calls the runtime of the whole program consists of
// (FindPath).
//
// # Time lines
//
// A location has at each instant an activity (CPU, MPI, I/O, marker, device call,
// device wait, lock wait, overhead, wait, outside; kernel, transfer, device idle), a call path and a node. The
// activity is that of the outermost MPI call or marker; else overhead where records
// tell that the tracer was busy with itself or off; else that of the outermost call
// with one of its own. In the span of a WAIT row with a cause it is wait. Completion
// spans have no cause and are time in MPI. The path is that of the innermost call, the
// node the innermost interval that markers made. Before its first event and after
// its last one a location is outside: nobody knows what it does, and no function does
// it. So all time lines begin together and are of one length.
//
// # Devices
//
// A stream of a device is in a kernel, in a transfer (a call, or a one-sided operation of the stream), or idle. A host waits for a device in an
// outermost call that synchronises, for all streams of its process, and in one that transfers and is not asynchronous, for transfers alone.
// Kernels and transfers that end in the wait are what it waits for: the one that ends last has the part of the wait from its begin up to its end,
// of what is before that the one that ends last of the others, and so on. There the time line of the host has its path and its activity; what is left of the wait is
// time of the device's runtime. The trace tells neither which stream a call waits for nor which launch began a kernel. So these are taken by
// time: the critical path leaves the host at the end of the last kernel or transfer in the wait; and it leaves the stream at the begin of a kernel
// (or transfer) for the host that launched (or called for a transfer) last before that, if this was after the stream was in one last: else it was in the
// queue, and the path goes on with what the stream did before. Where a process has no launch before, its first thread made it. That a stream waits for
// an event of another one is not looked at.
//
// # Threads
//
// A thread waits for others of its process in the calls whose states are a thread wait, a lock wait or a critical wait, but for the calls inside of
// them. The critical path leaves it, if that was while it waited, at the instant
//
//	barrier       when the last other thread came to a barrier
//	wait for tasks  when the last task of another thread was complete
//	lock          when the lock that it got was given away last
//	join          when the thread that it waited for ended
//	condition, semaphore and the like  at its end, or when the other thread began to wait, if all others waited all the time meanwhile
//	task          when the task that it began was created
//
// for the thread that did so. And it goes back from a thread at the begin of its parallel region to the thread that was in one first, and at
// its own begin to the one that started it. Of locks, threads and tasks the records of the trace tell who, of barriers and parallel regions the calls, by time: where one
// parallel region is inside of another one the path does not leave barriers. It never goes over to a thread from which it could not come back so. What
// a thread waits for in a condition is not known where several others do something meanwhile.
//
// # Delay costs
//
// A pair meets at the end of a wait of one for the other, and in a collective
// operation that nobody leaves before all have entered it, whomever the two wait
// for there: a blocking barrier, creation of a handle, operation on a file that nobody was seen to leave before, or data operation of all with
// all but alltoallv and alltoallw (of which a pair may exchange nothing), that all
// members recorded; of a data operation the one that waits gave and got bytes, and
// no member without bytes came after all that have some. The instant is the last
// enter of a member, at the latest the leave of the one that waits. All meet when the last
// process comes to MPI_Init, where that is the first MPI call of each and nobody leaves it
// before. With s0 the last instant before at which d and w met, or the start, and wait = [t, s):
//
//	a_d(x) = time of d in activity x in [s0, s)      a_w(x) = time of w in x in [s0, t)
//	δ(x)   = max(0, a_d(x) - a_w(x))                 Σ(a_d - a_w) = s - t
//
// The wait is dealt out over the activities of d in proportion to δ(x), the part of
// x over call paths y in proportion to max(0, a_d(x,y) - a_w(x,y)), the part of y
// over the nodes in which d was on y in proportion to its time there: short-term
// costs. The part of x = wait falls to the waits of d that ended in [s0, s], in
// proportion to their time after s0. What a wait gets so is summed, then dealt out
// over the location that caused it in the same way, the last wait first: long-term
// costs. All splits are in whole ticks: over waits, from the last one on, a part is
// what floor(amount * length so far / length of all) grows by, so that nobody has to
// know all of them at once; other splits are by the largest remainder, ties by
// activity, path and node. So short-term and long-term costs of all locations sum up
// to the waits (after D. Böhme et al., Identifying the root causes of wait states
// in large-scale parallel applications, 2010).
//
// A wait that is not over at s counts as time of d in MPI, on the path and node
// that d is on then, so that costs only go back in time. Where clocks differ w may
// have begun to wait before s0; a_w is 0 then and the wait is conserved all the
// same (DelayReport.Reversed). Waits that end at one instant and wait for each
// other in a cycle exist in broken traces only: the costs are then computed
// with waits that end at s as time in MPI (DelayReport.Strict).
//
// # Critical path
//
// From the end of the run, on the location with MPI calls whose last event is
// latest (the first of them), back in time: at the end of a wait the path goes
// over to the location that caused it, at the root of an N-to-1 operation to the
// last sender, and between hosts and streams, and threads, as above. Where each process ends with MPI_Finalize, and nobody leaves that before all have come, the first one
// is left at the instant when the last one comes, to that one. All other time is part of it. A wait that is not over when the path
// arrives is time in MPI. So the length of the path is the runtime of the run.
//
// # Slabs of time
//
// What depends on other locations, step after step, is found slab by slab (Slabs): a
// rank gets all that happens in its slabs, at all locations, in one exchange (Deal). It is made of each
// location (Pass) after those who find its waits, while its rows are in memory. The replay passes crossings on to the next
// slab (flow.go). What a wait is to be blamed on, and the dealing out of costs, need one slab
// and the one before it; how much waits pass on to each other (handOn), and the critical path, go back from
// rank to rank, once. So the number of messages does not grow with the number of events, and
// what is found does not depend on slabs or ranks.
//
// # Memory
//
// Pass: the open calls and intervals of one location, the rows of a call and 256 more, 60
// bytes for each (activity, path, node) that it comes to, and 16 for each of its
// communicators. Of two slabs 72 bytes for each wait, 12 for each piece of a time line, 24 for each (activity, path, node) of a
// location, and 8 for each of them at every block of pieces; of one slab 32 bytes for each wait, and with several ranks twice its blame,
// 16 for each jump of the path, and 32 for each step of
// locations of which some take effect before their row. Next to that
// twice mostCosts x 64 bytes of sums, outboxBytes for what goes to slabs and for the pieces of the path,
// 1200 bytes per location, 24 for each part of the path in the rank's slabs, and 40 for each
// pair of locations that wait for each other in them. Time lines, steps and waits are in
// the storage: 3 bytes for each piece and step, and 20 for each wait; then
// each wait again, and with several ranks its blame (blamed). On rank 0: 48
// bytes for each row of the totals.
package causes
