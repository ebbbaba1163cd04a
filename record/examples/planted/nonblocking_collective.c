/* In each round process 2 starts a reduction 80 ms after the others, which wait for it 20 ms after they started it. */
#include "planted.h"

enum { ROUNDS = 6, BETWEEN = 20 };

void solve(void)
{
	work(rank == 2 ? 90 : 10);
}

int main(int argc, char **argv)
{
	int mine = 1, all;
	MPI_Request request;
	begin(&argc, &argv, 3);
	for (int i = 0; i < ROUNDS; i++) {
		solve();
		note();
		MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request); /* late */
		if (rank != 2)
			work(BETWEEN);
		note();
		MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits */
	}
	finish();
	double most = 0, waits = 0;
	for (int p = 0; rank == 0 && p < size; p++) {
		double own = 0;
		for (int i = 0; i < ROUNDS; i++)
			own += late(noted[p][2 * i + 1], last(2 * i));
		most = own > most ? own : most;
		waits += own;
	}
	result("nxn_wait", 2, "solve", most, "wait_nxn", waits);
	return 0;
}
