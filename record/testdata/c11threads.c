// Threads of C11 that wait for a mutex, a condition and each other's end. Prints a sum that has one right value, and the seconds that a thread waited for the mutex
// by its own clock.
#include <mpi.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t guard;
static cnd_t changed;
static int sum;
static double waited;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int blocked(void *number)
{
	double begin = now();
	sum += mtx_lock(&guard) == thrd_success; // the waiting line
	waited = now() - begin;
	sum += 10;
	cnd_signal(&changed);
	mtx_unlock(&guard);
	return *(int *)number;
}

int main(int argc, char **argv)
{
	thrd_t thread;
	int number = 100, result = 0;
	struct timespec until, pause = {0, 400000000};
	MPI_Init(&argc, &argv);
	mtx_init(&guard, mtx_timed);
	cnd_init(&changed);
	mtx_lock(&guard);
	thrd_create(&thread, blocked, &number);
	thrd_sleep(&pause, NULL);
	while (sum < 11)
		cnd_wait(&changed, &guard);
	timespec_get(&until, TIME_UTC);
	if (cnd_timedwait(&changed, &guard, &until) == thrd_timedout && mtx_trylock(&guard) == thrd_busy && mtx_timedlock(&guard, &until) == thrd_timedout)
		sum += 1000;
	mtx_unlock(&guard);
	thrd_join(thread, &result);
	printf("%d %.6f\n", sum + result, waited);
	MPI_Finalize();
	return 0;
}
