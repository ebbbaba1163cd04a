/*
 * Dynamic load balancing as NWChem does it: a counter in a window, which processes raise with MPI_Fetch_and_op in an epoch of shared
 * locks, deals out tasks. The last one takes 400 ms and the others 20: all wait at the end for the process that gets it. Process 0 has
 * the counter and no tasks, because some libraries raise it only while its process is in MPI.
 */
#include "planted.h"

enum { TASKS = 13 };

static MPI_Win win;

static int next(void)
{
	int one = 1, task = -1;
	MPI_Fetch_and_op(&one, &task, MPI_INT, 0, 0, MPI_SUM, win);
	MPI_Win_flush(0, win);
	return task;
}

void task(int i)
{
	work(i == TASKS - 1 ? 400 : 20);
}

int main(int argc, char **argv)
{
	int *counter;
	begin(&argc, &argv, 4);
	note();
	MPI_Win_allocate(sizeof *counter, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &win);
	*counter = 0;
	note();
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (int i = rank ? next() : TASKS; i < TASKS; i = next())
		task(i);
	note();
	MPI_Barrier(MPI_COMM_WORLD); /* waits, late */
	MPI_Win_unlock_all(win);
	if (rank == 0 && *counter != TASKS + size - 1)
		MPI_Abort(MPI_COMM_WORLD, 4);
	finish();
	MPI_Win_free(&win);
	struct waits w = meetings(3);
	result("barrier_wait", -1, "task", w.most, "wait_barrier", w.all);
	return 0;
}
