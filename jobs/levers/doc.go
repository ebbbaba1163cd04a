// Package levers finds how much time changes of a program would save: Run replays a recorded run with each change (causes.Levers),
// collectively over the ranks of a communicator.
//
//	open     each rank reads the definitions, the call paths and the intervals of the file
//	read     each rank reads the calls, messages and collective operations of its locations; slabs of time get their time lines and
//	         steps, as in the analysis
//	replay   all ranks: the run as it was, then once for each change of each target
//	write    with Output: the analysis of the run with all changes that were asked for
//
// A target is a part of the program: a function, an interval, a call site. Run tries the changes that the user asks for (Change); without
// these, changes of the targets that take most of the critical path or of a process, or wait most. The result is a Report.
//
// Memory of a rank: that of causes.Levers; 40 bytes for each call path, 120 for each location, and 8 for each target and location; with
// streams of devices or parallel regions 16 more for each target and process.
package levers
