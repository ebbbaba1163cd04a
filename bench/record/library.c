/* Calls MPI below LEVEL more functions: what a library without lines does. */
#include <mpi.h>

int through(int level)
{
	int rank = 0;
	if (level == 0)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	else
		rank = through(level - 1) + 1;
	return rank + level;
}
