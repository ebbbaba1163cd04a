/* Process 1 posts its receive of 4 MB, then works 50 ms without a call of MPI; process 0, in MPI_Send, cannot move the data alone. */
#include "planted.h"

enum { ROUNDS = 6, BYTES = 4 << 20 };

void consume(void)
{
	work(50);
}

int main(int argc, char **argv)
{
	char *item = calloc(1, BYTES);
	MPI_Request request;
	begin(&argc, &argv, 2);
	for (int i = 0; i < ROUNDS; i++) {
		if (rank == 0) {
			MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the receive is posted */
			note();
			MPI_Send(item, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD); /* waits */
		} else {
			MPI_Irecv(item, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
			MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
			consume();
			note();
			MPI_Wait(&request, MPI_STATUS_IGNORE); /* late */
		}
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++)
		waits += late(noted[0][i], noted[1][i]);
	result("late_progress", 1, "consume", waits, "late_progress", waits);
	free(item);
	return 0;
}
