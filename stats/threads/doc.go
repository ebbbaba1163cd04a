// Package threads measures how well the threads of a process share its work in parallel regions of OpenMP: how much time is lost because
// only the first thread works, because the threads of a region have unequal work, and because all of them wait.
//
// Order of calls, for each process: Roles.Outline lists the parallel regions from the calls of the first thread, Roles.Lock adds its waits
// for locks; Roles.Busy measures the work of each thread in them, and Work adds it up; Roles.Account adds the losses to the components
// of the first location.
//
// # Definitions
//
// A process has M CPU threads. Time counts when its first thread is outside of MPI calls, or in a parallel region; MPI calls in a region
// are work. In such time [x, y) the threads together have M*(y-x) ticks:
//
//	serial        outside of parallel regions: the M-1 other threads idle
//	region r      D long; thread j works B(j) of it and idles D - B(j)
//	scheduling    M * (D - max B): what even the busiest thread idles
//	imbalance     M * max B - sum B: what the others idle more than that
//
// So thread time T = useful + serial + imbalance + scheduling. The ratios take the losses off one after another:
//
//	serial      (T - serial) / T
//	balance     (T - serial - imbalance) / (T - serial)
//	scheduling  (T - serial - imbalance - scheduling) / (T - serial - imbalance)
//
// Their product is the OpenMP efficiency of the process. Each execution of a region counts alone: imbalance in one does not make up for
// that in another one.
//
// A region lasts from enter to leave of the outermost call with role parallel on the first thread. A thread works in it from the enter of
// its own such call, or, if the trace records bodies of parallel regions (OpenMP calls with role code, as of Extrae), from that of its
// body; EZTrace's regions "OpenMP parallel" and "OpenMP implicit task" are these two. It does not work while it waits: in calls whose
// state is a thread wait, a critical wait or a lock wait (trace.States). Calls inside of the former two are work, unless they wait. A
// thread's waits in a region for locks and critical sections count as work up to those of the first thread there: the process has lost
// that time already (xtf.ItemLockWait), and two losses of the same time would be multiplied. Processes without parallel regions, or
// with one thread, have no thread items.
//
// # Memory
//
// 24 bytes for each parallel region of the current process, 16 more for its sums, 16 for the current thread, and 16 per open call.
package threads
