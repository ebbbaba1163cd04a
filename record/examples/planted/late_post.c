/* Process 1 posts its window 40 ms after process 0 starts an epoch on it. Where MPI_Win_start does not wait, MPI_Win_complete does. */
#include "planted.h"

enum { ROUNDS = 8 };

void prepare(void)
{
	work(50);
}

int main(int argc, char **argv)
{
	int *mine, value = 7, other;
	MPI_Win win;
	MPI_Group all, partner;
	begin(&argc, &argv, 2);
	other = 1 - rank;
	MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	MPI_Win_get_group(win, &all);
	MPI_Group_incl(all, 1, &other, &partner);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0) {
			work(10);
			note();
			MPI_Win_start(partner, 0, win); /* waits */
			MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
			MPI_Win_complete(win); /* waits */
		} else {
			prepare();
			note();
			MPI_Win_post(partner, 0, win); /* late */
			MPI_Win_wait(win);
		}
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++)
		waits += late(noted[0][i], noted[1][i]);
	MPI_Group_free(&partner);
	MPI_Group_free(&all);
	MPI_Win_free(&win);
	result("late_post", 1, "prepare", waits, "late_post", waits);
	return 0;
}
