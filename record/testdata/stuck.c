/* Process 1 waits for a message that process 0 sends when a file is there. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, x = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && access(argv[1], F_OK) != 0 && i < 1200; i++)
		usleep(100000);
	if (rank == 0)
		MPI_Send(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
	else
		MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* hangs */
	MPI_Finalize();
	printf("done\n");
	return 0;
}
