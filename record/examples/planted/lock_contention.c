/* Process 1 wants an exclusive lock of the window of process 0, which holds it itself for 400 ms more: long next to what a library
 * that polls takes to hand it over where other programs want the processors. */
#include "planted.h"

enum { ROUNDS = 4 };

static MPI_Win win;
static int *mine;

void hold(int ms)
{
	int one = 1;
	MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
	work(ms);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv, 2);
	MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	*mine = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < ROUNDS; i++) {
		if (rank == 1) { /* process 0 has the lock when this comes */
			MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			note();
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); /* waits */
			hold(1);
			MPI_Win_unlock(0, win);
			MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
		} else {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
			MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
			hold(400);
			note();
			MPI_Win_unlock(0, win); /* late */
			MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++)
		waits += late(noted[1][i], noted[0][i]);
	if (rank == 0 && *mine != 2 * ROUNDS)
		MPI_Abort(MPI_COMM_WORLD, 4);
	MPI_Win_free(&win);
	result("lock_contention", 0, "hold", waits, "lock_contention", waits);
	return 0;
}
