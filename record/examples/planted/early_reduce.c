/* The root of a reduction comes 40 ms before the other process. */
#include "planted.h"

enum { ROUNDS = 8 };

void part(void)
{
	work(rank == 0 ? 10 : 50);
}

int main(int argc, char **argv)
{
	int mine = 1, all;
	begin(&argc, &argv, 2);
	for (int i = 0; i < ROUNDS; i++) {
		part();
		note();
		MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* waits, late */
	}
	finish();
	double waits = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++)
		waits += late(noted[0][i], noted[1][i]);
	result("early_reduce", 0, NULL, waits, "early_reduce", waits);
	return 0;
}
