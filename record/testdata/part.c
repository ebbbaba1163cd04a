/* Twelve steps, each a region, in which process 1 is late for the others. Messages, requests and a collective go from one step to the next.
 * It prints, for each step and process, what the step's receive and allreduce waited by MPI_Wtime, and when the step began after MPI_Init. */
#include <coppice.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEPS 12

int main(int argc, char **argv)
{
	int rank, size, in = 0, across = 0, ahead = 0, sum;
	double waited[STEPS], reduced[STEPS], began[STEPS];
	MPI_Request posted = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL, sums = MPI_REQUEST_NULL;
	MPI_Comm pair;
	MPI_Init(&argc, &argv);
	double start = MPI_Wtime();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_dup(MPI_COMM_WORLD, &pair);
	const int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (int step = 0; step < STEPS; step++) {
		COPPICE_BEGIN("step");
		MPI_Pcontrol(2);
		began[step] = MPI_Wtime() - start;
		if (rank == 1)
			usleep(30000);
		double t = MPI_Wtime();
		if (rank == 1)
			for (int r = 0; r < size; r++)
				r != 1 ? MPI_Send(&step, 1, MPI_INT, r, 3, pair) : 0;
		else
			MPI_Recv(&in, 1, MPI_INT, 1, 3, pair, MPI_STATUS_IGNORE); /* waits */
		waited[step] = rank == 1 ? 0 : MPI_Wtime() - t;
		if (rank == 0)
			usleep(10000);
		t = MPI_Wtime();
		MPI_Allreduce(&step, &sum, 1, MPI_INT, MPI_SUM, pair);
		reduced[step] = MPI_Wtime() - t;
		/* What the last step sent is received now; what was posted in the last step is done now. */
		if (step > 0)
			MPI_Recv(&across, 1, MPI_INT, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&sending, MPI_STATUS_IGNORE);
		MPI_Isend(&step, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &sending);
		if (step > 0)
			MPI_Send(&step, 1, MPI_INT, next, 8, MPI_COMM_WORLD);
		MPI_Wait(&posted, MPI_STATUS_IGNORE);
		MPI_Irecv(&ahead, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &posted);
		MPI_Wait(&sums, MPI_STATUS_IGNORE);
		MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &sums);
		COPPICE_END("step");
	}
	MPI_Recv(&across, 1, MPI_INT, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&sending, MPI_STATUS_IGNORE);
	MPI_Send(&in, 1, MPI_INT, next, 8, MPI_COMM_WORLD);
	MPI_Wait(&posted, MPI_STATUS_IGNORE);
	MPI_Wait(&sums, MPI_STATUS_IGNORE);
	double all[3][STEPS * 64];
	double *mine[3] = {waited, reduced, began};
	for (int i = 0; i < 3; i++)
		MPI_Gather(mine[i], STEPS, MPI_DOUBLE, all[i], STEPS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int r = 0; rank == 0 && r < size; r++)
		for (int step = 0; step < STEPS; step++)
			printf("%d %d %.6f %.6f %.6f\n", r, step, all[0][r * STEPS + step], all[1][r * STEPS + step], all[2][r * STEPS + step]);
	MPI_Finalize();
	return 0;
}
