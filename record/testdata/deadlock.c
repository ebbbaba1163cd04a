/*
 * Threads of process 0 take two mutexes in different orders, and have both for ever; its first thread waits for them. Process 1 ends the
 * program when the file is there that is named.
 */
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *forward(void *unused)
{
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&b); /* waits for backward */
	return unused;
}

static void *backward(void *unused)
{
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&a); /* waits for forward */
	return unused;
}

int main(int argc, char **argv)
{
	int rank, provided;
	pthread_t t[2];
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		pthread_barrier_init(&both, NULL, 2);
		pthread_create(&t[0], NULL, forward, NULL);
		pthread_create(&t[1], NULL, backward, NULL);
		pthread_join(t[0], NULL); /* waits for both */
	}
	while (rank == 1 && access(argv[1], F_OK) != 0)
		usleep(10000);
	MPI_Abort(MPI_COMM_WORLD, 3);
}
