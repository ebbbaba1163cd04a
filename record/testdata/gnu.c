/*
 * OpenMP as the NAS parallel benchmarks have it, for GNU's runtime: conjugate gradients with loops and reductions in one parallel region, loops of each
 * schedule, sections, single, critical sections, locks, ordered and tasks. The sums of integers have one right value, and it prints them, with the residual.
 */
#include <math.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

#define N 2000
#define ROUNDS 10
#define THREADS 3

static double x[N], r[N], p[N], q[N];

/* solve does some steps with the matrix that has 4 on its diagonal and -1 next to it. */
static double solve(void)
{
	double rho = 0, d = 0, before = 0;
#pragma omp parallel num_threads(THREADS)
	{
#pragma omp for reduction(+ : rho)
		for (int i = 0; i < N; i++) {
			x[i] = 0;
			r[i] = p[i] = 1;
			rho += 1;
		}
		for (int step = 0; step < 25; step++) {
#pragma omp single
			{
				d = 0;
				before = rho;
				rho = 0;
			}
#pragma omp for reduction(+ : d)
			for (int i = 0; i < N; i++) {
				q[i] = 4 * p[i] - (i > 0 ? p[i - 1] : 0) - (i + 1 < N ? p[i + 1] : 0);
				d += p[i] * q[i];
			}
			double alpha = before / d;
#pragma omp for reduction(+ : rho)
			for (int i = 0; i < N; i++) {
				x[i] += alpha * p[i];
				r[i] -= alpha * q[i];
				rho += r[i] * r[i];
			}
			double beta = rho / before;
#pragma omp for
			for (int i = 0; i < N; i++)
				p[i] = r[i] + beta * p[i];
		}
	}
	return sqrt(rho);
}

int main(int argc, char **argv)
{
	int rank, provided;
	long sum = 0, ordered = 0, locked = 0;
	omp_lock_t lock;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	omp_init_lock(&lock);
	double rest = solve();
	for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(THREADS)
		{
#pragma omp for schedule(dynamic, 7) nowait
			for (int i = 0; i < 100; i++)
#pragma omp atomic
				sum += i;
#pragma omp for schedule(guided)
			for (int i = 0; i < 100; i++)
#pragma omp atomic
				sum += i;
#pragma omp for ordered schedule(static, 1)
			for (int i = 0; i < 6; i++)
#pragma omp ordered
				ordered = ordered * 3 % 1000003 + i;
#pragma omp critical
			sum++;
			omp_set_lock(&lock);
			locked++;
			omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp sections
			{
#pragma omp section
#pragma omp atomic
				sum += 2;
#pragma omp section
#pragma omp atomic
				sum += 3;
			}
#pragma omp single
			for (int i = 0; i < 4; i++)
#pragma omp task
			{
#pragma omp atomic
				sum++;
			}
#pragma omp barrier
		}
	}
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%ld %ld %ld %.6e\n", sum, locked, ordered, rest);
	MPI_Finalize();
	return 0;
}
