/* Prints a line "NAME NS" for each of several kinds of calls: ns of processor time, by CLOCK_PROCESS_CPUTIME_ID, of one of them, or of a
 * group that is named with +. Messages, collectives and windows are of one process. "deep" is MPI_Comm_rank below eight functions, along
 * paths that change from call to call; "library" the same from library.c, compiled without lines, below two functions; "pwrite" writes 8 bytes to a file that nothing else has. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static __attribute__((noinline)) int deep(int level, int path)
{
	int rank = 0;
	if (level == 0)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	else if (path & 1)
		rank = deep(level - 1, path >> 1) + 1;
	else
		rank = deep(level - 1, path >> 1) + 2;
	return rank;
}

int through(int level); /* in library.c, which is compiled without lines */

#define MEASURE(name, times, call) \
	do { \
		double begin = seconds(); \
		for (int i = 0; i < (times); i++) \
			call; \
		printf("%s %.1f\n", name, (seconds() - begin) / (times) * 1e9); \
	} while (0)

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000000, rank;
	volatile int sum = 0;
	char in[8], out[8] = "", *base;
	double one = 1, all;
	MPI_Win win;
	MPI_Request requests[2];
	MPI_Init(&argc, &argv);
	MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win);
	MPI_Win_lock_all(0, win);
	MEASURE("MPI_Comm_rank", n, MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	MEASURE("MPI_Sendrecv", n, MPI_Sendrecv(out, 8, MPI_BYTE, 0, 1, in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
	MEASURE("MPI_Allreduce", n, MPI_Allreduce(&one, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
	MEASURE("MPI_Put+flush", n, (MPI_Put(out, 8, MPI_BYTE, 0, 0, 8, MPI_BYTE, win), MPI_Win_flush(0, win)));
	MEASURE("MPI_Isend+Irecv+Waitall", n,
		(MPI_Isend(out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[0]), MPI_Irecv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[1]),
			MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)));
	MEASURE("deep", n, sum += deep(8, i & 3));
	MEASURE("library", n, sum += through(1));
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0)
		MEASURE("pwrite", n, sum += (int)pwrite(fd, out, 8, 0));
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
