/* In each round another process comes 40 ms late to MPI_Comm_dup, in which all have to agree on the new communicator. */
#include "planted.h"

enum { ROUNDS = 8 };

void step(int round)
{
	work(round % size == rank ? 50 : 10);
}

int main(int argc, char **argv)
{
	MPI_Comm copy;
	begin(&argc, &argv, 4);
	for (int i = 0; i < ROUNDS; i++) {
		step(i);
		note();
		MPI_Comm_dup(MPI_COMM_WORLD, &copy); /* waits, late */
		MPI_Comm_free(&copy);
	}
	finish();
	struct waits w = meetings(ROUNDS);
	result("barrier_wait", -1, "step", w.most, "wait_barrier", w.all);
	return 0;
}
