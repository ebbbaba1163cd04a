/* Prints ns of processor time per call of MPI_Comm_rank and of MPI_Sendrecv to oneself, by CLOCK_PROCESS_CPUTIME_ID. */
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

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000000, rank;
	char in[8], out[8] = "";
	MPI_Init(&argc, &argv);
	double a = seconds();
	for (int i = 0; i < n; i++)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	double b = seconds();
	for (int i = 0; i < n; i++)
		MPI_Sendrecv(out, 8, MPI_BYTE, 0, 1, in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	double c = seconds();
	printf("%.1f %.1f\n", (b - a) / n * 1e9, (c - b) / n * 1e9);
	MPI_Finalize();
	return 0;
}
