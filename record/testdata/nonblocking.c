/*
 * Each collective operation, begun by one process later than by the others, which wait for it in another call. Each is an
 * interval of its own, for which process 0 prints, as a line of JSON, what they waited by the program's own clock:
 * {"interval":1,"call":"MPI_Ibarrier","pattern":"wait_barrier","waits":0.123456}. Run with 4 processes.
 */
#include "../examples/planted/planted.h"
#include <string.h>

enum { LATE = 50, BETWEEN = 20, MANY = 64 }; /* ms; elements of a buffer */

/* Who waits for whom. */
enum { ALL, FROM_ROOT, TO_ROOT, LOWER, NEIGHBOURS };

/* How the operation is completed. */
enum { WAIT, WAITALL, WAITANY, WAITSOME, TEST, HOW };

static MPI_Comm ring;
static int out[MANY], in[MANY], one[MANY], at[MANY], four[MANY];
static MPI_Aint far[MANY];
static MPI_Datatype type[MANY];
static MPI_Request r;
static int root, interval = 1, wrong;

static int is_late(int who)
{
	switch (who) {
	case FROM_ROOT:
		return rank == root;
	case TO_ROOT:
		return rank != root;
	case LOWER:
		return rank == 0;
	}
	return rank == 1;
}

static void complete(int how)
{
	MPI_Request none[3] = {MPI_REQUEST_NULL, r, MPI_REQUEST_NULL};
	int n = 0, flag = 0, index[3];
	switch (how) {
	case WAIT:
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		return;
	case WAITALL:
		MPI_Waitall(3, none, MPI_STATUSES_IGNORE);
		break;
	case WAITANY:
		MPI_Waitany(3, none, &n, MPI_STATUS_IGNORE);
		wrong += n != 1;
		break;
	case WAITSOME:
		MPI_Waitsome(3, none, &n, index, MPI_STATUSES_IGNORE);
		wrong += n != 1 || index[0] != 1;
		break;
	case TEST:
		while (!flag) {
			MPI_Testany(3, none, &n, &flag, MPI_STATUS_IGNORE);
			work(1);
		}
	}
	r = none[1];
}

/* expected is what all wait: notes i are when they began, i + 1 when they came to wait. */
static double expected(int i, int who)
{
	double sum = 0;
	for (int p = 0; p < size; p++) {
		double until = 0;
		for (int q = 0; q < size; q++) {
			int needs = who == ALL || (who == FROM_ROOT && q == root && p != root) || (who == LOWER && q < p) ||
				(who == NEIGHBOURS && (q == (p + 1) % size || p == (q + 1) % size));
			if (needs && noted[q][i] > until)
				until = noted[q][i];
			if (who == TO_ROOT && p == root && q != root && (until == 0 || noted[q][i] < until))
				until = noted[q][i];
		}
		sum += late(noted[p][i + 1], until);
	}
	return sum;
}

static struct planned {
	const char *call, *pattern;
	int who, how, note;
} plan[NOTES];

#define OPERATION(name, pattern_, who_, start) \
	do { \
		const int how_ = interval % HOW; \
		MPI_Barrier(MPI_COMM_WORLD); \
		work(5); \
		coppice_begin(++interval); \
		if (is_late(who_)) \
			work(LATE); \
		plan[interval] = (struct planned){name, pattern_, who_, how_, note()}; \
		start; \
		if (!is_late(who_)) \
			work(BETWEEN); \
		note(); \
		complete(how_); \
		coppice_end(interval); \
	} while (0)

#define W MPI_COMM_WORLD
#define BLOCK 1, MPI_INT

/* Both forms of an operation; the arguments are those without the last ones. */
#if MPI_VERSION >= 4 || defined MPI_Barrier_init /* an extension by that name */
#define PERSISTENT(name, pattern, who, ...) \
	name##_init(__VA_ARGS__, MPI_INFO_NULL, &r); \
	OPERATION("MPI_Start", pattern, who, MPI_Start(&r)); \
	MPI_Request_free(&r); \
	name##_init(__VA_ARGS__, MPI_INFO_NULL, &r); /* MPICH 4.0.2 fails when it starts a scatter again */ \
	OPERATION("MPI_Startall", pattern, who, MPI_Startall(1, &r)); \
	MPI_Request_free(&r);
#else
#define PERSISTENT(...)
#endif
#define BOTH(later, now, pattern, who, ...) \
	do { \
		OPERATION(#later, pattern, who, later(__VA_ARGS__, &r)); \
		PERSISTENT(now, pattern, who, __VA_ARGS__) \
	} while (0)

int main(int argc, char **argv)
{
	begin(&argc, &argv, 4);
	int periodic = 1;
	root = 2;
	MPI_Cart_create(W, 1, &size, &periodic, 0, &ring);
	for (int i = 0; i < MANY; i++) {
		out[i] = rank;
		one[i] = 1;
		at[i] = i;
		four[i] = 4 * i;
		far[i] = 4 * i;
		type[i] = MPI_INT;
	}
	BOTH(MPI_Ibarrier, MPI_Barrier, "wait_barrier", ALL, W);
	BOTH(MPI_Ibcast, MPI_Bcast, "late_broadcast", FROM_ROOT, in, BLOCK, root, W);
	BOTH(MPI_Iscatter, MPI_Scatter, "late_broadcast", FROM_ROOT, out, BLOCK, in, BLOCK, root, W);
	BOTH(MPI_Iscatterv, MPI_Scatterv, "late_broadcast", FROM_ROOT, out, one, at, MPI_INT, in, BLOCK, root, W);
	BOTH(MPI_Igather, MPI_Gather, "early_reduce", TO_ROOT, out, BLOCK, in, BLOCK, root, W);
	BOTH(MPI_Igatherv, MPI_Gatherv, "early_reduce", TO_ROOT, out, BLOCK, in, one, at, MPI_INT, root, W);
	BOTH(MPI_Ireduce, MPI_Reduce, "early_reduce", TO_ROOT, out, in, BLOCK, MPI_SUM, root, W);
	BOTH(MPI_Iscan, MPI_Scan, "early_scan", LOWER, out, in, BLOCK, MPI_SUM, W);
	BOTH(MPI_Iexscan, MPI_Exscan, "early_scan", LOWER, out, in, BLOCK, MPI_SUM, W);
	BOTH(MPI_Iallgather, MPI_Allgather, "wait_nxn", ALL, out, BLOCK, in, BLOCK, W);
	BOTH(MPI_Iallgatherv, MPI_Allgatherv, "wait_nxn", ALL, out, BLOCK, in, one, at, MPI_INT, W);
	BOTH(MPI_Ialltoall, MPI_Alltoall, "wait_nxn", ALL, out, BLOCK, in, BLOCK, W);
	BOTH(MPI_Ialltoallv, MPI_Alltoallv, "wait_nxn", ALL, out, one, at, MPI_INT, in, one, at, MPI_INT, W);
	BOTH(MPI_Ialltoallw, MPI_Alltoallw, "wait_nxn", ALL, out, one, four, type, in, one, four, type, W);
	for (int p = 0; p < size; p++)
		wrong += in[p] != p;
	BOTH(MPI_Ireduce_scatter, MPI_Reduce_scatter, "wait_nxn", ALL, out, in, one, MPI_INT, MPI_SUM, W);
	BOTH(MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block, "wait_nxn", ALL, out, in, BLOCK, MPI_SUM, W);
	BOTH(MPI_Iallreduce, MPI_Allreduce, "wait_nxn", ALL, out, in, BLOCK, MPI_SUM, W);
	wrong += in[0] != 6;
	BOTH(MPI_Ineighbor_allgather, MPI_Neighbor_allgather, "late_sender", NEIGHBOURS, out, BLOCK, in, BLOCK, ring);
	BOTH(MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv, "late_sender", NEIGHBOURS, out, BLOCK, in, one, at, MPI_INT, ring);
	BOTH(MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall, "late_sender", NEIGHBOURS, out, BLOCK, in, BLOCK, ring);
	BOTH(MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv, "late_sender", NEIGHBOURS, out, one, at, MPI_INT, in, one, at, MPI_INT, ring);
	BOTH(MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw, "late_sender", NEIGHBOURS, out, one, far, type, in, one, far, type, ring);
	MPI_Barrier(W);
	coppice_begin(++interval);
	if (is_late(NEIGHBOURS))
		work(LATE);
	plan[interval] = (struct planned){"MPI_Neighbor_alltoall", "late_sender", NEIGHBOURS, WAIT, note()};
	note();
	MPI_Neighbor_alltoall(out, BLOCK, in, BLOCK, ring);
	coppice_end(interval);
	wrong += in[0] != (rank + size - 1) % size || in[1] != (rank + 1) % size;
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, W);
	finish();
	for (int i = 2; rank == 0 && i <= interval; i++)
		printf("{\"interval\":%d,\"call\":\"%s\",\"pattern\":\"%s\",\"waits\":%.6f,\"wrong\":%d}\n", i, plan[i].call, plan[i].pattern,
			plan[i].how == TEST ? 0 : expected(plan[i].note, plan[i].who), wrong);
	MPI_Finalize();
	return 0;
}
