/*
 * Makes calls that MPI refuses, under MPI_ERRORS_RETURN, and prints what class of error each returned. Valid calls in between
 * show that the refused ones left no trace: they are to be found in the archive, with the bytes that they say here.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int calls;

static void refused(const char *what, int code)
{
	int class = -1;
	MPI_Error_class(code, &class);
	fprintf(stderr, "%2d class %2d %s\n", ++calls, class, what);
}
#define TRY(call) refused(#call, call)
#ifdef MPICH_VERSION /* Open MPI has no answer to these: it ends the program, or crashes, or takes a null pointer as a status to ignore */
#define TRY_MPICH(call) TRY(call)
#else
#define TRY_MPICH(call) (void)0
#endif

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	int rank, size, flag = 0, index = 0, n = 0, outcount = 0, list[4] = {0}, a[64] = {0}, b[64];
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm none = MPI_COMM_NULL, other = MPI_COMM_NULL, *no_comm = NULL;
	MPI_Request r = MPI_REQUEST_NULL, many[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, *no_request = NULL;
	MPI_Message message = MPI_MESSAGE_NULL;
	MPI_Status status;
	MPI_Datatype open; /* never committed */
	MPI_Type_contiguous(2, MPI_INT, &open);
	int *no_int = NULL;

	/* no communicator */
	TRY(MPI_Send(a, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
	TRY(MPI_Ssend(a, 1, MPI_INT, 0, 0, none));
	TRY(MPI_Recv(b, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &status));
	TRY(MPI_Isend(a, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &r));
	TRY(MPI_Irecv(b, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &r));
	TRY(MPI_Sendrecv(a, 1, MPI_INT, 0, 0, b, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &status));
	TRY(MPI_Send_init(a, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &r));
	TRY_MPICH(MPI_Probe(0, 0, MPI_COMM_NULL, &status));
	TRY_MPICH(MPI_Iprobe(0, 0, MPI_COMM_NULL, &flag, &status));
	TRY(MPI_Barrier(MPI_COMM_NULL));
	TRY(MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_NULL));
	TRY(MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
	TRY(MPI_Alltoallv(a, list, list, MPI_INT, b, list, list, MPI_INT, MPI_COMM_NULL));
	TRY(MPI_Gatherv(a, 1, MPI_INT, b, no_int, no_int, MPI_INT, 0, MPI_COMM_NULL));
	TRY(MPI_Ibarrier(MPI_COMM_NULL, &r));
	TRY(MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_NULL));
	TRY(MPI_Ineighbor_alltoallv(a, list, list, MPI_INT, b, list, list, MPI_INT, MPI_COMM_NULL, &r));
	TRY(MPI_Comm_size(MPI_COMM_NULL, &n));
	TRY(MPI_Comm_rank(MPI_COMM_NULL, &n));
	TRY(MPI_Comm_dup(MPI_COMM_NULL, &other));
	TRY(MPI_Comm_split(MPI_COMM_NULL, 0, 0, &other));
	TRY(MPI_Comm_free(&none));
	TRY_MPICH(MPI_Comm_free(no_comm));
	TRY(MPI_Comm_set_name(MPI_COMM_NULL, "name"));

	/* wrong ranks, tags, counts, types, roots, operations */
	TRY(MPI_Send(a, 1, MPI_INT, size, 0, MPI_COMM_WORLD));
	TRY(MPI_Send(a, 1, MPI_INT, -77, 0, MPI_COMM_WORLD));
	TRY(MPI_Send(a, 1, MPI_INT, rank, -5, MPI_COMM_WORLD));
	TRY(MPI_Send(a, -1, MPI_INT, rank, 0, MPI_COMM_WORLD));
	TRY(MPI_Send(a, 1, MPI_DATATYPE_NULL, rank, 0, MPI_COMM_WORLD));
	TRY(MPI_Send(a, 1, open, rank, 0, MPI_COMM_WORLD));
	TRY(MPI_Isend(a, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &r));
	TRY(MPI_Irecv(b, -1, MPI_INT, rank, 0, MPI_COMM_WORLD, &r));
	TRY(MPI_Recv(b, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &status));
	TRY(MPI_Recv(b, 1, MPI_DATATYPE_NULL, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	TRY(MPI_Sendrecv(a, 1, MPI_INT, size, 0, b, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	TRY(MPI_Bcast(a, 1, MPI_INT, size, MPI_COMM_WORLD));
	TRY(MPI_Bcast(a, -1, MPI_INT, 0, MPI_COMM_WORLD));
	TRY(MPI_Reduce(a, b, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD));
	TRY(MPI_Allreduce(a, b, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD));
	TRY(MPI_Scatter(a, -1, MPI_INT, b, -1, MPI_INT, 0, MPI_COMM_SELF));
	TRY(MPI_Ibcast(a, 1, MPI_INT, size, MPI_COMM_WORLD, &r));

	/* null requests, statuses, messages and results */
	TRY(MPI_Isend(a, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, no_request));
	TRY(MPI_Irecv(b, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, no_request));
	TRY(MPI_Wait(no_request, &status));
	TRY(MPI_Wait(no_request, MPI_STATUS_IGNORE));
	TRY(MPI_Test(no_request, &flag, &status));
	TRY(MPI_Test(&r, no_int, &status));
	TRY(MPI_Waitall(2, no_request, MPI_STATUSES_IGNORE));
	TRY(MPI_Waitall(1000, no_request, MPI_STATUSES_IGNORE));
	TRY(MPI_Waitall(-1, many, MPI_STATUSES_IGNORE));
	TRY(MPI_Waitany(2, no_request, &index, &status));
	TRY(MPI_Waitsome(2, no_request, &outcount, list, MPI_STATUSES_IGNORE));
	TRY(MPI_Testall(2, no_request, &flag, MPI_STATUSES_IGNORE));
	TRY(MPI_Start(no_request));
	TRY(MPI_Start(&r));
	TRY(MPI_Startall(2, no_request));
	TRY(MPI_Request_free(no_request));
	TRY(MPI_Request_free(&r));
	TRY(MPI_Cancel(no_request));
	TRY(MPI_Cancel(&r));
	TRY_MPICH(MPI_Mrecv(b, 1, MPI_INT, &message, &status));
	TRY_MPICH(MPI_Imrecv(b, 1, MPI_INT, &message, &r));
	TRY_MPICH(MPI_Mrecv(b, 1, MPI_INT, NULL, &status));
	TRY(MPI_Comm_size(MPI_COMM_WORLD, no_int));
	TRY(MPI_Comm_dup(MPI_COMM_WORLD, no_comm));
	TRY_MPICH(MPI_Recv(b, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, NULL));
	TRY_MPICH(MPI_Probe(rank, 0, MPI_COMM_WORLD, NULL));

	/* objects that are not to be freed, or that are gone */
	MPI_Comm world = MPI_COMM_WORLD, gone;
	TRY(MPI_Comm_free(&world));
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	gone = other;
	MPI_Comm_free(&other);
	TRY_MPICH(MPI_Send(a, 1, MPI_INT, rank, 0, gone));
	TRY_MPICH(MPI_Barrier(gone));
	TRY_MPICH(MPI_Comm_free(&gone));
	MPI_Datatype type = MPI_INT, no_type = MPI_DATATYPE_NULL;
	TRY(MPI_Type_free(&type));
	TRY(MPI_Type_commit(&no_type));
	MPI_Win no_win = MPI_WIN_NULL;
	TRY(MPI_Win_fence(0, MPI_WIN_NULL));
	TRY(MPI_Put(a, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL));
	TRY(MPI_Win_free(&no_win));
	MPI_File file = MPI_FILE_NULL;
	TRY(MPI_File_open(MPI_COMM_SELF, "/there/is/no/such/folder", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
	TRY(MPI_File_write(MPI_FILE_NULL, a, 1, MPI_INT, &status));

	/* Messages that do not fit have come all the same; a matched one that is refused is still there. */
	r = many[0] = MPI_REQUEST_NULL;
	MPI_Isend(a, 8, MPI_INT, rank, 1, MPI_COMM_WORLD, &r);
	TRY(MPI_Recv(b, 4, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Irecv(b, 4, MPI_INT, rank, 2, MPI_COMM_WORLD, &many[0]);
	MPI_Irecv(b + 4, 9, MPI_INT, rank, 3, MPI_COMM_WORLD, &many[1]);
	MPI_Send(a, 8, MPI_INT, rank, 2, MPI_COMM_WORLD);
	MPI_Send(a, 9, MPI_INT, rank, 3, MPI_COMM_WORLD);
	TRY(MPI_Waitall(2, many, MPI_STATUSES_IGNORE));
	MPI_Waitall(2, many, MPI_STATUSES_IGNORE); /* what is left of them */
	MPI_Isend(a, 10, MPI_INT, rank, 4, MPI_COMM_WORLD, &r);
	MPI_Mprobe(rank, 4, MPI_COMM_WORLD, &message, &status);
	TRY(MPI_Mrecv(b, -1, MPI_INT, &message, &status));
	MPI_Mrecv(b, 10, MPI_INT, &message, &status);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Sendrecv(a, 11, MPI_INT, (rank + 1) % size, 5, b, 11, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &status);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Type_free(&open);
	fprintf(stderr, "%d calls refused\n", calls);
	MPI_Finalize();
	return 0;
}
