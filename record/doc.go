// Package record traces MPI programs: the recorder that is loaded into every process, made for the MPI library at hand,
// and the launch of a program with it.
//
// The recorder is C (folder runtime) and wrappers made from the library's mpi.h (generate): a wrapper for every function,
// for C and for the Fortran bindings. It writes a recording, which package trace/recording reads.
package record
