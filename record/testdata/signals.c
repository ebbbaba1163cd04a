/* Process 1 comes to a signal, or an error of MPI, in the way that its first argument names, and writes the line in which it
 * does into the file that the second one names: what a launcher that kills prints may be lost. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HERE dprintf(lines, "%d\n", __LINE__)

static int lines;
static int *volatile nowhere;
static void (*volatile no_code)(void);
static sigjmp_buf back;

static void leaves(int number) { _exit(number); }
static void goes_on(int number) { siglongjmp(back, number); }

/* Only the first call writes: where the stack ends inside of malloc, a handler of the signal that calls it too, as UCX's, waits for ever. */
static int deeper(volatile char *above, int first) { volatile char room[4096]; if (first) HERE; room[0] = above[0]; return deeper(room, 0) + room[0]; }

static void *thread(void *unused)
{
	HERE, *nowhere = 1;
	return unused;
}

static void raises(const char *how)
{
	pthread_t other;
	MPI_Request request[2];
	char one[1], two[2] = "";
	if (!strcmp(how, "null"))
		HERE, *nowhere = 1;
	if (!strcmp(how, "jump"))
		HERE, no_code();
	if (!strcmp(how, "abort"))
		HERE, abort();
	if (!strcmp(how, "call"))
		HERE, MPI_Send((void *)16, 10, MPI_INT, 0, 0, MPI_COMM_WORLD);
	if (!strcmp(how, "rank"))
		HERE, MPI_Send(one, 1, MPI_CHAR, 77, 0, MPI_COMM_WORLD);
	if (!strcmp(how, "truncated")) {
		MPI_Isend(two, 2, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request[0]);
		MPI_Irecv(one, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request[1]);
		HERE, MPI_Wait(&request[1], MPI_STATUS_IGNORE);
	}
	if (!strcmp(how, "returned")) { /* an error that the program lives with */
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		MPI_Send(one, 1, MPI_CHAR, 77, 0, MPI_COMM_WORLD);
		_exit(3);
	}
	if (!strcmp(how, "stack"))
		deeper((char *)how, 1);
	if (!strcmp(how, "thread")) {
		pthread_create(&other, NULL, thread, NULL);
		pthread_join(other, NULL);
	}
	if (!strcmp(how, "handled")) { /* by the program, with a status of its own */
		signal(SIGSEGV, leaves);
		*nowhere = 1;
	}
	if (!strcmp(how, "survived")) {
		if (!sigsetjmp(back, 1))
			*nowhere = 1;
		MPI_Barrier(MPI_COMM_SELF);
		raise(SIGKILL);
	}
}

int main(int argc, char **argv)
{
	int rank, value = 0;
	const char *how = argv[1];
	lines = open(argv[2], O_CREAT | O_WRONLY | O_APPEND, 0600);
	if (!strcmp(how, "survived"))
		signal(SIGSEGV, goes_on);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		raises(how);
	MPI_Recv(&value, 1, MPI_INT, 1 - rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
