#include "recorder.h"

#include "hashtable.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* Communicators by the value of their handles. MPI libraries reuse values, so one leaves the table when its communicator is freed. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct table comms, memberships;
static uint64_t comm_count;
static MPI_Group world;

/* Each thread remembers the communicator that it used last, to find it without the lock; changes counts those made and freed. */
static _Atomic(uint64_t) changes = 1;
static _Thread_local struct {
	uint64_t handle, number, changes;
} latest;

static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
	h *= 0xff51afd7ed558ccdu;
	return h ^ h >> 33;
}

/* members returns the world ranks of a group (MPI_UNDEFINED for other processes) and frees the group. */
static int *members(MPI_Group group, int *n)
{
	PMPI_Group_size(group, n);
	int *ranks = malloc(((size_t)*n + 1) * 2 * sizeof *ranks);
	for (int i = 0; ranks && i < *n; i++)
		ranks[*n + i] = i;
	if (ranks)
		PMPI_Group_translate_ranks(group, *n, ranks + *n, world, ranks);
	PMPI_Group_free(&group);
	return ranks;
}

/*
 * define_comm defines a communicator. Its global number is a hash of the members and of how many communicators with these members were made
 * before. All members make them in the same order, so they get the same number without communication. The first member writes the list of
 * members. Without memory the recording ends.
 */
static uint64_t define_comm(MPI_Comm comm, int copy)
{
	int inter = 0, n = 0, far = 0, me = 0, named = 0;
	char name[MPI_MAX_OBJECT_NAME] = "";
	MPI_Group group;
	PMPI_Comm_test_inter(comm, &inter);
	if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) /* not a communicator */
		return 0;
	PMPI_Comm_rank(comm, &me);
	if (!copy)
		PMPI_Comm_get_name(comm, name, &named);
	int *ranks = members(group, &n), *remote = NULL;
	if (inter && PMPI_Comm_remote_group(comm, &group) == MPI_SUCCESS)
		remote = members(group, &far);
	uint64_t hash = mix(1469598103934665603u, (uint64_t)inter);
	uint64_t near_hash = hash, far_hash = hash;
	for (int i = 0; ranks && i < n; i++) /* if NULL the recording ends below */
		near_hash = mix(near_hash, (uint64_t)(uint32_t)ranks[i]);
	for (int i = 0; remote && i < far; i++)
		far_hash = mix(far_hash, (uint64_t)(uint32_t)remote[i]);
	hash = inter ? mix(near_hash ^ far_hash, 1) : near_hash; /* the same number in both groups */
	struct slot *m = find(&memberships, hash);
	if (!m && (m = insert(&memberships, hash)))
		m->number = 1;
	uint64_t ordinal = m ? m->number++ : 0;
	uint64_t number = ++comm_count;
	size_t words = 7 + (me == 0 ? (size_t)n + (size_t)far : 0), length = strlen(name);
	unsigned char *b = m && ranks && (remote || !inter) ? malloc(words * 8 + length) : NULL;
	if (!b)
		cr_no_memory();
	else {
		uint64_t head[7] = {number, mix(hash, ordinal), (uint64_t)n, (uint64_t)far, (uint64_t)me, (uint64_t)inter, me == 0 ? (uint64_t)(n + far) : 0};
		memcpy(b, head, sizeof head);
		for (int i = 0; me == 0 && i < n + far; i++) {
			uint64_t r = (uint64_t)(uint32_t)(i < n ? ranks[i] : remote[i - n]);
			memcpy(b + sizeof head + 8 * (size_t)i, &r, 8);
		}
		memcpy(b + words * 8, name, length);
		cr_define(DEF_COMM, b, words * 8 + length);
	}
	free(b);
	free(ranks);
	free(remote);
	return number;
}

static uint64_t comm_number(MPI_Comm comm)
{
	struct slot *s = find(&comms, HANDLE(comm));
	if (s)
		return s->number;
	uint64_t number = define_comm(comm, 0);
	if (number && (s = insert(&comms, HANDLE(comm))))
		s->number = number;
	else if (number)
		cr_no_memory();
	return number;
}

HIDDEN uint64_t cr_comm_like(MPI_Comm comm)
{
	pthread_mutex_lock(&lock);
	uint64_t n = define_comm(comm, 1);
	pthread_mutex_unlock(&lock);
	return n;
}

HIDDEN void cr_comm_is(MPI_Comm comm, uint64_t number)
{
	pthread_mutex_lock(&lock);
	struct slot *s = comm == MPI_COMM_NULL ? NULL : insert(&comms, HANDLE(comm));
	if (s)
		s->number = number;
	else if (comm != MPI_COMM_NULL)
		cr_no_memory();
	atomic_fetch_add(&changes, 1);
	pthread_mutex_unlock(&lock);
}

HIDDEN uint64_t cr_comm(MPI_Comm comm)
{
	uint64_t now = atomic_load_explicit(&changes, memory_order_acquire);
	if (latest.handle == HANDLE(comm) && latest.changes == now)
		return latest.number;
	pthread_mutex_lock(&lock);
	uint64_t n = comm_number(comm);
	pthread_mutex_unlock(&lock);
	latest.handle = HANDLE(comm);
	latest.number = n;
	latest.changes = now;
	return n;
}

HIDDEN void cr_comm_made(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return;
	pthread_mutex_lock(&lock);
	struct slot *old = find(&comms, HANDLE(comm)); /* it was freed without a call that is wrapped */
	if (old)
		discard(&comms, old);
	comm_number(comm);
	atomic_fetch_add(&changes, 1);
	pthread_mutex_unlock(&lock);
}

HIDDEN uint64_t cr_comm_gone(const MPI_Comm *comm)
{
	pthread_mutex_lock(&lock);
	struct slot *s = comm ? find(&comms, HANDLE(*comm)) : NULL;
	uint64_t number = s ? s->number : 0;
	if (s)
		discard(&comms, s);
	atomic_fetch_add(&changes, 1);
	pthread_mutex_unlock(&lock);
	return number;
}

HIDDEN void cr_comm_named(MPI_Comm comm)
{
	uint64_t n = cr_comm(comm);
	char b[8 + MPI_MAX_OBJECT_NAME];
	int length = 0;
	memcpy(b, &n, 8);
	if (PMPI_Comm_get_name(comm, b + 8, &length) == MPI_SUCCESS)
		cr_define(DEF_COMM_NAME, b, 8 + (size_t)length);
}

HIDDEN void cr_comm_start(void)
{
	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	cr_comm(MPI_COMM_WORLD);
	cr_comm(MPI_COMM_SELF);
}
