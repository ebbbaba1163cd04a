/* Regions of a program, before, inside of and after MPI; prints nothing. */
#include "../include/coppice.h"
#include <mpi.h>

void counted_function(int n);

void __attribute__((noinline)) _ZN2ns6markedEi(int n) { __asm__ volatile("" ::"r"(n)); } /* as a function of C++ is named */

static void __attribute__((noinline)) hidden_function(void) { __asm__ volatile(""); }

int main(int argc, char **argv)
{
	COPPICE_BEGIN("before");
	MPI_Init(&argc, &argv);
	COPPICE_END("before");
	for (int i = 0; i < 3; i++) {
		COPPICE_BEGIN("outer");
		COPPICE_BEGIN("inner");
		MPI_Barrier(MPI_COMM_WORLD);
		COPPICE_END("inner");
		COPPICE_END("outer");
	}
	COPPICE_END("nothing");
	counted_function(3);
	hidden_function();
	_ZN2ns6markedEi(1);
	COPPICE_BEGIN("open");
	MPI_Finalize();
	COPPICE_END("open");
	return 0;
}

void __attribute__((noinline)) counted_function(int n)
{
	if (n > 0)
		counted_function(n - 1);
}
