/* Process 0 starts to send 4 MB and waits for that at once; process 1 posts the receive 50 ms later. */
#include "planted.h"

enum { ROUNDS = 6, BYTES = 4 << 20 };

void consume(const char *item)
{
	if (item)
		work(50);
}

int main(int argc, char **argv)
{
	char *item = calloc(1, BYTES);
	MPI_Request request;
	begin(&argc, &argv, 2);
	for (int i = 0; i < ROUNDS; i++) {
		if (rank == 0) {
			MPI_Isend(item, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
			note();
			MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits */
		} else {
			consume(item);
			note();
			MPI_Recv(item, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* late */
		}
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++)
		waits += late(noted[0][i], noted[1][i]);
	result("late_receiver", 1, "consume", waits, "late_receiver", waits);
	free(item);
	return 0;
}
