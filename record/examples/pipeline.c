/*
 * A pipeline: process 0 produces items, the processes between take them in turn and work on them, the last one collects
 * the results in the order in which they arrive.
 *
 *   mpicc -O2 -I../include pipeline.c -o pipeline
 *   mpirun -n 4 ./pipeline --size 512 --steps 100 --imbalance 50
 *
 * An item is --size numbers, --steps is how many items there are. The producer hands out with Ssend, so it waits for a worker
 * that is after; a worker has the receive of its next item in progress (Recv_init, Start) while it works on one; the
 * consumer receives from anybody.
 * --compute=busy works size x size times a number, --compute=sleep sleeps instead, one microsecond for each 1000 times.
 * --imbalance P gives the last worker P per cent more work, --slow F all workers F times the work, and --delay-us D is a
 * sleep before each send.
 */
#include "coppice_intervals.h"
#include "options.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUN = 1, PRODUCE = 2, WORK = 3, CONSUME = 4 };
enum { TAG_ITEM = 1, TAG_RESULT = 2 };

/* work returns a whole number, so that the consumer's sum does not depend on the order of results. */
static long long work(double *item, const struct options *o, double imbalance)
{
	double times = (double)o->size * o->size * o->slow * (1 + imbalance / 100);
	long long kept = (long long)(1e6 * item[0]);
	if (o->sleep) {
		sleep_for(times / 1000);
		return kept;
	}
	for (double done = 0; done < times; done += o->size)
		for (int i = 1; i < o->size; i++)
			item[i] = 0.5 * (item[i] + item[i - 1]);
	return kept + (item[o->size - 1] > 2 ? 1 : 0); /* never: the result depends on the work, its value does not */
}

static void produce(const struct options *o, int workers)
{
	double *item = malloc((size_t)o->size * sizeof *item);
	if (!item)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int n = 0; n < o->steps; n++) {
		coppice_begin(PRODUCE);
		for (int i = 0; i < o->size; i++)
			item[i] = (double)((n * 31 + i * 17) % 1000) / 1000;
		before_send(o, 1 + n % workers, MPI_PROC_NULL);
		MPI_Ssend(item, o->size, MPI_DOUBLE, 1 + n % workers, TAG_ITEM, MPI_COMM_WORLD);
		coppice_end(PRODUCE);
	}
	free(item);
}

static void work_all(const struct options *o, int rank, int workers)
{
	size_t size = (size_t)o->size;
	double *items = malloc(2 * size * sizeof *items), imbalance = rank == workers ? o->imbalance : 0;
	if (!items)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Request next[2];
	for (int i = 0; i < 2; i++)
		MPI_Recv_init(items + i * size, o->size, MPI_DOUBLE, 0, TAG_ITEM, MPI_COMM_WORLD, &next[i]);
	int mine = (o->steps - rank + workers) / workers;
	if (mine > 0)
		MPI_Start(&next[0]);
	for (int n = 0; n < mine; n++) {
		MPI_Wait(&next[n % 2], MPI_STATUS_IGNORE);
		if (n + 1 < mine)
			MPI_Start(&next[(n + 1) % 2]);
		coppice_begin(WORK);
		long long result = work(items + (size_t)(n % 2) * size, o, imbalance);
		coppice_end(WORK);
		before_send(o, workers + 1, MPI_PROC_NULL);
		MPI_Send(&result, 1, MPI_LONG_LONG, workers + 1, TAG_RESULT, MPI_COMM_WORLD);
	}
	for (int i = 0; i < 2; i++)
		MPI_Request_free(&next[i]);
	free(items);
}

static void consume(const struct options *o)
{
	long long sum = 0, result;
	for (int n = 0; n < o->steps; n++) {
		coppice_begin(CONSUME);
		MPI_Recv(&result, 1, MPI_LONG_LONG, MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum += result;
		coppice_end(CONSUME);
	}
	printf("%d items of %d, sum %lld\n", o->steps, o->size, sum);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	struct options o = {.size = 512, .steps = 100};
	int rank, size;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!read_options(&o, argc, argv)) {
		MPI_Finalize();
		return 2;
	}
	if (size < 3) {
		fprintf(stderr, "%s: a pipeline takes 3 processes or more\n", argv[0]);
		MPI_Finalize();
		return 2;
	}
	coppice_begin(RUN);
	if (rank == 0)
		produce(&o, size - 2);
	else if (rank == size - 1)
		consume(&o);
	else
		work_all(&o, rank, size - 2);
	coppice_end(RUN);
	MPI_Finalize();
	return 0;
}
