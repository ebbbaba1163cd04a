/* A library that the program loads while it runs. */
#include <mpi.h>

static __attribute__((noinline)) int inside(void)
{
	int rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* in inside */
	return rank + 1;
}

int plugged(void) { return inside() + 1; }
