// Package jobs has what all jobs share that run over the ranks of a communicator: exit codes (ExitCode) and agreement on errors (Agree),
// progress (Meter, Status), requests to stop (Stop), a watchdog (Watchdog), the memory of a rank (MemoryNeed), inputs (OpenTrace), and
// the provenance of files. The jobs themselves are in the packages below it: analyze, archive, levers, prediction.
//
// # Errors
//
// Every stage ends with an agreement: all ranks return the same error, the most severe one. ExitCode returns the exit status of the
// process for it.
//
// # Stop and hang
//
// Signals ask a Stop, which ends a job on all ranks. A Watchdog reports where a rank hangs.
//
// # Memory per rank
//
// Definitions, the builders of one location and one decoder are the fixed part; the segment store gets what the budget leaves. See
// docs/memory.md.
package jobs
