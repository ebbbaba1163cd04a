/*
 * A parallel region whose first thread works longer than the others, by the program's own clock, then so many rounds of nested regions, locks, critical
 * sections and tasks. It prints by what the longest works above the mean, and a sum that has one right value.
 */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 3

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int rank, sum = 0, rounds = atoi(argv[1]);
	omp_lock_t lock;
	double works[THREADS], longest = 0, more = 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	omp_init_lock(&lock);
#ifdef ALLOCATES
	omp_free(omp_alloc(1, omp_default_mem_alloc), omp_default_mem_alloc);
#endif
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(THREADS)
	{
		double from = omp_get_wtime();
		usleep(omp_get_thread_num() == 0 ? 400000 : 100000);
		works[omp_get_thread_num()] = omp_get_wtime() - from;
	}
	for (int i = 0; i < THREADS; i++)
		longest = works[i] > longest ? works[i] : longest;
	for (int i = 0; i < THREADS; i++)
		more += (longest - works[i]) / THREADS;
	for (int round = 0; round < rounds; round++) {
#pragma omp parallel num_threads(THREADS)
		{
#pragma omp parallel num_threads(2)
			{
				omp_set_lock(&lock);
				sum++;
				omp_unset_lock(&lock);
			}
#pragma omp barrier
#pragma omp critical
			{
				/* A task of the first one through may add at the same time. */
#pragma omp atomic
				sum++;
			}
#pragma omp single
			for (int i = 0; i < 4; i++)
#pragma omp task
			{
#pragma omp task
#pragma omp atomic
				sum++;
#pragma omp taskwait
			}
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d %.6f\n", sum, more);
	MPI_Finalize();
	return 0;
}
