// Package analyze makes one XTF file from a trace, collectively over the ranks of a
// communicator. It composes the packages below it and has no flags and no output of
// its own but progress.
//
// # Stages
//
//	open      rank 0 reads anchor and definitions, all get the bytes
//	measure   every rank looks at its share of the locations: sizes, first times
//	clocks    all ranks: with ClockRepair, times that no message contradicts
//	load      per location: events -> rows, graph, channel entries, tree of
//	          intervals, tree of call paths, components of intervals
//	number    all ranks: the union of the trees, numbered; per location: rows of
//	          executions, components by number
//	match     all ranks: messages and collectives find their partners
//	graph     all ranks: one shared call graph; per location its columns
//	finish    per location: messages and collectives with partners, wait states,
//	          values of them by interval, a time line; all ranks: waits of the run
//	causes    all ranks: ideal network, costs of delays, critical path
//	threads   per process: losses of threads
//	reduce    per location: rows of components; all ranks: distributions over
//	          processes, the whole run's rows
//	commit    all ranks: one shared file, renamed when complete
//
// With GraphOnly there are no rows and no match: load makes the graph of a
// location and its sums, which stay exact whatever the graph's deviation; number
// and reduce do the same with them.
//
// A work unit is one location in one stage. Its output goes to the rank's
// segment store at once; between stages a rank holds only handles and the
// tables of peers. Locations are dealt out in contiguous ranges cut by bytes.
//
// Each stage is a function of what the one before found, and what it returns is all that it found out but for segments; job has
// what they share. What finish, causes and threads return encodes itself: that is the mark of a checkpoint.
//
// # Stop and resume
//
// A Stop, which signals ask, or the end of the time limit ends an analysis at the next batch, unit or stage on all ranks:
// see pacer. What is kept are loaded locations, in the lists of package xtfwriter, and the ends of the stages from finish
// on, in its marks. A run with Resume begins with the last mark that is whole, else with the locations that are listed. A
// Watchdog tells where a rank hangs. docs/checkpoint.md is for users.
package analyze
