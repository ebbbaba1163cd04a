/*
 * Steps of a team of OpenMP next to a POSIX thread. All compute 70 % of their time in heavy and 30 % in light, by their own processor time: the team in each
 * step, the thread for as long. With a number of locks, each of the team takes its own so often in a step instead. It prints the sum of the team's steps, and both
 * times of all threads of the process in s.
 */
#include "../include/coppice.h"
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double in[2];

static double spent(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) static double heavy(double from)
{
	while (spent() < from + 0.014)
		;
	return spent() - from;
}

__attribute__((noinline)) static double light(double from)
{
	while (spent() < from + 0.006)
		;
	return spent() - from;
}

static void compute(void)
{
	double h = heavy(spent()), l = light(spent());
	pthread_mutex_lock(&lock);
	in[0] += h;
	in[1] += l;
	pthread_mutex_unlock(&lock);
}

static void *worker(void *steps)
{
	for (int i = 0; i < *(int *)steps; i++)
		compute();
	return NULL;
}

int main(int argc, char **argv)
{
	int steps = atoi(argv[1]), locks = argc > 2 ? atoi(argv[2]) : 0, none = 0, rank, provided, sum = 0;
	pthread_t thread;
	omp_lock_t own[THREADS];
	for (int i = 0; i < THREADS; i++)
		omp_init_lock(&own[i]);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	pthread_create(&thread, NULL, worker, locks ? &none : &steps);
	for (int i = 0; i < steps; i++) {
		COPPICE_BEGIN("step");
#pragma omp parallel num_threads(THREADS)
		{
			for (int k = 0; k < locks; k++) {
				omp_set_lock(&own[omp_get_thread_num()]);
				omp_unset_lock(&own[omp_get_thread_num()]);
			}
			if (!locks)
				compute();
#pragma omp critical
			sum++;
		}
		MPI_Barrier(MPI_COMM_WORLD);
		COPPICE_END("step");
	}
	pthread_join(thread, NULL);
	printf("%d %.6f %.6f\n", sum, in[0], in[1]);
	MPI_Finalize();
	return 0;
}
