/* Prints ns of processor time per call of MPI_Comm_rank, of MPI_Sendrecv to oneself, and of MPI_Comm_rank below eight functions that
 * are called along paths that change from call to call, by CLOCK_PROCESS_CPUTIME_ID. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static __attribute__((noinline)) int deep(int level, int path)
{
	int rank = 0;
	if (level == 0)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	else if (path & 1)
		rank = deep(level - 1, path >> 1) + 1;
	else
		rank = deep(level - 1, path >> 1) + 2;
	return rank;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000000, rank;
	volatile int sum = 0;
	char in[8], out[8] = "";
	MPI_Init(&argc, &argv);
	double a = seconds();
	for (int i = 0; i < n; i++)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	double b = seconds();
	for (int i = 0; i < n; i++)
		MPI_Sendrecv(out, 8, MPI_BYTE, 0, 1, in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	double c = seconds();
	for (int i = 0; i < n; i++)
		sum += deep(8, i & 3);
	double d = seconds();
	printf("%.1f %.1f %.1f\n", (b - a) / n * 1e9, (c - b) / n * 1e9, (d - c) / n * 1e9);
	MPI_Finalize();
	return 0;
}
