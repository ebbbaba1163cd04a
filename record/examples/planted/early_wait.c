/*
 * Process 0 waits for the end of an epoch that process 2 completes 40 ms later. Process 1 is not late: it works no longer
 * than process 0, so that without process 2's work the run is shorter by all that process 0 waits.
 */
#include "planted.h"

enum { ROUNDS = 8 };

void produce(void)
{
	work(rank == 1 ? 10 : 50);
}

int main(int argc, char **argv)
{
	int *mine, target = 0, origins[] = {1, 2};
	MPI_Win win;
	MPI_Group all, partners;
	begin(&argc, &argv, 3);
	MPI_Win_allocate(2 * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	MPI_Win_get_group(win, &all);
	if (rank == 0)
		MPI_Group_incl(all, 2, origins, &partners);
	else
		MPI_Group_incl(all, 1, &target, &partners);
	for (int i = 0; i < ROUNDS; i++) {
		if (rank == 0) {
			MPI_Win_post(partners, 0, win);
			work(10);
			note();
			MPI_Win_wait(win); /* waits */
		} else {
			MPI_Win_start(partners, 0, win);
			MPI_Put(&rank, 1, MPI_INT, 0, rank - 1, 1, MPI_INT, win);
			produce();
			note();
			MPI_Win_complete(win); /* late */
		}
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++) {
		waits += late(noted[0][i], last(i));
		planted += late(noted[1][i], last(i)); /* until the next epoch */
	}
	MPI_Group_free(&partners);
	MPI_Group_free(&all);
	MPI_Win_free(&win);
	result("early_wait", 2, "produce", waits, "early_wait", waits);
	return 0;
}
