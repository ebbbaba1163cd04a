/* Two threads of OpenMP compute 20 ms of processor time each, 10 times, on the one processor that the process may use. Prints for how long the first
 * thread had none. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double clock_of(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	double wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < 10; i++) {
#pragma omp parallel num_threads(2)
		for (double end = clock_of(CLOCK_THREAD_CPUTIME_ID) + 0.020; clock_of(CLOCK_THREAD_CPUTIME_ID) < end;)
			;
	}
	printf("%.6f\n", clock_of(CLOCK_MONOTONIC) - wall - (clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu));
	MPI_Finalize();
	return 0;
}
