//go:build cgo && !nompi

// The ranks of a node: how many share this rank's processors, and a bell for each rank, with which a sender wakes it when it sleeps. The
// bells are in a window of shared memory. Without one a rank wakes up at intervals.
#define _GNU_SOURCE
#include "glue.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct {
	_Atomic uint32_t rings;  // futex on which the rank sleeps
	_Atomic uint32_t dozing; // how many of its threads sleep
	char apart[56];          // keeps the next one in another cache line
} bell;

static MPI_Comm node = MPI_COMM_NULL;
static MPI_Win window = MPI_WIN_NULL;
static bell *bells; // of all ranks of the node; NULL without shared memory
static bell *mine;

enum { MASK = 1024 }; // bytes: 8192 processors

// Returns how many bits are set in both.
static int common(const unsigned char *a, const unsigned char *b) {
	int n = 0;
	for (int i = 0; i < MASK; i++)
		n += __builtin_popcount(a[i] & b[i]);
	return n;
}

// Finds whether more ranks of the node, this one included, may use this process's processors than there are of these, or than most.
static int find_crowd(int most, int *crowded) {
	int n = cop_size(node), sharing = 0;
	unsigned char own[MASK] = {0}, *all = malloc((size_t)n * MASK);
	if (all == NULL)
		return MPI_ERR_NO_MEM;
	if (sched_getaffinity(0, MASK, (cpu_set_t *)own) != 0)
		memset(own, 0xff, MASK);
	int rc = MPI_Allgather(own, MASK, MPI_BYTE, all, MASK, MPI_BYTE, node);
	for (int i = 0; i < n; i++)
		sharing += common(own, all + (size_t)i * MASK) > 0;
	*crowded = sharing > most || sharing > common(own, own);
	free(all);
	return rc;
}

// Finds the ranks of the node and makes their bells. Collective. crowded: this rank shares its processors, of which it uses at most most;
// some_crowded: a rank of the node does; all_rung: every rank of the job has a bell here.
int cop_node(int most, int *crowded, int *all_rung, int *some_crowded) {
	*all_rung = *some_crowded = 0;
	int rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	if (rc != MPI_SUCCESS || (rc = MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN)) != MPI_SUCCESS || (rc = find_crowd(most, crowded)) != MPI_SUCCESS)
		return rc;
	bell *own = NULL, *first = NULL;
	MPI_Aint bytes;
	int unit;
	int have = MPI_Win_allocate_shared(sizeof(bell), 1, MPI_INFO_NULL, node, &own, &window) == MPI_SUCCESS;
	if (have) { // a tool between may give a window that is not shared
		memset(own, 0, sizeof(bell));
		have = MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN) == MPI_SUCCESS && MPI_Win_shared_query(window, 0, &bytes, &unit, &first) == MPI_SUCCESS;
	}
	int all[2] = {have, !*crowded};
	if ((rc = MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MIN, node)) != MPI_SUCCESS || !all[0])
		return rc;
	*some_crowded = !all[1];
	bells = first;
	mine = own;
	*all_rung = cop_size(node) == cop_size(MPI_COMM_WORLD);
	return rc;
}

// Frees the bells. Collective.
int cop_node_free(void) {
	bells = mine = NULL;
	int rc = window == MPI_WIN_NULL ? MPI_SUCCESS : MPI_Win_free(&window);
	return rc != MPI_SUCCESS || node == MPI_COMM_NULL ? rc : MPI_Comm_free(&node);
}

// Stores for each of the n ranks of a communicator its number on this node, negative on other nodes.
int cop_node_ranks(MPI_Comm c, int n, int *out) {
	int *all = malloc(sizeof(int) * (size_t)n);
	MPI_Group from = MPI_GROUP_NULL, to = MPI_GROUP_NULL;
	if (all == NULL)
		return MPI_ERR_NO_MEM;
	for (int i = 0; i < n; i++)
		all[i] = i;
	int rc = MPI_Comm_group(c, &from);
	if (rc == MPI_SUCCESS && (rc = MPI_Comm_group(node, &to)) == MPI_SUCCESS)
		rc = MPI_Group_translate_ranks(from, n, all, to, out);
	for (int i = 0; i < n; i++)
		out[i] = rc == MPI_SUCCESS && out[i] != MPI_UNDEFINED ? out[i] : -1;
	if (from != MPI_GROUP_NULL)
		MPI_Group_free(&from);
	if (to != MPI_GROUP_NULL)
		MPI_Group_free(&to);
	free(all);
	return rc;
}

static void futex(bell *b, int op, uint32_t value, const struct timespec *limit) {
	syscall(SYS_futex, &b->rings, op, value, limit, NULL, 0);
}

// Rings the bell of a rank of the node, which may be waiting for what has just happened.
void cop_ring(int node_rank) {
	if (bells == NULL || node_rank < 0)
		return;
	bell *b = &bells[node_rank];
	atomic_fetch_add(&b->rings, 1);
	if (atomic_load(&b->dozing) != 0)
		futex(b, FUTEX_WAKE, 1 << 30, NULL);
}

// Returns how often this rank's bell has rung. Call it, then look for what is waited for, then cop_doze.
uint32_t cop_rings(void) { return mine == NULL ? 0 : atomic_load(&mine->rings); }

// Sleeps until the bell has rung more often than seen, for ns nanoseconds at most.
void cop_doze(uint32_t seen, long ns) {
	static _Thread_local int punctual; // timer slack is set for this thread only
	if (!punctual)
		punctual = prctl(PR_SET_TIMERSLACK, 50000) == 0;
	if (mine == NULL) {
		cop_pause(ns);
		return;
	}
	struct timespec t = {ns / 1000000000L, ns % 1000000000L};
	atomic_fetch_add(&mine->dozing, 1);
	futex(mine, FUTEX_WAIT, seen, &t);
	atomic_fetch_sub(&mine->dozing, 1);
}
