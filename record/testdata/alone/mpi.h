/* MPI of one process without a library: what planted programs of one process call. */
#pragma once
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MPI_COMM_WORLD, MPI_COMM_SELF, MPI_BYTE, MPI_DOUBLE };
#define MPI_STATUS_IGNORE NULL
#define MPI_Init(argc, argv) ((void)(argc), (void)(argv))
#define MPI_Comm_rank(comm, rank) (*(rank) = 0)
#define MPI_Comm_size(comm, size) (*(size) = 1)
#define MPI_Barrier(comm) ((void)0)
#define MPI_Sendrecv(out, n, type, to, tag, in, m, type2, from, tag2, comm, status) ((void)(tag))
#define MPI_Gather(out, n, type, in, m, type2, root, comm) memcpy(in, out, (n) * sizeof(double))
#define MPI_Abort(comm, code) exit(code)
#define MPI_Finalize() ((void)0)

static inline double MPI_Wtime(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
