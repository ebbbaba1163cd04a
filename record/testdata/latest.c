/* Steps with a message around the ring, many small messages to itself, and an allreduce in which the last process is late. Prints the rank and when it came to the
 * allreduce of each of the last ten steps, by the host's clock. With another argument it ends by a signal, inside of the region, and writes that to the file of this name:
 * what a launcher that kills prints may be lost. The line is one write: where MPI makes stdout unbuffered, as MPICH does, lines of two processes would mix. */
#include <coppice.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, in, out = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const int steps = atoi(argv[1]), each = 2000;
	struct timespec *came = calloc((size_t)steps, sizeof *came);
	COPPICE_BEGIN("solver");
	for (int step = 0; step < steps; step++) {
		MPI_Request r;
		MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &r);
		for (int i = 0; i < each; i++)
			MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
		MPI_Send(&out, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		if (rank == size - 1 && step >= steps - 10)
			usleep(20000);
		clock_gettime(CLOCK_MONOTONIC, &came[step]);
		MPI_Allreduce(&step, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	}
	FILE *to = argc > 2 ? fopen(argv[2], "a") : stdout;
	if (!to)
		MPI_Abort(MPI_COMM_WORLD, 3);
	char line[512];
	int n = snprintf(line, sizeof line, "%d", rank);
	for (int step = steps - 10; step < steps; step++)
		n += snprintf(line + n, sizeof line - (size_t)n, " %.6f", (double)came[step].tv_sec + 1e-9 * (double)came[step].tv_nsec);
	fprintf(to, "%s\n", line);
	fflush(to);
	MPI_Barrier(MPI_COMM_WORLD);
	if (argc > 2)
		raise(SIGKILL);
	COPPICE_END("solver");
	MPI_Finalize();
	return 0;
}
