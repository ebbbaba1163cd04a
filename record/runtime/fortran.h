/* What the generated wrappers call to look at arguments, and to turn those of Fortran into those of C. */
#ifndef COPPICE_FORTRAN_H
#define COPPICE_FORTRAN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define FEW 32 /* requests of a call that need no memory from the heap */
#define STATUS_INTS ((int)(sizeof(MPI_Status) / sizeof(MPI_Fint)))
#define HIDDEN __attribute__((visibility("hidden")))

extern const char cr_functions[]; /* names of the wrapped functions, a line each */
extern const char cr_classes[];   /* and what the receive log has of them, a letter each */

/* cr_library finds the function that the wrapper of the same name is before. */
HIDDEN void *cr_library(const char *symbol);

/* cr_symbol finds a symbol in what comes after the recorder, and in MPI libraries that only their users see; NULL for none. */
HIDDEN void *cr_symbol(const char *symbol);

/* cr_other_library tells the path of a loaded MPI library that the recorder is not made for. */
HIDDEN int cr_other_library(char *path, size_t size);

/* Whether a call that returned this code received what it was for: with success, or with a message longer than its buffer. Where
 * the code says so the status has that of one of several; cr_in_status tells such a code. */
HIDDEN int cr_taken(int code, const MPI_Status *status);
HIDDEN int cr_in_status(int code);

/* Copies of arrays, in few if they fit; NULL without memory, where the recording ends. A null pointer has null requests. */
HIDDEN MPI_Request *cr_saved(MPI_Request *few, const MPI_Request *requests, int n);
HIDDEN MPI_Status *cr_statuses(MPI_Status *few, int n);
HIDDEN MPI_Request *cr_requests(MPI_Request *few, const void *fortran, int n);
HIDDEN MPI_Fint *cr_fortran_statuses(const void *statuses, MPI_Fint *few, int n); /* NULL where the program wants them */
HIDDEN int cr_status_ignored(const void *status);

/* Sizes of collectives. */
HIDDEN int cr_in_place(const void *buffer);
HIDDEN uint64_t cr_peers(MPI_Comm comm);
HIDDEN int cr_rank(MPI_Comm comm);
HIDDEN int cr_at_root(MPI_Comm comm, int root);
HIDDEN uint64_t cr_own(const void *buffer, MPI_Count count, MPI_Datatype type);
HIDDEN uint64_t cr_vector_int(MPI_Comm comm, const int *counts, MPI_Datatype type);
HIDDEN uint64_t cr_vector_count(MPI_Comm comm, const MPI_Count *counts, MPI_Datatype type);
HIDDEN uint64_t cr_types_int(MPI_Comm comm, const int *counts, const MPI_Datatype *types);
HIDDEN uint64_t cr_types_count(MPI_Comm comm, const MPI_Count *counts, const MPI_Datatype *types);
HIDDEN uint64_t cr_fortran_types(MPI_Comm comm, const int *counts, const MPI_Fint *types);
#define cr_vector(comm, counts, type) \
	_Generic(&(counts)[0], int *: cr_vector_int, const int *: cr_vector_int, MPI_Count *: cr_vector_count, const MPI_Count *: cr_vector_count)(comm, counts, type)
#define cr_types(comm, counts, types) \
	_Generic(&(counts)[0], int *: cr_types_int, const int *: cr_types_int, MPI_Count *: cr_types_count, const MPI_Count *: cr_types_count)(comm, counts, types)

/* Matched probes: the communicator of a message. */
HIDDEN void cr_message(MPI_Message message, MPI_Comm comm);
HIDDEN MPI_Comm cr_message_comm(const MPI_Message *message);

#endif
