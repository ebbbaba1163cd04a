/* Process 0 waits for the messages of three others in one MPI_Waitall; the first of the list comes 40 ms late, the others 5. More would
 * bound what the run can gain: it can be no shorter than what the second busiest process computes. */
#include "planted.h"

enum { ROUNDS = 8 };

void produce(void)
{
	work(rank == 1 ? 50 : 15);
}

int main(int argc, char **argv)
{
	int items[4] = {0};
	MPI_Request requests[3];
	begin(&argc, &argv, 4);
	for (int i = 0; i < ROUNDS; i++) {
		if (rank == 0) {
			for (int p = 1; p < size; p++)
				MPI_Irecv(&items[p], 1, MPI_INT, p, 0, MPI_COMM_WORLD, &requests[p - 1]);
			work(10);
			note();
			MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE); /* waits */
		} else {
			produce();
			note();
			MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); /* late */
		}
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++) /* until all are there */
		waits += last(i) - noted[0][i];
	result("late_sender", 1, "produce", waits, "late_sender", waits);
	return 0;
}
