/*
 * Messages in partitions, of which process 0 makes the last one ready late, while process 1 waits for it, and one that both exchange by
 * MPI_Isendrecv, late too. Each is an interval of its own, for which process 0 prints, as a line of JSON, what the other waited by the
 * program's own clock. Run with 2 processes.
 */
#include <mpi.h>
static int provided;
#define MPI_Init(argc, argv) MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided)
#include "../examples/planted/planted.h"
#include <pthread.h>

#if MPI_VERSION >= 4
enum { LATE = 50, PARTS = 4, COUNT = 500, WAYS = 4 };

static int data[PARTS * COUNT], wrong;
static MPI_Request r;

/* How the last partitions become ready: all in their order, the first one last, two as a list, one by another thread. */
static void *others(void *arg)
{
	(void)arg;
	note(); /* here: a new thread may wait for a processor */
	MPI_Pready(3, r);
	return NULL;
}

static void ready(int way)
{
	int list[2] = {1, 3};
	pthread_t thread;
	switch (way) {
	case 0:
		for (int i = 0; i < PARTS - 1; i++)
			MPI_Pready(i, r);
		work(LATE);
		note();
		MPI_Pready(PARTS - 1, r);
		return;
	case 1:
		MPI_Pready_range(1, 3, r);
		work(LATE);
		note();
		MPI_Pready(0, r);
		return;
	case 2:
		MPI_Pready(0, r);
		MPI_Pready(2, r);
		work(LATE);
		note();
		MPI_Pready_list(2, list, r);
		return;
	case 3:
		MPI_Pready_range(0, 2, r);
		work(LATE);
		pthread_create(&thread, NULL, others, NULL);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	begin(&argc, &argv, 2);
	for (int way = 0; way < WAYS; way++) {
		if (rank == 0)
			MPI_Psend_init(data, PARTS, COUNT, MPI_INT, 1, way, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
		else
			MPI_Precv_init(data, PARTS / 2, 2 * COUNT, MPI_INT, 0, way, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
		MPI_Barrier(MPI_COMM_WORLD);
		coppice_begin(way + 2);
		for (int i = 0; i < PARTS * COUNT; i++)
			data[i] = rank == 0 ? way + i : -1;
		MPI_Start(&r);
		if (rank == 0)
			ready(way);
		else
			note();
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		for (int i = 0; i < PARTS * COUNT; i++)
			wrong += data[i] != way + i;
		coppice_end(way + 2);
		MPI_Request_free(&r);
	}
	for (int i = 0; i < COUNT; i++)
		data[i] = rank + i;
	MPI_Barrier(MPI_COMM_WORLD);
	coppice_begin(WAYS + 2);
	if (rank == 0)
		work(LATE);
	note();
	MPI_Isendrecv(data, COUNT, MPI_INT, 1 - rank, WAYS, data + COUNT, COUNT, MPI_INT, 1 - rank, WAYS, MPI_COMM_WORLD, &r);
	MPI_Waitall(1, &r, MPI_STATUSES_IGNORE);
	coppice_end(WAYS + 2);
	for (int i = 0; i < COUNT; i++)
		wrong += data[COUNT + i] != 1 - rank + i;
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	finish();
	for (int i = 0; rank == 0 && i <= WAYS; i++)
		printf("{\"interval\":%d,\"call\":\"%s\",\"pattern\":\"late_sender\",\"waits\":%.6f,\"wrong\":%d}\n", i + 2,
			i < WAYS ? "MPI_Pready" : "MPI_Isendrecv", late(noted[1][i], noted[0][i]), wrong);
	MPI_Finalize();
	return 0;
}
#else
int main(int argc, char **argv)
{
	begin(&argc, &argv, 2);
	finish();
	MPI_Finalize();
	return 0;
}
#endif
