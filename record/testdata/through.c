/* A library without lines, whose frames have the same size in each call, and not. */
#include <mpi.h>

static __attribute__((noinline)) void swaying(int n)
{
	volatile int room[n];
	room[n - 1] = n;
	MPI_Allreduce(MPI_IN_PLACE, (void *)&room[n - 1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	room[0] = room[n - 1];
}

void plugged(void)
{
	for (int i = 0; i < 40; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		swaying(16 * i + 16);
	}
}
