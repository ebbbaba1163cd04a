// Package causes finds out why the ranks of a program waited, from the WAIT, CALL
// and IVAL rows of its locations: who and what the waits are to be blamed on
// (Delays), and which calls the runtime of the whole program consists of
// (FindPath).
//
// # Time lines
//
// A location has at each instant an activity (CPU, MPI, I/O, marker, wait, outside), a call
// path and a node. The activity is that of the outermost MPI call, marker or file
// operation; in the span of a WAIT row with a cause it is wait. Completion spans
// have no cause and are time in MPI. The path is that of the innermost call, the
// node the innermost interval that markers made. Before its first event and after
// its last one a location is outside: nobody knows what it does, and no function does
// it. So all time lines begin together and are of one length.
//
// # Delay costs
//
// The end of a wait of w for d is a synchronisation point of the pair. With s0 the
// pair's point before, in whichever direction, or the start, and wait = [t, s):
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
// costs. All splits are in whole ticks by the largest remainder, ties by activity,
// path, node and time. So short-term and long-term costs of all locations sum up
// to the waits (after D. Böhme et al., Identifying the root causes of wait states
// in large-scale parallel applications, 2010).
//
// A wait that is not over at s counts as time of d in MPI, on the path and node
// that d is on then, so that costs only go back in time. Where clocks differ w may
// have begun to wait before s0; a_w is 0 then and the wait is conserved all the
// same (DelayReport.Reversed). Waits that end at one instant and wait for each
// other in a cycle exist in broken traces only: the costs are then computed again
// with waits that end at s as time in MPI (DelayReport.Strict).
//
// # Critical path
//
// From the end of the run, on the location with MPI calls whose last event is
// latest (the first of them), back in time: at the end of a wait the path goes
// over to the location that caused it, at the root of an N-to-1 operation to the
// last sender; all other time is part of it. A wait that is not over when the path
// arrives is time in MPI. So the length of the path is the runtime of the run.
//
// # Memory
//
// One location is walked at a time: its open calls and intervals, 60 bytes for
// each (activity, path, node) that it comes to, and 16 bytes for each pair of
// those and of a partner's synchronisation point that is still needed after which
// it changed. Beside that the sorters, mostCosts x 64 bytes of sums, outboxBytes,
// readersBytes or leastReader for each location, 200 bytes per location of the
// rank, and the values under way of package dataflow. Waits, vectors and costs are
// in the storage: about 200 bytes and 6 per entry of both vectors for each wait.
// On rank 0: 48 bytes for each row of the totals.
package causes
