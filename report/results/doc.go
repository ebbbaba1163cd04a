// Package results opens a run, and reads and adds up what its file has: the definitions, intervals with their characteristics and
// efficiencies, sums of processes and of spans of time, profiles, waits with their causes and the critical path, diagnostics, and
// the provenance of the file. Package report makes sections of these values.
//
// Results come from integer sums that the analysis stored; divisions happen here. Times are ticks. A location that cannot be read
// is Lost and left out of sums. The file remembers it, and Run.Complete lists it.
//
// A Run is safe for concurrent use; values belong to their callers.
package results
