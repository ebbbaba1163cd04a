/* Process 2 needs 60 ms for what takes the others 20. */
#include "planted.h"

enum { ROUNDS = 7 };

int main(int argc, char **argv)
{
	double mine = 1, all;
	begin(&argc, &argv, 4);
	for (int i = 0; i < ROUNDS; i++) {
		work(rank == 2 ? 60 : 20);
		note();
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* waits, late */
	}
	finish();
	struct waits w = meetings(ROUNDS);
	result("imbalance", 2, NULL, w.most, "wait_nxn", w.all);
	return 0;
}
