// Package record runs an MPI program with a recorder in each of its processes and makes an OTF2 archive of what they wrote. It also replays
// the recorded computation of single processes.
//
// The recorder is a shared library in C. It consists of the sources in runtime and of generated wrappers, one for each function of the MPI
// library's mpi.h, in C and Fortran. Sources in posix (file I/O) and pthreads (threads) are added on demand. Library compiles it for an MPI
// library and keeps it in a cache.
//
// Run finds the program and its launcher in a command, adds LD_PRELOAD to the environment of the ranks, waits for the command, and calls
// Finish. Every process writes its own files to the folder "recording", which package trace/recording reads; Finish copies them to an
// archive. RunReplay starts the program alone, with a library that answers its MPI calls from a receive log (docs/format/log.md), and
// measures a Vector: the computation between the calls.
package record
