/* What generated wrappers call to examine arguments and to convert those of Fortran. */
#ifndef COPPICE_FORTRAN_H
#define COPPICE_FORTRAN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define FEW 32 /* requests of a call up to which no heap memory is needed */
#define STATUS_INTS ((int)(sizeof(MPI_Status) / sizeof(MPI_Fint)))
#define HIDDEN __attribute__((visibility("hidden")))

extern const char cr_functions[]; /* names of the wrapped functions, one line each */
extern const char cr_classes[];   /* their classes in the receive log, one letter each */

/* cr_library returns the function that the wrapper of the same name hides. */
HIDDEN void *cr_library(const char *symbol);

/* cr_symbol searches the libraries that come after the recorder, then MPI libraries opened with RTLD_LOCAL. NULL: not found. */
HIDDEN void *cr_symbol(const char *symbol);

/* cr_other_library reports whether a loaded MPI library is not the one that the recorder was made for, and copies its path. */
HIDDEN int cr_other_library(char *path, size_t size);

/* cr_taken returns whether a receive that returned this code has a message: it succeeded, or the message was longer than the buffer. If
 * the code says that errors are in the statuses (cr_in_status), the status of the request decides. */
HIDDEN int cr_taken(int code, const MPI_Status *status);
HIDDEN int cr_in_status(int code);

/* Copies of arrays. They use few if that is large enough; NULL: no memory, the recording ends. requests may be NULL. */
HIDDEN MPI_Request *cr_saved(MPI_Request *few, const MPI_Request *requests, int n);
HIDDEN MPI_Status *cr_statuses(MPI_Status *few, int n);
HIDDEN MPI_Request *cr_requests(MPI_Request *few, const void *fortran, int n);
HIDDEN MPI_Fint *cr_fortran_statuses(const void *statuses, MPI_Fint *few, int n); /* NULL if the program passed an array itself */
HIDDEN int cr_status_ignored(const void *status);

/* Bytes of collectives. */
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

/* Matched probes: the communicator on which a message was found. */
HIDDEN void cr_message(MPI_Message message, MPI_Comm comm);
HIDDEN MPI_Comm cr_message_comm(const MPI_Message *message);

#endif
