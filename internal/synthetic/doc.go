// Package synthetic makes runs of programs with known faults, of any size.
//
//	o, err := synthetic.ParseOptions("stencil:procs=64,events=20M,jitter=5,seed=1")
//	src, err := synthetic.New(o)         // a trace.Source
//
// # Programs
//
//	stencil       halo exchange in two dimensions: Irecv, Isend, Waitall; Allreduce every few steps
//	ring          Send to the right, Recv from the left
//	wavefront     sweeps over a grid: Recv west and north, compute, Send east and south
//	masterworker  tasks for whoever comes first: wildcard Recv, synchronous results
//	irregular     random call trees, partners, sizes; collectives, also non-blocking, on three kinds of communicators
//
// All begin with main and MPI_Init and end with a barrier and MPI_Finalize.
// With too few events for that, main is all there is. Options add threads,
// nested functions, counters, parameters, I/O, clock errors and faults.
//
// # Time
//
// A source is made while it is read. The main loop runs in slots of fixed
// length, long enough for the slowest process, so that a step depends on its
// number and on hashes only and any chunk can be made without the others.
// Within a step, waiting follows from the partners' hashed times: no message
// arrives before it was sent plus its flight time, and no collective ends
// before those have come that it waits for. A delay does not travel into the
// next step, except along the diagonals of the wavefront. One tick is 1 ns.
//
// # Known results
//
// Package oracle computes them from the events and knows nothing about programs; its
// tests list what an analysis has to report about the planted faults.
//
// # Memory and concurrency
//
// A Source holds its definitions. A stream takes 8 bytes per chunk, a chunk
// reader nothing but the caller's batch, which gets whole steps: 4096 events
// and one step more. A step of the master in masterworker serves at most 32
// workers. All methods are safe for concurrent use, readers belong to one
// goroutine each.
//
// The package imports trace alone.
package synthetic
