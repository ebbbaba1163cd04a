/* Starts two processes, which send to their parents after a while. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	MPI_Comm parent, other;
	int rank, x = 7;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_get_parent(&parent);
	if (parent == MPI_COMM_NULL) {
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
		MPI_Recv(&x, 1, MPI_INT, rank, 0, other, MPI_STATUS_IGNORE);
		printf("got %d\n", x);
		MPI_Comm_disconnect(&other);
	} else {
		x = 40 + rank;
		usleep(50000);
		MPI_Send(&x, 1, MPI_INT, rank, 0, parent);
		MPI_Comm_disconnect(&parent);
	}
	MPI_Finalize();
	return 0;
}
