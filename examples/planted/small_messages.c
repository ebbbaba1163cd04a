/* Process 0 sends 50 000 integers one by one, for which process 1 has 50 000 receives. */
#include "planted.h"

enum { BLOCKS = 50, BLOCK = 1000 };

void send_block(const int *items)
{
	for (int i = 0; i < BLOCK; i++)
		MPI_Send(&items[i], 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	static int items[BLOCK];
	double sending = 0;
	begin(&argc, &argv, 2);
	for (int i = 0; i < BLOCKS; i++) {
		double start = now();
		if (rank == 0)
			send_block(items);
		else
			for (int k = 0; k < BLOCK; k++)
				MPI_Recv(&items[k], 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sending += now() - start;
	}
	finish();
	result("small_messages", 0, "send_block", sending, NULL, 0);
	return 0;
}
