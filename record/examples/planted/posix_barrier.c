/* Two POSIX threads meet in a barrier, 8 times; the first one works 40 ms longer: even work of both is 20 ms shorter. */
#include "planted.h"

#include <pthread.h>

enum { ROUNDS = 8 };

static pthread_barrier_t barrier;
static double came[2][ROUNDS];

void *team(void *argument)
{
	int me = argument != NULL;
	for (int i = 0; i < ROUNDS; i++) {
		work(me == 0 ? 50 : 10);
		came[me][i] = now();
		pthread_barrier_wait(&barrier); /* waits */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	double waits = 0;
	begin(&argc, &argv, 1);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, team, came);
	team(NULL);
	pthread_join(thread, NULL);
	finish();
	for (int i = 0; i < ROUNDS; i++)
		waits += late(came[1][i], came[0][i]);
	result("thread_imbalance", 0, "pthread_barrier_wait", waits / 2, NULL, 0);
	return 0;
}
