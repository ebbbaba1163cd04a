/* Process 2 comes 400 ms late to MPI_Win_free, which nobody leaves before all have come. */
#include "planted.h"

void step(void)
{
	work(rank == 2 ? 450 : 50);
}

int main(int argc, char **argv)
{
	MPI_Win window;
	begin(&argc, &argv, 4);
	note();
	MPI_Win_create(MPI_BOTTOM, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	step();
	note();
	MPI_Win_free(&window); /* waits, late */
	finish();
	struct waits w = meetings(2);
	result("barrier_wait", -1, "step", w.most, "wait_barrier", w.all);
	return 0;
}
