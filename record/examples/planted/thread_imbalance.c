/* In a parallel region of two threads of OpenMP, 8 times, the first thread works 40 ms longer than the other: even work of both is 20 ms shorter. */
#include "planted.h"

#include <omp.h>

enum { ROUNDS = 8 };

int main(int argc, char **argv)
{
	double works[ROUNDS][2], more = 0;
	begin(&argc, &argv, 1);
	for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(2) /* waits */
		{
			double from = now();
			work(omp_get_thread_num() == 0 ? 50 : 10);
			works[i][omp_get_thread_num()] = now() - from;
		}
		more += late(works[i][1], works[i][0]);
	}
	finish();
	result("thread_imbalance", 0, NULL, more / 2, NULL, 0);
	return 0;
}
