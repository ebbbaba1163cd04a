/* Two processes that come at the same time pass 64 MB on, six times. */
#include "planted.h"

#include <string.h>

enum { ROUNDS = 6, BYTES = 64 << 20 };

int main(int argc, char **argv)
{
	char *data = malloc(BYTES);
	begin(&argc, &argv, 2);
	memset(data, 1, BYTES); /* so that no page is made while the data move */
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		note();
		if (rank == 0)
			MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD); /* waits */
		else
			MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
		note();
	}
	finish();
	double seconds = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++) /* from where both have come to where both go on */
		seconds += last(2 * i + 1) - last(2 * i);
	planted = size * seconds;
	result("long_messages", -1, NULL, seconds, NULL, 0);
	free(data);
	return 0;
}
