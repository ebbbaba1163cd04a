/* Two functions take 20 ms each, but on process 1 solve takes 70. */
#include "planted.h"

enum { ROUNDS = 5 };

void assemble(void)
{
	work(20);
}

void solve(void)
{
	work(rank == 1 ? 70 : 20);
}

int main(int argc, char **argv)
{
	double mine = 1, all;
	begin(&argc, &argv, 4);
	for (int i = 0; i < ROUNDS; i++) {
		assemble();
		solve();
		note();
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* waits, late */
	}
	finish();
	struct waits w = meetings(ROUNDS);
	result("imbalance", 1, "solve", w.most, "wait_nxn", w.all);
	return 0;
}
