/* Uses every kind of call that the recorder looks into. Prints nothing when all data arrive. Run with 4 processes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(x) \
	do \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: process %d: not %s\n", __FILE__, __LINE__, rank, #x); \
			MPI_Abort(MPI_COMM_WORLD, 1); \
		} \
	while (0)

static int rank, size, left, right;

static void blocking(void)
{
	int a = rank, b = -1, flag = 0, n = 0;
	MPI_Status status;
	static char room[4096];
	void *old;
	if (rank % 2) {
		MPI_Recv(&b, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Ssend(&a, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
	} else {
		MPI_Send(&a, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
		MPI_Recv(&b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		MUST(status.MPI_SOURCE == left && status.MPI_TAG == 1);
	}
	MUST(b == left);
	MPI_Sendrecv(&a, 1, MPI_INT, right, 2, &b, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MUST(b == left);
	MPI_Sendrecv_replace(&a, 1, MPI_INT, right, 3, left, 3, MPI_COMM_WORLD, &status);
	MUST(a == left);
	MPI_Sendrecv(&a, 1, MPI_INT, MPI_PROC_NULL, 2, &b, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &status);
	MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
	MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
	MPI_Buffer_attach(room, sizeof room);
	MPI_Bsend(&rank, 1, MPI_INT, right, 4, MPI_COMM_WORLD);
	while (!flag)
		MPI_Iprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	MPI_Probe(left, 4, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_INT, &n);
	MPI_Recv(&b, n, MPI_INT, left, 4, MPI_COMM_WORLD, &status);
	MUST(b == left && n == 1);
	MPI_Buffer_detach(&old, &n);
}

static void matched(void)
{
	int b = -1, flag = 0;
	MPI_Message message;
	MPI_Request r[3];
	MPI_Status status;
	for (int i = 0; i < 3; i++)
		MPI_Isend(&rank, 1, MPI_INT, right, 10 + i, MPI_COMM_WORLD, &r[i]);
	MPI_Mprobe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(&b, 1, MPI_INT, &message, &status);
	MUST(b == left);
	while (!flag)
		MPI_Improbe(left, 11, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
	MPI_Request q;
	MPI_Imrecv(&b, 1, MPI_INT, &message, &q);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Mprobe(MPI_PROC_NULL, 12, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
	MPI_Mrecv(NULL, 0, MPI_INT, &message, MPI_STATUS_IGNORE);
	MPI_Recv(&b, 1, MPI_INT, left, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
}

#define MANY 40 /* more than the recorder keeps on its stack */

static void requests(void)
{
	int in[MANY], out[MANY], indices[MANY], left_over, flag, k;
	MPI_Request r[2 * MANY];
	MPI_Status s[2 * MANY];
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < MANY; i++) {
			in[i] = -1;
			MPI_Irecv(&in[i], 1, MPI_INT, i % 3 ? left : MPI_ANY_SOURCE, round * MANY + i, MPI_COMM_WORLD, &r[i]);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 0; i < MANY; i++) {
			out[i] = rank * MANY + i;
			MPI_Isend(&out[i], 1, MPI_INT, right, round * MANY + i, MPI_COMM_WORLD, &r[MANY + i]);
		}
		switch (round) {
		case 0:
			MPI_Waitall(2 * MANY, r, s);
			break;
		case 1:
			for (left_over = 2 * MANY; left_over > 0; left_over--)
				MPI_Waitany(2 * MANY, r, &k, left_over % 2 ? MPI_STATUS_IGNORE : s);
			MPI_Waitany(2 * MANY, r, &k, MPI_STATUS_IGNORE);
			MUST(k == MPI_UNDEFINED);
			break;
		case 2:
			for (k = 0; k < 2 * MANY; k += 20)
				for (int done = 0; done < 20; done += flag) {
					MPI_Waitsome(20, r + k, &flag, indices, done ? MPI_STATUSES_IGNORE : s);
					MUST(flag != MPI_UNDEFINED);
				}
			MPI_Waitsome(2 * MANY, r, &flag, indices, MPI_STATUSES_IGNORE);
			MUST(flag == MPI_UNDEFINED);
			break;
		case 3:
			for (flag = 0; !flag;)
				MPI_Testall(2 * MANY, r, &flag, MPI_STATUSES_IGNORE);
			MPI_Testall(2 * MANY, r, &flag, s);
			break;
		case 4:
			for (left_over = 2 * MANY; left_over > 0; left_over -= flag)
				MPI_Testany(2 * MANY, r, &k, &flag, MPI_STATUS_IGNORE);
			for (int i = 0; i < 3; i++)
				MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
			break;
		case 5:
			for (left_over = MANY; left_over > 0;) {
				MPI_Testsome(MANY, r, &flag, indices, s);
				left_over -= flag;
			}
			for (int i = MANY; i < 2 * MANY; i++)
				for (flag = 0; !flag;)
					MPI_Test(&r[i], &flag, &s[i]);
		}
		for (int i = 0; i < MANY; i++)
			MUST(in[i] == left * MANY + i);
	}
	/* Without partners, cancelled and freed. */
	MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[1]);
	MPI_Irecv(in, 1, MPI_INT, left, 999, MPI_COMM_WORLD, &r[2]);
	MPI_Cancel(&r[2]);
	MPI_Waitall(3, r, s);
	MPI_Test_cancelled(&s[2], &flag);
	MUST(flag);
	MPI_Isend(&rank, 1, MPI_INT, right, 998, MPI_COMM_WORLD, &r[0]);
	MPI_Request_free(&r[0]);
	MPI_Recv(in, 1, MPI_INT, left, 998, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MUST(in[0] == left);
}

static void persistent(void)
{
	int in = -1, out = 0;
	MPI_Request r[4];
	MPI_Send_init(&out, 1, MPI_INT, right, 20, MPI_COMM_WORLD, &r[0]);
	MPI_Recv_init(&in, 1, MPI_INT, left, 20, MPI_COMM_WORLD, &r[1]);
	MPI_Send_init(&out, 1, MPI_INT, MPI_PROC_NULL, 20, MPI_COMM_WORLD, &r[2]);
	MPI_Recv_init(&in, 1, MPI_INT, MPI_PROC_NULL, 20, MPI_COMM_WORLD, &r[3]);
	for (int i = 0; i < 5; i++) {
		out = 100 * rank + i;
		if (i % 2) {
			MPI_Startall(4, r);
			MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
		} else {
			MPI_Start(&r[1]);
			MPI_Start(&r[0]);
			MPI_Wait(&r[0], MPI_STATUS_IGNORE);
			MPI_Wait(&r[1], MPI_STATUS_IGNORE);
		}
		MPI_Wait(&r[0], MPI_STATUS_IGNORE); /* inactive */
		MUST(in == 100 * left + i);
	}
	for (int i = 0; i < 4; i++)
		MPI_Request_free(&r[i]);
}

static void collectives(MPI_Comm comm)
{
	int n, me, a[16], b[16], counts[16], at[16];
	MPI_Request r[4];
	MPI_Datatype types[16];
	MPI_Comm_size(comm, &n);
	MPI_Comm_rank(comm, &me);
	for (int i = 0; i < 16; i++) {
		a[i] = b[i] = me;
		counts[i] = 1;
		at[i] = i;
		types[i] = MPI_INT;
	}
	MPI_Barrier(comm);
	MPI_Bcast(a, 4, MPI_INT, n - 1, comm);
	MPI_Gather(me ? a : MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, 0, comm);
	MPI_Gatherv(a, 1, MPI_INT, b, counts, at, MPI_INT, 0, comm);
	MPI_Scatter(a, 1, MPI_INT, me ? b : MPI_IN_PLACE, 1, MPI_INT, 0, comm);
	MPI_Scatterv(a, counts, at, MPI_INT, b, 1, MPI_INT, 0, comm);
	MPI_Allgather(a, 1, MPI_INT, b, 1, MPI_INT, comm);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, comm);
	MPI_Allgatherv(a, 1, MPI_INT, b, counts, at, MPI_INT, comm);
	MPI_Alltoall(a, 1, MPI_INT, b, 1, MPI_INT, comm);
	MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, comm);
	MPI_Alltoallv(a, counts, at, MPI_INT, b, counts, at, MPI_INT, comm);
	MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, counts, at, MPI_INT, comm);
	MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, at, MPI_INT, comm);
	for (int i = 0; i < 16; i++)
		at[i] *= 4;
	MPI_Alltoallw(a, counts, at, types, b, counts, at, types, comm);
	MPI_Allreduce(a, b, 2, MPI_INT, MPI_SUM, comm);
	MPI_Allreduce(MPI_IN_PLACE, b, 2, MPI_INT, MPI_SUM, comm);
	MPI_Reduce(a, b, 2, MPI_INT, MPI_SUM, n - 1, comm);
	MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, comm);
	MPI_Reduce_scatter_block(a, b, 1, MPI_INT, MPI_SUM, comm);
	MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, comm);
	MPI_Exscan(a, b, 1, MPI_INT, MPI_SUM, comm);
	int c[16], d[16] = {0};
	MPI_Ibarrier(comm, &r[0]);
	MPI_Ibcast(c, 1, MPI_INT, 0, comm, &r[1]);
	MPI_Iallreduce(a, b, 1, MPI_INT, MPI_SUM, comm, &r[2]);
	MPI_Iallgather(&me, 1, MPI_INT, d, 1, MPI_INT, comm, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	MUST(d[n - 1] == n - 1);
}

static void communicators(void)
{
	MPI_Comm half, copy, later[2], some, grid, shared;
	MPI_Request r[2];
	MPI_Group all, odd;
	int n = 0, sum = 0, list[2] = {1, 3}, dims[2] = {2, 2}, periods[2] = {1, 1};
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	collectives(half);
	for (int i = 0; i < 3; i++) { /* handles are used again */
		MPI_Comm_dup(half, &copy);
		MPI_Comm_set_name(copy, "copy");
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
		MPI_Comm_free(&copy);
	}
	MPI_Comm_idup(MPI_COMM_WORLD, &later[0], &r[0]);
	MPI_Comm_idup(MPI_COMM_WORLD, &later[1], &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	/* first used in another order by half of the processes */
	MPI_Request q[2];
	int x = 0, y = 0;
	MPI_Irecv(&x, 1, MPI_INT, left, 5, later[rank % 2], &q[0]);
	MPI_Irecv(&y, 1, MPI_INT, left, 5, later[1 - rank % 2], &q[1]);
	MPI_Send(&rank, 1, MPI_INT, right, 5, later[0]);
	MPI_Send(&rank, 1, MPI_INT, right, 5, later[1]);
	MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, later[1]);
	MPI_Barrier(later[0]);
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 2, list, &odd);
	MPI_Comm_create(MPI_COMM_WORLD, odd, &some);
	if (rank % 2) {
		MPI_Barrier(some);
		MPI_Comm_free(&some);
		MPI_Comm_create_group(MPI_COMM_WORLD, odd, 7, &some);
		collectives(some);
		MPI_Comm_free(&some);
	}
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
	MPI_Barrier(grid);
	MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &some);
	if (some != MPI_COMM_NULL) {
		MPI_Comm_size(some, &n);
		MPI_Barrier(some);
		MPI_Comm_free(&some);
	}
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
	MPI_Barrier(shared);
	MPI_Comm_free(&shared);
	MPI_Comm_free(&grid);
	MPI_Comm_free(&later[1]);
	MPI_Comm_free(&later[0]);
	MPI_Comm_free(&half);
	MPI_Group_free(&odd);
	MPI_Group_free(&all);
	MPI_Barrier(MPI_COMM_SELF);
}

static void intercommunicators(void)
{
	MPI_Comm half, inter, merged;
	int mine, there, a = rank, b = -1, sum = 0;
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 8, &inter);
	MPI_Comm_rank(inter, &mine);
	MPI_Comm_remote_size(inter, &there);
	MPI_Sendrecv(&a, 1, MPI_INT, mine, 9, &b, 1, MPI_INT, mine, 9, inter, MPI_STATUS_IGNORE);
	MUST(b == (rank + 2) % 4 && there == 2);
	MPI_Barrier(inter);
	MPI_Allreduce(&a, &sum, 1, MPI_INT, MPI_SUM, inter);
	MUST(sum == (rank < 2 ? 5 : 1));
	MPI_Bcast(&b, 1, MPI_INT, rank < 2 ? rank == 0 ? MPI_ROOT : MPI_PROC_NULL : 0, inter);
	MPI_Intercomm_merge(inter, rank < 2, &merged);
	MPI_Allreduce(&a, &sum, 1, MPI_INT, MPI_SUM, merged);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MUST(size == 4);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	MPI_Pcontrol(1, "point to point");
	blocking();
	matched();
	requests();
	persistent();
	MPI_Pcontrol(-1, "point to point");
	collectives(MPI_COMM_WORLD);
	communicators();
	intercommunicators();
	MPI_Finalize();
	return 0;
}
