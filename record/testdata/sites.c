/* Calls MPI from functions of all kinds. Lines with calls have their paths in comments, as the archive must have them where frames are
 * unwound: the lines of the callers by their names. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static inline __attribute__((always_inline)) void inlined(int *x)
{
	MPI_Bcast(x, 1, MPI_INT, 0, MPI_COMM_WORLD); /* in inlined */
	++*x;
}

static __attribute__((noinline)) void fixed(int *x)
{
	inlined(x);
	MPI_Barrier(MPI_COMM_WORLD); /* in fixed */
	++*x;
}

/* A frame whose size is not the same in each call. */
static __attribute__((noinline)) void sized(int n, int *x)
{
	volatile int room[n];
	room[n - 1] = 1;
	MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* in sized */
	*x = room[n - 1];
}

static __attribute__((noinline)) int deep(int level)
{
	int size = 0;
	if (level > 0)
		return deep(level - 1) + 1;
	MPI_Comm_size(MPI_COMM_WORLD, &size); /* in deep */
	return size;
}

#pragma weak plugged /* linked, or loaded */
void plugged(void);

int main(int argc, char **argv)
{
	int x = 0;
	MPI_Init(&argc, &argv); /* in main */
	for (int i = 0; i < 3; i++)
		fixed(&x);
	for (int i = 1; i < 40; i++)
		sized(i, &x);
	for (int i = 0; i < 4; i++)
		x += deep(i);
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (library)
		((void (*)(void))dlsym(library, "plugged"))();
	else if (plugged)
		plugged();
	MPI_Finalize(); /* in main */
	printf("%d\n", x);
	return 0;
}
