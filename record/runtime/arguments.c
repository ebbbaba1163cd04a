#define _GNU_SOURCE
#include "fortran.h"
#include "recorder.h"

#include "hashtable.h"
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* cr_library tries, for a Fortran name in the form of gfortran (mpi_xxx_), also the names of other compilers. */
HIDDEN void *cr_library(const char *symbol)
{
	char name[256];
	size_t n = strlen(symbol);
	void *f = cr_symbol(symbol);
	if (!f && n < sizeof name - 1 && symbol[n - 1] == '_') {
		memcpy(name, symbol, n + 1);
		name[n - 1] = 0;
		if (!(f = cr_symbol(name))) {
			memcpy(name + n - 1, "__", 3);
			f = cr_symbol(name);
		}
		name[n - 1] = 0;
		for (size_t i = 0; i < n; i++)
			name[i] = (char)toupper((unsigned char)name[i]);
		if (!f)
			f = cr_symbol(name);
	}
	if (!f) {
		fprintf(stderr, "coppice record: the program calls %s, which no library but the recorder has\n", symbol);
		abort();
	}
	return f;
}

static void *room(void *few, int n, size_t width)
{
	if (n <= FEW)
		return few;
	void *p = malloc((size_t)n * width);
	if (!p)
		cr_no_memory();
	return p;
}

HIDDEN int cr_taken(int code, const MPI_Status *status)
{
	int class = MPI_SUCCESS;
	if (code == MPI_SUCCESS)
		return 1;
	PMPI_Error_class(code, &class);
	return class == MPI_ERR_TRUNCATE || (class == MPI_ERR_IN_STATUS && status && cr_taken(status->MPI_ERROR, NULL));
}

HIDDEN int cr_in_status(int code)
{
	int class = MPI_SUCCESS;
	PMPI_Error_class(code, &class);
	return class == MPI_ERR_IN_STATUS;
}

HIDDEN MPI_Request *cr_saved(MPI_Request *few, const MPI_Request *requests, int n)
{
	MPI_Request *p = room(few, requests ? n : 0, sizeof *p);
	if (!requests)
		*p = MPI_REQUEST_NULL;
	else if (p && n > 0)
		memcpy(p, requests, (size_t)n * sizeof *p);
	return p;
}

HIDDEN MPI_Status *cr_statuses(MPI_Status *few, int n) { return room(few, n, sizeof *few); }

HIDDEN MPI_Request *cr_requests(MPI_Request *few, const void *fortran, int n)
{
	MPI_Request *p = room(few, n, sizeof *p);
	for (int i = 0; p && i < n; i++)
		p[i] = PMPI_Request_f2c(((const MPI_Fint *)fortran)[i]);
	return p;
}

HIDDEN MPI_Fint *cr_fortran_statuses(const void *statuses, MPI_Fint *few, int n)
{
	if (!cr_status_ignored(statuses))
		return NULL;
	return room(few, n, STATUS_INTS * sizeof *few);
}

/* Addresses that stand for buffers and statuses in Fortran programs. Each library has some of these symbols. */
#define WEAK extern __attribute__((weak))
WEAK int mpi_fortran_in_place, mpi_fortran_in_place_, mpi_fortran_in_place__, MPI_FORTRAN_IN_PLACE;
WEAK int mpi_fortran_status_ignore, mpi_fortran_status_ignore_, mpi_fortran_status_ignore__, MPI_FORTRAN_STATUS_IGNORE;
WEAK int mpi_fortran_statuses_ignore, mpi_fortran_statuses_ignore_, mpi_fortran_statuses_ignore__, MPI_FORTRAN_STATUSES_IGNORE;
WEAK void *MPIR_F_MPI_IN_PLACE;
WEAK int MPIR_F08_MPI_IN_PLACE;
#ifdef MPICH_VERSION
#define F08_IGNORED(s) ((s) == (const void *)MPI_F08_STATUS_IGNORE || (s) == (const void *)MPI_F08_STATUSES_IGNORE)
#else
#define F08_IGNORED(s) 0
#endif

HIDDEN int cr_in_place(const void *b)
{
	return b == MPI_IN_PLACE || (b && (b == &mpi_fortran_in_place || b == &mpi_fortran_in_place_ || b == &mpi_fortran_in_place__ ||
		b == &MPI_FORTRAN_IN_PLACE || (&MPIR_F_MPI_IN_PLACE && b == MPIR_F_MPI_IN_PLACE) || b == &MPIR_F08_MPI_IN_PLACE));
}

HIDDEN int cr_status_ignored(const void *s)
{
	return s == (const void *)MPI_F_STATUS_IGNORE || s == (const void *)MPI_F_STATUSES_IGNORE || !s || s == &mpi_fortran_status_ignore ||
		s == &mpi_fortran_status_ignore_ || s == &mpi_fortran_status_ignore__ || s == &MPI_FORTRAN_STATUS_IGNORE ||
		s == &mpi_fortran_statuses_ignore || s == &mpi_fortran_statuses_ignore_ || s == &mpi_fortran_statuses_ignore__ ||
		s == &MPI_FORTRAN_STATUSES_IGNORE || F08_IGNORED(s);
}

/* cr_peers returns how many processes a member of comm exchanges data with: all members, or those of the remote group. */
HIDDEN uint64_t cr_peers(MPI_Comm comm)
{
	int inter = 0, n = 0;
	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		PMPI_Comm_remote_size(comm, &n);
	else
		PMPI_Comm_size(comm, &n);
	return (uint64_t)n;
}

HIDDEN int cr_rank(MPI_Comm comm)
{
	int rank = 0;
	PMPI_Comm_rank(comm, &rank);
	return rank;
}

HIDDEN int cr_at_root(MPI_Comm comm, int root)
{
	return root == MPI_ROOT || root == cr_rank(comm);
}

HIDDEN uint64_t cr_own(const void *buffer, MPI_Count count, MPI_Datatype type)
{
	return cr_in_place(buffer) ? 0 : cr_bytes(count, type);
}

HIDDEN uint64_t cr_vector_int(MPI_Comm comm, const int *counts, MPI_Datatype type)
{
	uint64_t n = cr_peers(comm), sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += (uint64_t)counts[i];
	return sum * cr_bytes(1, type);
}

HIDDEN uint64_t cr_vector_count(MPI_Comm comm, const MPI_Count *counts, MPI_Datatype type)
{
	uint64_t n = cr_peers(comm), sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += (uint64_t)counts[i];
	return sum * cr_bytes(1, type);
}

HIDDEN uint64_t cr_types_int(MPI_Comm comm, const int *counts, const MPI_Datatype *types)
{
	uint64_t n = cr_peers(comm), sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += cr_bytes(counts[i], types[i]);
	return sum;
}

HIDDEN uint64_t cr_types_count(MPI_Comm comm, const MPI_Count *counts, const MPI_Datatype *types)
{
	uint64_t n = cr_peers(comm), sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += cr_bytes(counts[i], types[i]);
	return sum;
}

HIDDEN uint64_t cr_fortran_types(MPI_Comm comm, const int *counts, const MPI_Fint *types)
{
	uint64_t n = cr_peers(comm), sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += cr_bytes(counts[i], PMPI_Type_f2c(types[i]));
	return sum;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table messages;

HIDDEN void cr_message(MPI_Message message, MPI_Comm comm)
{
	if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC)
		return;
	pthread_mutex_lock(&lock);
	struct slot *s = insert(&messages, HANDLE(message));
	if (s) {
		s->number = 1;
		s->comm = HANDLE(comm);
	} else
		cr_no_memory();
	pthread_mutex_unlock(&lock);
}

HIDDEN MPI_Comm cr_message_comm(const MPI_Message *message)
{
	MPI_Comm comm = MPI_COMM_NULL;
	pthread_mutex_lock(&lock);
	struct slot *s = message ? find(&messages, HANDLE(*message)) : NULL;
	if (s) {
		comm = (MPI_Comm)(uintptr_t)s->comm;
		discard(&messages, s);
	}
	pthread_mutex_unlock(&lock);
	return comm;
}
