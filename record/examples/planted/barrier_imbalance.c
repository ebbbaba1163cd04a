/* In each round another process works 50 ms, the others 10, then all meet: none is slower on the whole. */
#include "planted.h"

enum { ROUNDS = 8 };

void step(int round)
{
	work(round % size == rank ? 50 : 10);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv, 4);
	for (int i = 0; i < ROUNDS; i++) {
		step(i);
		note();
		MPI_Barrier(MPI_COMM_WORLD); /* waits, late */
	}
	finish();
	struct waits w = meetings(ROUNDS);
	result("barrier_wait", -1, "step", w.most, "wait_barrier", w.all);
	return 0;
}
