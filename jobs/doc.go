// Package jobs holds what every launch has, collectively over the ranks of a
// communicator: exit codes and agreement on errors, progress, requests to stop,
// a watchdog, the memory of a rank, inputs. The jobs themselves are in the packages below it.
//
// # Errors
//
// Every stage ends with an agreement: all ranks return the same error, the most
// severe one. ExitCode gives the process's exit status for it.
//
// # Stop and hang
//
// A Stop, which signals ask, ends a job on all ranks. A Watchdog tells where a rank hangs.
//
// # Memory per rank
//
// See docs/memory.md. Definitions, one location's builders and one decoder are
// the fixed part; the segment store takes what the budget leaves.
package jobs
