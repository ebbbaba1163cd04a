// Package causes explains the wait states of a run. It finds what other locations did that caused them (Delays), which calls the
// runtime of the whole program consists of (FindPath), what the run would take in an ideal network (Ideal) or after changes of the
// program (Levers). It also repairs clocks that run apart (Clocks).
//
// # Order of calls
//
//	Run          the inputs of all passes; Cut chooses the slabs of time
//	Within       only for device streams and threads: Location for each location, then Match
//	Pass         for each location: Begin; Message, Collective, Wait and To as rows become known; End
//	Run.Deal     gives the records of Pass to the ranks that work on the slabs
//	FindPath     then, in any order, Ideal.Run and NewDelays with Costs, which also writes the path; then Path.Totals
//	Run.Drop     frees the storage
//
// Levers.Try and Levers.Times follow Deal in place of FindPath. Clocks has an order of its own: NewClocks, Location for each, Run, Map.
//
// # Time lines
//
// At each instant a location has an activity (CPU, MPI, I/O, marker, device call, device wait, lock wait, overhead, wait, outside;
// kernel, transfer, device idle), a call path and a node of the tree of intervals. The activity is that of the outermost MPI call or
// marker; else overhead where records tell that the tracer was busy with itself or off; else that of the outermost call with an activity
// of its own. In the span of a WAIT row with a cause it is wait; completion spans have no cause and are time in MPI. The path is that of
// the innermost call, the node that of the innermost interval made by markers. Before its first and after its last event a location is
// outside: what it does then is unknown. So all time lines begin together and have one length.
//
// # Devices
//
// A stream of a device is in a kernel, in a transfer (a call, or a one-sided operation of the stream), or idle. A host waits for the
// device in an outermost call that synchronises, for all streams of its process, or that transfers and is not asynchronous, for
// transfers only. It waits for the kernels and transfers that end during the call. The one that ends last gets the part of the wait
// from its begin to its end; of the time before, the one that ends last of the others gets its part, and so on. In these parts the
// time line of the host has the path and the activity of the stream. The rest of the wait is time of the device's runtime.
//
// The trace tells neither which stream a call waits for nor which launch began a kernel. Times decide: the critical path leaves the
// host at the end of the last kernel or transfer in the wait. It leaves a stream at the begin of a kernel (or transfer) for the host
// that made the last launch (or call for a transfer) before it, if that was after the end of the stream's work before; else the kernel
// was in the queue, and the path stays on the stream. Where a process has no launch before, its first thread counts as the host. Waits
// of a stream for an event of another one are not considered.
//
// # Threads
//
// A thread waits for others of its process in calls whose state is a thread wait, a lock wait or a critical wait, except in calls
// inside of them. The critical path goes over to another thread at an instant that depends on the wait, if that lies in the wait:
//
//	barrier         when the last other thread came to a barrier
//	wait for tasks  when the last task of another thread was complete
//	lock            when the lock that it got was released last
//	join            when the thread that it waited for ended
//	condition, semaphore and the like  at its end, or when the other thread began to wait, if all others waited all the time meanwhile
//	task            when the task that it began was created
//
// At the begin of a thread's parallel region the path goes to the thread that was in one first, at the begin of a thread to the one
// that started it. Records of the trace name the other thread for locks, threads and tasks; for barriers and parallel regions the times
// of calls decide, so the path does not leave barriers while parallel regions are nested. It never goes to a thread from which it could
// not come back so. What a thread waits for in a condition is unknown where several others do something meanwhile.
//
// # Delay costs
//
// Two locations meet at the end of a wait of one for the other, and in a collective operation that nobody leaves before all members
// have entered: a blocking barrier, creation of a handle, operation on a file that nobody was seen to leave before, or data operation
// of all with all except alltoallv and alltoallw (of which a pair may exchange nothing). All members must have recorded it. In a data
// operation the location that waits must give and get bytes, and no member without bytes may come after all that have some. They meet at
// the last enter of a member, at the latest at the leave of the location that waits. All locations meet when the last process enters
// MPI_Init, if that is the first MPI call of each and nobody leaves it before. Let w wait for d in [t, s), and s0 be the last instant
// before s at which they met, or the start:
//
//	a_d(x) = time of d in activity x in [s0, s)      a_w(x) = time of w in x in [s0, t)
//	δ(x)   = max(0, a_d(x) - a_w(x))                 Σ(a_d - a_w) = s - t
//
// The wait is distributed over the activities of d in proportion to δ(x), the part of x over call paths y in proportion to
// max(0, a_d(x,y) - a_w(x,y)), the part of y over the nodes in which d was on y in proportion to its time there: short-term costs. The
// part of x = wait goes to the waits of d that ended in [s0, s], in proportion to their time after s0. What a wait receives so is
// summed, then distributed over the location that caused it in the same way, the last wait first: long-term costs. Parts are whole
// ticks. Over waits, from the last one on, a part is the growth of floor(amount * length so far / length of all), so that no rank needs
// all of them at once. Other splits use the largest remainder, ties by activity, path and node. So short-term and long-term costs of all
// locations add up to the waits (after D. Böhme et al., Identifying the root causes of wait states in large-scale parallel
// applications, 2010).
//
// A wait of d that is not over at s counts as time in MPI, on the path and node of d at s, so costs only go back in time. Where clocks
// differ, w may have begun to wait before s0; then a_w is 0, and the sum still holds (DelayReport.Reversed). Waits that end at one
// instant and wait for each other in a cycle exist only in broken traces: then all waits of d that end at s count as time in MPI
// (DelayReport.Strict).
//
// # Critical path
//
// The path is followed backwards from the end of the run, on the location with MPI calls whose last event is latest (the lowest of
// several). At the end of a wait it goes to the location that caused the wait, at the root of an N-to-1 operation to the last sender, and
// between hosts and streams, and threads, as above. If each process ends with MPI_Finalize and nobody leaves it before all have entered,
// the path goes from its first location, at the last enter, to the location that entered last. All other time is part of the path; a
// wait that is not over when the path arrives is time in MPI. So the length of the path is the runtime.
//
// # Slabs of time
//
// What depends on other locations step by step is found slab by slab (Slabs). A rank gets all records of its slabs, of all locations,
// in one exchange (Deal). The replay hands a crossing on to the next slab (flow.go). Delay costs need one slab and the one before it.
// What waits pass on to each other (handOn), and the critical path, go back from rank to rank, once. So the number of messages does not
// grow with the number of events, and results depend neither on slabs nor on ranks.
//
// # Memory
//
// Pass: the open calls and intervals of one location, the rows of a call and 256 more, 60 bytes for each (activity, path, node) that it
// comes to, and 16 for each of its communicators. Of two slabs: 72 bytes for each wait, 12 for each piece of a time line, 24 for each
// (activity, path, node) of a location, and 8 for each of these at every block of pieces. Of one slab: 32 bytes for each wait, and with
// several ranks twice its blame, 16 for each jump of the path, and 32 for each step of locations of which some take effect before their
// row. In addition twice mostCosts x 64 bytes of sums, outboxBytes for what goes to slabs and for the pieces of the path, 1200 bytes per
// location, 24 for each part of the path in the rank's slabs, and 40 for each pair of locations that wait for each other in them. Time
// lines, steps and waits are in the storage: 3 bytes for each piece and step, 20 for each wait; then each wait again, and with several
// ranks its blame. On rank 0: 48 bytes for each row of the totals.
package causes
