/* Process 1 needs 10 ms for its part of a round, then a message of process 0, which needs 40. */
#include "planted.h"

enum { ROUNDS = 10 };

void produce(int *item)
{
	work(40);
	++*item;
}

void consume(int item)
{
	if (item > 0)
		work(10);
}

int main(int argc, char **argv)
{
	int item = 1;
	begin(&argc, &argv, 2);
	for (int i = 0; i < ROUNDS; i++) {
		if (rank == 0) {
			produce(&item);
			note();
			MPI_Send(&item, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); /* late */
		} else {
			consume(item);
			note();
			MPI_Recv(&item, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
		}
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++)
		waits += late(noted[1][i], noted[0][i]);
	result("late_sender", 0, "produce", waits, "late_sender", waits);
	return 0;
}
