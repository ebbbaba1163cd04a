/*
 * Process 2 has its message ready at once, process 1 after 300 ms. Process 0 receives that of process 1 first, then works 200 ms on that
 * of process 2, which it could have done while it waited.
 */
#include "planted.h"

void part(void)
{
	work(rank == 0 ? 200 : 300);
}

int main(int argc, char **argv)
{
	int item = 0;
	begin(&argc, &argv, 3);
	if (rank == 0) {
		note();
		MPI_Recv(&item, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
		MPI_Recv(&item, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		part();
	} else {
		if (rank == 1)
			part();
		note();
		MPI_Send(&item, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); /* late */
	}
	finish();
	double wait = rank == 0 ? late(noted[0][0], noted[1][0]) : 0;
	result("wrong_order", 0, NULL, wait, "late_sender_wrong_order_different", wait);
	return 0;
}
