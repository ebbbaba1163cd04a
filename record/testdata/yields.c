/* Process 0 gives its processor away again and again for 400 ms, as runtimes of OpenMP do that wait; process 1 computes so long. */
#include <mpi.h>
#include <sched.h>

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	for (double end = MPI_Wtime() + 0.4; MPI_Wtime() < end;)
		if (rank == 0)
			sched_yield();
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
