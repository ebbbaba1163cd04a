// Package analyze makes one XTF file from a trace, collectively over the ranks of a communicator (Run). It composes the packages below it.
// It has no flags, and its only output besides the file is progress.
//
// # Stages
//
//	open      rank 0 reads anchor and definitions, all ranks get the bytes
//	measure   each rank measures a share of the locations: sizes, first times
//	clocks    all ranks: with ClockRepair, times that no message contradicts
//	load      per location: events -> rows, graph, channel entries, tree of intervals, tree of call paths, components of intervals
//	number    all ranks: the union of the trees, numbered; per location: rows of executions, components by number
//	match     all ranks: messages and collectives find their partners
//	graph     all ranks: one shared call graph; per location its columns
//	classes   all ranks: with Classes, processes that call the same and compute alike
//	finish    per location: rows of messages and collectives, wait states, their values by interval, a time line; all ranks: waits of
//	          the run
//	causes    all ranks: ideal network, costs of delays, critical path
//	threads   per process: losses of threads
//	reduce    per location: rows of components; all ranks: distributions over processes, rows of the whole run
//	commit    all ranks: one shared file, renamed when complete
//
// With GraphOnly there are no rows and no match: load makes the graph of a location and its sums, which are exact whatever the graph's
// deviation; number and reduce work on these sums.
//
// A work unit is one location in one stage. It puts its results into the rank's segment store (shelf) at once. Between stages a rank has
// only handles and tables of peers in memory. Each rank has a contiguous range of locations, cut by bytes.
//
// Each stage is a function. It takes the result of the stage before, a value such as loaded, numbered, matched, shared or finished, and
// returns its own; all else that it finds is in segments. job has what stages share. finished, the result of finish, causes and threads,
// can be encoded: together with the segments it is the mark of a checkpoint.
//
// # Stop and resume
//
// A Stop, which signals ask, or the end of the time limit ends an analysis on all ranks at the next batch, unit or stage (pacer). It keeps
// loaded locations, in the lists of package xtfwriter, and the results of stages from finish on, in marks. A run with Resume begins after
// the last mark that is not damaged, else with the listed locations. A Watchdog reports where a rank hangs. docs/checkpoint.md is for
// users.
package analyze
