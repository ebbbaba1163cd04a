// Package stats computes what a run's events mean: calls and channel entries
// as rows, the exact profile of regions and
// processes, and the characteristics of the whole program.
//
// # Stages
//
//	load    one location: events -> CALL, IO, RMA, METRIC, CHANNEL, CHAN rows, channel entries,
//	        which have all that P2P and COLL rows need of it, profile, executions of intervals and
//	        their sums, call paths, diagnostics (Loader)
//	match   all ranks: channel entries of both sides joined (package match)
//	finish  one location: results -> P2P, COLL rows, which
//	        are passed on too (match.Rows), TIMEBIN, TILE, DIAG rows (Finisher); all ranks:
//	        profile, bins and diagnostics of the run (Summarizer)
//	reduce  all ranks: components of locations -> processes -> distributions by
//	        node: STAT, INTERVAL rows (Reducer, SumOfLongest)
//
// A unit of load and finish is one location; what it leaves goes to the Storage
// that the caller gives, so a location can be loaded by one rank and finished
// by another.
//
// # Intervals
//
// Markers are recognised while the events pass. The first message of a marker of
// two is known only at the second: its call waits, and with it every border of an
// execution that lies after its begin. Sums are differences of running totals
// at the borders, cut exactly where a border lies inside of a call. Instants are
// those of the rows: a point counts for begin <= t < end, what completes for
// begin < t <= end, also where many events share a tick.
//
// # Tasks
//
// A switch of tasks ends the open calls of the one that is suspended and begins those of the other one again, so that
// calls always nest (task.go). Records that no analysis reads are counted by kind (unread.go, trace.Kind.Unread).
//
// # Time bins
//
// While the events of a location pass, its profile is cut at the borders of bins
// (Bins), which become four times as wide whenever there are too many. When all
// locations are loaded, LevelCounts chooses the finest level they all have, which
// their sum may have to leave for a coarser one. Tiles are made of bins, also of
// neighbouring locations together (TileGroups).
//
// # Times
//
// All times are ticks from the trace's origin. A call of the MPI library counts
// from the enter of its outermost region to that region's leave.
//
// # Memory
//
// Loader: 6 KiB, 48 bytes per open call, 4 per open call of a suspended task, 48 per open request and held lock of a window, 4 per member of each group of an epoch, 136 per region, 112 per
// operation of one call or marker,
// 48 for each of at most mostLeastBins time bins and one more every eventsPerBin events,
// 200 for each open execution of an interval and each of at most 2 * mostWaiting
// borders of markers that wait for a call,
// 24 for each border of the sidecar file, and 24 for each border since the last
// collective of --between, or while MPI_Init is awaited.
// Summarizer: three times wholeRows rows of 48 bytes; TileGroups: three times
// groupRows of them for each power of 16 locations.
// Nothing else grows with the
// number of events but what goes to the Storage.
package stats
