/* Eight processes compute at the same time, 40 ms each of a processor: more processes than processors. */
#include "planted.h"

enum { ROUNDS = 2, PROCESSES = 8 };

HELPER double used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void compute(void)
{
	double end = used() + 0.020;
	while (used() < end)
		;
}

int main(int argc, char **argv)
{
	double mine = 1, all, computing = 0;
	begin(&argc, &argv, PROCESSES);
	for (int i = 0; i < ROUNDS; i++) {
		double start = now();
		compute();
		computing += now() - start - 0.020; /* without a processor */
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	finish();
	for (int p = 0; rank == 0 && p < size; p++)
		planted += noted[p][NOTES + 2];
	result("oversubscription", -1, "compute", computing, NULL, 0);
	return 0;
}
