// Package simnet computes how long a message-passing program takes on a described
// network, from its operations and the computation between them. Nothing is
// executed: processes are clocks.
//
// # Program
//
// A [Program] is a shared structure of calls, sequences and loops, and a root for
// each process. A call is one call of an MPI function as the trace knows it: its
// actions, the posts first. Before each call lies computation, one entry of the
// process's computation vector (a [Calc]), and one more after the last call.
//
// # Time
//
// All times are integer picoseconds (int64, 106 days). Rates per byte are
// [Rate], picoseconds with 32 binary places; a product is rounded down.
package simnet
