/* Every way to receive, for the test of the receive log. Each process prints a hash of all bytes that it received, in the
 * order of the completing calls. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash = 14695981039346656037u;
static int rank, size, right, left;

static void got(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const unsigned char *)p)[i]) * 1099511628211u;
}

static void fill(int *p, int n, int seed)
{
	for (int i = 0; i < n; i++)
		p[i] = seed * 1000003 + i * 7919 + rank;
}

enum { N = 500 };

static void messages(void)
{
	int a[N], b[N], c[N], where;
	MPI_Request r[3];
	MPI_Status s;
	fill(a, N, 1);
	MPI_Sendrecv(a, N, MPI_INT, right, 1, b, N, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	got(b, sizeof b);
	MPI_Sendrecv(a, N, MPI_INT, right, 1, b, N, MPI_INT, left, 1, MPI_COMM_WORLD, &s); /* the same bytes again */
	got(b, sizeof b);
	fill(a, N, 2);
	MPI_Irecv(b, N, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(c, N, MPI_INT, left, 3, MPI_COMM_WORLD, &r[1]);
	MPI_Isend(a, N / 2, MPI_INT, right, 2, MPI_COMM_WORLD, &r[2]); /* less than there is room for */
	MPI_Send(a, N, MPI_INT, right, 3, MPI_COMM_WORLD);
	MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	got(b, sizeof b / 2);
	got(c, sizeof c);
	for (int k = 0; k < 3; k++) {
		int flag = 0;
		MPI_Irecv(b, N, MPI_INT, left, 4, MPI_COMM_WORLD, &r[0]);
		fill(a, N, 3 + k);
		MPI_Send(a, N, MPI_INT, right, 4, MPI_COMM_WORLD);
		r[1] = MPI_REQUEST_NULL;
		if (k == 0)
			MPI_Waitany(2, r, &where, &s);
		else if (k == 1) {
			int n, at[2];
			MPI_Waitsome(2, r, &n, at, MPI_STATUSES_IGNORE);
		} else {
			while (!flag)
				MPI_Request_get_status(r[0], &flag, &s);
			got(b, sizeof b);
			MPI_Wait(&r[0], MPI_STATUS_IGNORE);
			continue;
		}
		got(b, sizeof b);
	}
	MPI_Request p[2];
	MPI_Recv_init(b, N, MPI_INT, left, 5, MPI_COMM_WORLD, &p[0]);
	MPI_Send_init(a, N, MPI_INT, right, 5, MPI_COMM_WORLD, &p[1]);
	for (int k = 0; k < 2; k++) {
		fill(a, N, 20 + k);
		MPI_Startall(2, p);
		MPI_Waitall(2, p, MPI_STATUSES_IGNORE);
		got(b, sizeof b);
	}
	MPI_Request_free(&p[0]);
	MPI_Request_free(&p[1]);
	MPI_Message m;
	int flag = 0;
	MPI_Isend(a, N, MPI_INT, right, 6, MPI_COMM_WORLD, &r[0]);
	while (!flag)
		MPI_Improbe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, &m, &s);
	MPI_Mrecv(b, N, MPI_INT, &m, &s);
	got(b, sizeof b);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Recv(b, N, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A column of a matrix: the packed bytes are those of its elements. */
static void columns(void)
{
	int a[N], m[N][3];
	MPI_Datatype column;
	MPI_Request r;
	memset(m, 0, sizeof m);
	fill(a, N, 50);
	MPI_Type_vector(N, 1, 3, MPI_INT, &column);
	MPI_Type_commit(&column);
	MPI_Irecv(&m[0][1], 1, column, left, 7, MPI_COMM_WORLD, &r);
	MPI_Type_free(&column);
	MPI_Send(a, N, MPI_INT, right, 7, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	for (int i = 0; i < N; i++)
		got(&m[i][1], sizeof(int));
}

static void collectives(MPI_Comm comm)
{
	int a[64], all[64 * 64], counts[64], displs[64], n = 0;
	MPI_Request r;
	fill(a, 64, 60);
	MPI_Bcast(a, 64, MPI_INT, 0, comm);
	if (rank)
		got(a, sizeof a);
	fill(a, 64, 61);
	MPI_Gather(a, 64, MPI_INT, all, 64, MPI_INT, 1, comm);
	if (rank == 1)
		got(all, (size_t)size * sizeof a);
	for (int i = 0; i < size; i++) {
		counts[i] = i + 1;
		displs[i] = n;
		n += counts[i] + 2;
	}
	MPI_Allgatherv(a, rank + 1, MPI_INT, all, counts, displs, MPI_INT, comm);
	for (int i = 0; i < size; i++)
		got(all + displs[i], (size_t)counts[i] * sizeof(int));
	MPI_Allreduce(MPI_IN_PLACE, a, 64, MPI_INT, MPI_SUM, comm);
	got(a, sizeof a);
	MPI_Exscan(a, all, 64, MPI_INT, MPI_SUM, comm);
	if (rank)
		got(all, sizeof a);
	fill(a, 64, 62);
	MPI_Ialltoall(a, 4, MPI_INT, all, 4, MPI_INT, comm, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	got(all, (size_t)size * 4 * sizeof(int));
	MPI_Ibarrier(comm, &r);
	for (int flag = 0; !flag;)
		MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	MPI_Comm half, copy;
	MPI_Request r;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	right = (rank + 1) % size;
	left = (rank + size - 1) % size;
	messages();
	columns();
	collectives(MPI_COMM_WORLD);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : 0, 0, &half);
	if (half != MPI_COMM_NULL)
		MPI_Comm_free(&half);
	MPI_Comm_idup(MPI_COMM_WORLD, &copy, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Barrier(copy);
	MPI_Comm_free(&copy);
	printf("hash %d %llx\n", rank, (unsigned long long)hash);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
