/* Ends in the way that its argument names, after some messages to itself. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char mine[256];

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "", *rounds = argc > 2 ? argv[2] : "100";
	MPI_Init(&argc, &argv);
	int rank, value = 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!strcmp(how, "disk")) { /* files end at 1 MiB, as on a disk that is full */
		struct rlimit limit = {1 << 20, 1 << 20};
		setrlimit(RLIMIT_FSIZE, &limit);
	}
	if (!strcmp(how, "memory")) { /* no more of it is mapped */
		struct rlimit limit = {1, 1};
		setrlimit(RLIMIT_AS, &limit);
	}
	if (!strcmp(how, "close")) /* what it does not know, and files of its own take the numbers */
		for (int i = 3; i < 256; i++) {
			char link[64], path[4096] = "";
			snprintf(link, sizeof link, "/proc/self/fd/%d", i);
			if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/run/")) {
				close(i);
				if (open("/dev/shm", O_TMPFILE | O_RDWR, 0600) != i)
					return 5;
				mine[i] = 1;
			}
		}
	int quiet = (!strcmp(how, "first") && rank != 0) || (!strcmp(how, "last") && rank != 1);
	for (int i = 0; !strcmp(how, "comms") && i < atoi(rounds); i++) { /* definitions rather than events */
		MPI_Comm comm;
		char name[64];
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		snprintf(name, sizeof name, "a communicator with a name that is as long as this one, %d", i);
		MPI_Comm_set_name(comm, name);
		MPI_Comm_free(&comm);
	}
	for (int i = 0; !quiet && strcmp(how, "comms") && i < atoi(rounds); i++) /* to itself: many messages in a short time */
		MPI_Sendrecv_replace(&value, 1, MPI_INT, 0, 1, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "leave") && rank == 1)
		return 3;
	if (!strcmp(how, "abort") && rank == 0)
		MPI_Abort(MPI_COMM_WORLD, 9);
	if (!strcmp(how, "kill") && rank == 1)
		raise(SIGKILL);
	if (!strcmp(how, "_exit") && rank == 1)
		_exit(4);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	for (int i = 0; i < 256; i++) {
		struct stat st = {0};
		if (mine[i] && (fstat(i, &st) != 0 || st.st_size > 0))
			puts("spoilt");
	}
	if (rank == 0)
		puts("done");
	return 0;
}
