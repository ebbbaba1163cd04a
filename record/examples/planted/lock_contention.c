/* Processes 1 and 2 hold a lock of the window of process 0 for 40 ms, both want it at the same time: the second one waits. */
#include "planted.h"

enum { ROUNDS = 8 };

static MPI_Win win;

void update(void)
{
	int one = 1;
	MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
	work(40);
}

int main(int argc, char **argv)
{
	int *mine;
	begin(&argc, &argv, 3);
	MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	*mine = 0;
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank > 0) {
			if (rank == 2)
				work(10);
			note();
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); /* waits */
			update();
			note();
			MPI_Win_unlock(0, win); /* late */
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++) /* process 1 has the lock first */
		waits += late(noted[2][2 * i], noted[1][2 * i + 1]);
	if (rank == 0 && *mine != 2 * ROUNDS)
		MPI_Abort(MPI_COMM_WORLD, 4);
	MPI_Win_free(&win);
	result("lock_contention", 1, "update", waits, "lock_contention", waits);
	return 0;
}
