/* One item goes round: process 0, 1, 2, 3, and 0 again. Each works 25 ms on it, and only one works at a time. */
#include "planted.h"

enum { ROUNDS = 4 };

void stage(int *item)
{
	work(25);
	++*item;
}

int main(int argc, char **argv)
{
	int item = 0;
	begin(&argc, &argv, 4);
	int from = (rank + size - 1) % size, to = (rank + 1) % size;
	for (int i = 0; i < ROUNDS; i++) {
		note();
		if (i > 0 || rank > 0)
			MPI_Recv(&item, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
		stage(&item);
		note();
		if (i < ROUNDS - 1 || rank < size - 1)
			MPI_Send(&item, 1, MPI_INT, to, 0, MPI_COMM_WORLD); /* late */
	}
	finish();
	/* The note 2 i is the begin of receive i, the next one the begin of the send. At best all stages would be busy all the time: what is
	 * lost is the mean wait of a process, for the first item and until the last one is through too. */
	double waits = 0, lost = 0;
	for (int p = 0; rank == 0 && p < size; p++) {
		for (int i = 0; i < ROUNDS; i++)
			if (i > 0 || p > 0)
				waits += late(noted[p][2 * i], p > 0 ? noted[p - 1][2 * i + 1] : noted[size - 1][2 * i - 1]);
		lost += (noted[size - 1][2 * ROUNDS - 1] - noted[p][2 * ROUNDS - 1]) / size;
	}
	result("late_sender", -1, "stage", lost + waits / size, "late_sender", waits);
	return 0;
}
