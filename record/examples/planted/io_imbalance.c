/* Process 0 writes to a file for 400 ms, process 1 for 40; then they meet. To be recorded with --io. */
#include "planted.h"

#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };
static char block[BLOCK];

int main(int argc, char **argv)
{
	char name[] = "/tmp/io_imbalance.XXXXXX";
	double spent = 0;
	unsigned long long bytes = 0;
	begin(&argc, &argv, 2);
	int fd = mkstemp(name);
	if (fd < 0 || unlink(name) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memset(block, 1, BLOCK);
	for (double most = rank == 0 ? 0.4 : 0.04; spent < most;) {
		double t = now();
		ssize_t n = write(fd, block, BLOCK); /* waits */
		spent += now() - t;
		if (n < 0)
			MPI_Abort(MPI_COMM_WORLD, 1);
		if ((bytes += (unsigned long long)n) % (16ull * BLOCK) == 0)
			lseek(fd, 0, SEEK_SET); /* the same place again: the file stays small */
	}
	note();
	MPI_Barrier(MPI_COMM_WORLD);
	finish();
	close(fd);
	for (int p = 0; rank == 0 && p < size; p++)
		planted += noted[p][0] - noted[p][NOTES];
	printf("wrote %d %llu\n", rank, bytes);
	fflush(stdout);
	result("io", 0, "write", spent, "wait_barrier", rank == 0 ? late(noted[1][0], noted[0][0]) : 0);
	return 0;
}
