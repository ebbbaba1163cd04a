/*
 * POSIX threads that wait for each other in every way, so many rounds. The first thread has what the other wants until it has slept for 20 ms. It prints
 * a sum that has one right value, how many threads it made, and how often a wait took 1 ms or more in which it slept, or ran in a spin lock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t there, semaphore, never;
static int sum, ready, waits;
static volatile sig_atomic_t signals;

static double now(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* slept is a time in which this thread does not want a processor: a thread that lost its own just before a call may find there that it need
 * not wait. */
static double slept(void)
{
	unsigned long long run = 0, delay = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	if (f && fscanf(f, "%llu %llu", &run, &delay) != 2)
		run = delay = 0;
	if (f)
		fclose(f);
	return now(CLOCK_MONOTONIC) - 1e-9 * (double)(run + delay);
}

static double ran(void) { return now(CLOCK_THREAD_CPUTIME_ID); }

/* The other thread says that it is about to wait; how long it did counts. */
#define WAITS(clock, call) \
	do { \
		sem_post(&there); \
		double t = clock(); \
		if ((call) != 0) \
			abort(); \
		waits += clock() - t >= 1e-3; \
	} while (0)

static void *worker(void *argument)
{
	pthread_setname_np(pthread_self(), "the other");
	WAITS(slept, pthread_mutex_lock(&mutex));
	sum++;
	pthread_mutex_unlock(&mutex);
	WAITS(slept, pthread_rwlock_rdlock(&rwlock));
	sum++;
	pthread_rwlock_unlock(&rwlock);
	WAITS(ran, pthread_spin_lock(&spin));
	sum++;
	pthread_spin_unlock(&spin);
	WAITS(slept, sem_wait(&semaphore));
	sum++;
	pthread_mutex_lock(&mutex);
	sem_post(&there);
	double t = slept();
	while (!ready)
		pthread_cond_wait(&cond, &mutex);
	waits += slept() - t >= 1e-3;
	sum++;
	pthread_mutex_unlock(&mutex);
	sem_post(&there);
	t = slept();
	pthread_barrier_wait(&barrier);
	waits += slept() - t >= 1e-3;
	return argument;
}

static void until_there(void)
{
	struct timespec t = {0, 20000000};
	while (sem_wait(&there) != 0)
		;
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) != 0)
		;
}

static void handler(int number)
{
	(void)number;
	signals++;
	sem_post(&semaphore);
}

static void *cancelled(void *argument)
{
	sem_wait(&never);
	return argument;
}

static void *calls_exit(void *argument) { pthread_exit(argument); }

/* What a thread of C++ does where it is interrupted; a child that has threads of its own; locks that fail. */
static void others(void)
{
	pthread_t t;
	void *result;
	struct timespec past = {1, 0};
	pthread_create(&t, NULL, cancelled, NULL);
	pthread_cancel(t);
	pthread_join(t, &result);
	sum += result == PTHREAD_CANCELED;
	pthread_create(&t, NULL, calls_exit, &sum);
	pthread_join(t, &result);
	sum += result == &sum;
	pthread_mutex_lock(&mutex);
	sum += pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT;
	sum += pthread_cond_timedwait(&cond, &mutex, &past) == ETIMEDOUT;
	pthread_mutex_unlock(&mutex);
	errno = 0;
	sum += sem_timedwait(&never, &past) == -1 && errno == ETIMEDOUT;
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	sem_wait(&semaphore);
	sum += signals == 1;
	pid_t child = fork();
	if (child == 0) {
		alarm(60);
		pthread_create(&t, NULL, calls_exit, NULL);
		pthread_join(t, NULL);
		pthread_mutex_lock(&mutex);
		_exit(pthread_mutex_trylock(&mutex) == EBUSY ? 7 : 1);
	}
	int status = 0;
	waitpid(child, &status, 0);
	sum += WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

/* A thread that goes on when MPI ends, in locks that nobody else wants. */
static void *goes_on(void *argument)
{
	sem_post(&there);
	for (;;) {
		pthread_mutex_lock(&other);
		pthread_mutex_unlock(&other);
	}
	return argument;
}

int main(int argc, char **argv)
{
	int level, made = 0, rounds = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t t;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&there, 0, 0);
	sem_init(&semaphore, 0, 0);
	sem_init(&never, 0, 0);
	for (int i = 0; i < rounds; i++) {
		ready = 0;
		pthread_mutex_lock(&mutex);
		pthread_rwlock_wrlock(&rwlock);
		pthread_spin_lock(&spin);
		pthread_create(&t, NULL, worker, NULL);
		until_there();
		pthread_mutex_unlock(&mutex);
		until_there();
		pthread_rwlock_unlock(&rwlock);
		until_there();
		pthread_spin_unlock(&spin);
		until_there();
		sem_post(&semaphore);
		until_there();
		pthread_mutex_lock(&mutex);
		ready = 1;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
		until_there();
		pthread_barrier_wait(&barrier);
		pthread_join(t, NULL);
		made++;
	}
	others();
	made += 2;
	pthread_create(&t, NULL, goes_on, NULL);
	pthread_detach(t);
	while (sem_wait(&there) != 0)
		;
	made++;
	MPI_Barrier(MPI_COMM_WORLD);
	printf("%d %d %d\n", sum, made, waits);
	MPI_Finalize();
	return 0;
}
