/* Process 0 sends 100 000 integers one by one, in blocks of 1000; process 1 has the receives of a block in progress. */
#include "planted.h"

enum { BLOCKS = 100, BLOCK = 1000 };

void send_block(int *items, MPI_Request *requests)
{
	for (int i = 0; i < BLOCK; i++)
		MPI_Isend(&items[i], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[i]); /* waits */
	MPI_Waitall(BLOCK, requests, MPI_STATUSES_IGNORE); /* waits */
}

void receive_block(int *items, MPI_Request *requests)
{
	for (int i = 0; i < BLOCK; i++)
		MPI_Irecv(&items[i], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[i]); /* waits */
	MPI_Waitall(BLOCK, requests, MPI_STATUSES_IGNORE); /* waits */
}

int main(int argc, char **argv)
{
	static int items[BLOCK];
	static MPI_Request requests[BLOCK];
	begin(&argc, &argv, 2);
	note();
	for (int i = 0; i < BLOCKS; i++) {
		if (rank == 0)
			send_block(items, requests);
		else
			receive_block(items, requests);
	}
	note();
	finish();
	for (int p = 0; rank == 0 && p < size; p++)
		planted += noted[p][1] - noted[p][0];
	result("small_messages", 0, "send_block", rank == 0 ? noted[0][1] - noted[0][0] : 0, NULL, 0);
	return 0;
}
