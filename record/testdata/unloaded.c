/*
 * A library that a program loads while it runs and unloads soon: with PLUGIN it is the library. Each process computes there for so many ms
 * of processor time as the second argument says, calls MPI, and unloads it.
 */
#include <mpi.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef PLUGIN
static volatile double x;

static double spent(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void unloaded(double ms)
{
	for (double end = spent() + ms / 1e3; spent() < end;)
		for (int i = 0; i < 1000; i++)
			x += sin(x + i);
}
#else
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	void *library = dlopen(argv[1], RTLD_NOW);
	void (*compute)(double) = library ? (void (*)(double))dlsym(library, "unloaded") : NULL;
	if (!compute)
		return 1;
	compute(atof(argv[2]));
	MPI_Barrier(MPI_COMM_WORLD);
	if (dlclose(library) || dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
		return 2;
	MPI_Finalize();
	return 0;
}
#endif
