// Package threads finds out how well the threads of a process share its work in
// parallel regions of OpenMP: what is lost because only the first thread works,
// because the threads of a region have unequal work, and because all of them wait.
//
// # Definitions
//
// A process has M CPU threads. Time counts where its first thread is outside of
// MPI calls, or in a parallel region; MPI calls in a region are work. Of such
// time [x, y) the threads together have M*(y-x) ticks:
//
//	serial        outside of parallel regions: the M-1 other threads idle
//	region r      D long; thread j works B(j) of it and idles D - B(j)
//	scheduling    M * (D - max B): what even the busiest thread idles
//	imbalance     M * max B - sum B: what the others idle more than that
//
// So thread time = useful + serial + imbalance + scheduling, and with the losses
// taken off one after the other the ratios are
//
//	serial      (T - serial) / T
//	balance     (T - serial - imbalance) / (T - serial)
//	scheduling  (T - serial - imbalance - scheduling) / (T - serial - imbalance)
//
// whose product is the OpenMP efficiency of the process. Regions are single
// executions: what is uneven in one is not made up for by the next.
//
// A region lasts from enter to leave of the outermost call with role parallel on
// the first thread. A thread works in it from the enter of its own such call,
// or, if the trace has bodies of parallel regions apart (OpenMP calls with role
// code, as Extrae records them), of its body; regions "OpenMP parallel" and
// "OpenMP implicit task" of EZTrace are these two. It does not where it waits: in
// calls whose state is a thread wait, a critical wait or a lock wait
// (trace.States). What is called inside of the former two is work, unless it waits.
// Of what a thread waits in a region for locks and critical sections, as much as the first
// thread waits for them there counts as work: the process has lost it already
// (xtf.ItemLockWait), and two losses of the same time would be multiplied.
// Processes without parallel regions, or with one thread, have no thread items.
//
// # Memory
//
// 24 bytes for each parallel region of the process in hand, 16 more for its
// sums, 16 for the thread in progress, and 16 per open call.
package threads
