/* Each process computes 50 ms of processor time between two barriers, and says what it had of its processor. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double clock_of(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	int rank, size;
	struct rusage r;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	double wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_THREAD_CPUTIME_ID), end = cpu + 0.050;
	while (clock_of(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	wall = clock_of(CLOCK_MONOTONIC) - wall - (clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu);
	MPI_Barrier(MPI_COMM_WORLD);
	getrusage(RUSAGE_THREAD, &r);
	double mine[3] = {clock_of(CLOCK_THREAD_CPUTIME_ID), wall, (double)r.ru_nivcsw}, all[8 * 3];
	MPI_Gather(mine, 3, MPI_DOUBLE, all, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < size; i++) /* since the process began, so with MPI_Init */
		printf("%.6f %.6f %.0f\n", all[3 * i], all[3 * i + 1], all[3 * i + 2]);
	MPI_Finalize();
	return 0;
}
