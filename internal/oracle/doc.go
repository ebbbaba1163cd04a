// Package oracle computes what an analysis finds a second time: profiles, messages, what is wrong with the trace, intervals, their
// characteristics, wait states and their causes. It works straight from the definitions, with the whole trace in memory, as obviously
// as possible. Tests compare the analysis with it; its own tests have numbers worked out by hand, and those that programs of package
// tracetest were planted with. Nothing else imports it. It shares no code with what it checks.
//
//	r, err := oracle.Analyze(src, oracle.Options{})
//	r.Locations[0].Components[node][oracle.Time]
//	r.Characteristics(node, oracle.Rules{}).Efficiency
//	r.Messages, r.Matches, r.Diagnostics
//
// Times are ticks from the trace's origin. A span [x, y) counts in an interval
// [b, e) with max(0, min(y, e) - max(x, b)); a point at t counts for b <= t < e,
// what completes at t for b < t <= e. The whole run, node 0, has every point.
//
// A time stamp before its predecessor counts as that. A leave that does not name the innermost open call is ignored; calls open at the
// end are closed at the last event. The k-th send posted on a channel matches the k-th receive posted (MPI 4.1, 3.5); a blocking
// receive is posted by the enter of its call. The n-th collective of every member of a communicator is one operation, counted from its
// begin or, non-blocking, from its request. Times in MPI count from the outermost MPI enter to its leave, and belong to the outermost
// region's class; a process's are those of its first location.
//
// Memory: some 500 bytes an event. Sums of an interval take executions times
// events of a location.
package oracle
