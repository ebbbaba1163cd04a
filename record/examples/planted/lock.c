/* The first thread of process 0 holds a lock for 40 ms, 8 times, and the other one wants it meanwhile. */
#include "planted.h"

#include <pthread.h>
#include <semaphore.h>

enum { ROUNDS = 8 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, wants, done;
static double wanted[ROUNDS], given[ROUNDS];

void *other(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (sem_wait(&held) != 0)
			;
		wanted[i] = now();
		sem_post(&wants);
		pthread_mutex_lock(&mutex); /* waits */
		pthread_mutex_unlock(&mutex);
		sem_post(&done);
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	begin(&argc, &argv, 1);
	sem_init(&held, 0, 0);
	sem_init(&wants, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		sem_post(&held);
		while (sem_wait(&wants) != 0)
			;
		work(40);
		given[i] = now();
		pthread_mutex_unlock(&mutex);
		while (sem_wait(&done) != 0)
			;
	}
	pthread_join(thread, NULL);
	finish();
	double waits = 0;
	for (int i = 0; i < ROUNDS; i++)
		waits += late(wanted[i], given[i]);
	result("lock_wait", 0, "pthread_mutex_lock", waits, NULL, 0);
	return 0;
}
