/* Process 0, on which the prefix sums of all others rest, comes 40 ms after them. */
#include "planted.h"

enum { ROUNDS = 8 };

void part(void)
{
	work(rank == 0 ? 50 : 10);
}

int main(int argc, char **argv)
{
	int mine = 1, below;
	begin(&argc, &argv, 3);
	for (int i = 0; i < ROUNDS; i++) {
		part();
		note();
		MPI_Scan(&mine, &below, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* waits, late */
	}
	finish();
	double one = 0, two = 0;
	for (int i = 0; rank == 0 && i < ROUNDS; i++) {
		double t = noted[0][i], later = noted[1][i] > t ? noted[1][i] : t;
		one += late(noted[1][i], t);
		two += late(noted[2][i], later);
	}
	result("early_scan", 0, "part", one > two ? one : two, "early_scan", one + two);
	return 0;
}
