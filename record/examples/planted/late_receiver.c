/* Process 0 has its message ready after 10 ms and sends it synchronously; process 1 receives after 40. */
#include "planted.h"

enum { ROUNDS = 10 };

void consume(int item)
{
	if (item >= 0)
		work(40);
}

int main(int argc, char **argv)
{
	int item = 0;
	begin(&argc, &argv, 2);
	for (int i = 0; i < ROUNDS; i++) {
		if (rank == 0) {
			work(10);
			note();
			MPI_Ssend(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); /* waits */
		} else {
			consume(item);
			note();
			MPI_Recv(&item, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* late */
		}
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++)
		waits += late(noted[0][i], noted[1][i]);
	result("late_receiver", 1, "consume", waits, "late_receiver", waits);
	return 0;
}
