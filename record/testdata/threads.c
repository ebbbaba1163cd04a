/* Threads that call MPI at the same time. Some still do when the main thread ends MPI's use: see main. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3
#define ROUNDS 200

static int rank, size;
static MPI_Comm comms[THREADS];

static void *work(void *arg)
{
	int id = (int)(long)arg, in, sum;
	MPI_Request r[2];
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, id, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(&i, 1, MPI_INT, (rank + 1) % size, id, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		if (in != i)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Allreduce(&id, &sum, 1, MPI_INT, MPI_SUM, comms[id]);
	return NULL;
}

static void *once(void *unused)
{
	int flag;
	MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	return unused;
}

static void *forever(void *unused)
{
	int flag;
	for (;;)
		MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	return unused;
}

int main(int argc, char **argv)
{
	int provided;
	pthread_t t[THREADS];
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	if (provided < MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 77);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (long i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
	for (int i = 0; argc > 1 && argv[1][0] == 'm' && i < 500; i++) { /* many, one after the other */
		pthread_create(&t[0], NULL, once, NULL);
		pthread_join(t[0], NULL);
	}
	if (argc > 1 && argv[1][0] == 'e') { /* ends while threads are in MPI */
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, forever, NULL);
		MPI_Barrier(MPI_COMM_WORLD);
		exit(0);
	}
	MPI_Finalize();
	return 0;
}
