// Package oracle computes intervals, their characteristics, wait states and
// their causes a second time: straight from the definitions, with the whole
// trace in memory, as obviously as possible. Tests compare the analysis with it;
// nothing else imports it. It knows trace alone and shares no code with what it
// checks.
//
//	r, err := oracle.Analyze(src, oracle.Options{})
//	r.Locations[0].Components[node][oracle.Time]
//	r.Characteristics(node, oracle.Rules{}).Efficiency
//
// Times are ticks from the trace's origin. A span [x, y) counts in an interval
// [b, e) with max(0, min(y, e) - max(x, b)); a point at t counts for b <= t < e,
// what completes at t for b < t <= e. The whole run, node 0, has every point.
//
// Memory: some 500 bytes an event. Sums of an interval take executions times
// events of a location.
package oracle
