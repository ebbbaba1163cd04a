// Package stats turns the events of a run into rows of calls and operations, the exact profile of regions, and the characteristics of
// processes and of the whole program.
//
// # Stages
//
//	load    one location: Loader makes CALL, IO, RMA, METRIC, CHANNEL and CHAN rows of the events, and the channel entries, which have
//	        what P2P and COLL rows need; profile, executions of intervals and their sums, call paths, diagnostics (Loaded)
//	match   all ranks: package match joins the channel entries of both sides
//	finish  one location: match.Rows makes P2P and COLL rows, Finisher makes TIMEBIN, TILE and DIAG rows;
//	        all ranks: Summarizer adds up profile, bins and diagnostics of the run
//	reduce  all ranks: Reducer joins the components of locations to processes, and these to distributions by node (Spreads): STAT and
//	        INTERVAL rows; SumOfLongest
//
// Tables has what all locations share. Load and finish work on one location at a time. They put their results where the caller says
// (Outputs), so that one rank can load a location and another one finish it.
//
// # Intervals
//
// The Loader recognises markers as events come. A marker of two messages is recognised only at the second one. Until then the call of the
// first is not added to any sum, and borders of executions after its begin wait. The sums of an execution are differences of running
// totals at its borders, exact also where a border is inside of a call. A point in time t counts for the execution if begin <= t < end,
// what completes at t if begin < t <= end, also where many events share a tick.
//
// # Tasks
//
// A switch of tasks ends the open calls of the task that is suspended, and begins those of the other task again, so that calls always nest
// (task.go). Records that no analysis reads are counted by kind (trace.Kind.Unread).
//
// # Time bins
//
// The Loader cuts the profile of a location at the borders of time bins (Bins), which become four times as wide whenever there are too
// many. When all locations are loaded, LevelCounts chooses the finest level that all have; the sum over all locations may be at a coarser
// one. Tiles are made of bins, also of groups of neighbouring locations (TileGroups).
//
// # Times
//
// All times are ticks from the trace's origin. An MPI call lasts from the enter of its outermost region to that region's leave.
//
// # Memory
//
// Loader: 6 KiB; 48 bytes per open call, 4 per open call of a suspended task, 48 per open request and held lock of a window, 4 per member
// of each group of an epoch, 136 per region, 112 per operation of one call or marker; 48 for each time bin, of which there are at most
// mostLeastBins and one more every eventsPerBin events; 200 for each open execution of an interval and each of at most 2 * mostWaiting
// borders that wait for a call; 24 for each border of the sidecar file, and 24 for each border since the last collective of --between,
// or before the end of MPI_Init with --init exclude. Summarizer: three times wholeRows rows of 48 bytes; TileGroups: three times
// groupRows of them for each power of 16 locations. What else grows with the number of events is in the caller's storage.
package stats
