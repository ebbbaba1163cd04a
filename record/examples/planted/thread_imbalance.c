/* In a parallel region of two threads of OpenMP, 8 times, the first thread works 40 ms longer than the other. */
#include "planted.h"

#include <omp.h>

enum { ROUNDS = 8 };

int main(int argc, char **argv)
{
	double came[ROUNDS][2], waits = 0;
	begin(&argc, &argv, 1);
	for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(2) /* waits */
		{
			work(omp_get_thread_num() == 0 ? 50 : 10);
			came[i][omp_get_thread_num()] = now();
		}
		waits += late(came[i][1], came[i][0]);
	}
	finish();
	result("thread_imbalance", 0, NULL, waits, NULL, 0);
	return 0;
}
