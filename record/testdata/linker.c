/* Calls from 400 paths, whose modules the recorder may not look up by the linker's search of their symbols each time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

static unsigned searches;

int dladdr1(const void *address, Dl_info *info, void **extra, int flags)
{
	searches++;
	return ((int (*)(const void *, Dl_info *, void **, int))dlsym(RTLD_NEXT, "dladdr1"))(address, info, extra, flags);
}

static __attribute__((noinline)) int path(unsigned bits, int depth)
{
	int size = 0;
	if (depth == 0)
		MPI_Comm_size(MPI_COMM_WORLD, &size);
	else if (bits & 1)
		size = path(bits >> 1, depth - 1) + 1;
	else
		size = path(bits >> 1, depth - 1) + 2;
	return size;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	for (unsigned i = 0; i < 400; i++)
		path(i, 9);
	MPI_Finalize();
	return searches > 20;
}
