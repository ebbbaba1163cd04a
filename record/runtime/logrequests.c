#include "log.h"

#include <stdlib.h>
#include <string.h>

/*
 * Requests in progress, by the value of their handles. A library may return the same handle for several requests that were complete at
 * once; these are in one list, oldest first. Only one thread calls these functions.
 */

struct request {
	struct request *following;
	MPI_Request handle;
	uint64_t number;
	int kind, buffer;
	int active, seen, shared; /* seen: its data are in the log; shared: another request had the same handle */
	struct lg_data data;
	const void *comm; /* where Comm_idup stores the new communicator */
	int fortran;
};

static struct request **heads;
static size_t size, used;
static uint64_t newest;

#define HANDLE(x) ((uint64_t)(uintptr_t)(x))

static size_t home(MPI_Request handle, size_t n) { return (size_t)(HANDLE(handle) * 0x9E3779B97F4A7C15u >> 32) & (n - 1); }

static int grow(void)
{
	size_t n = size ? 2 * size : 256;
	struct request **more = calloc(n, sizeof *more);
	if (!more)
		return size != 0;
	for (size_t i = 0; i < size; i++)
		for (struct request *r = heads[i], *next; r; r = next) {
			struct request **end = &more[home(r->handle, n)];
			while (*end)
				end = &(*end)->following;
			next = r->following;
			r->following = NULL;
			*end = r;
		}
	free(heads);
	heads = more;
	size = n;
	return 1;
}

static struct request *find(MPI_Request handle)
{
	struct request *r = size ? heads[home(handle, size)] : NULL;
	while (r && r->handle != handle)
		r = r->following;
	return r;
}

static struct request *add(MPI_Request handle, int kind)
{
	if (used >= size && !grow())
		return NULL;
	struct request *r = calloc(1, sizeof *r), **end = &heads[home(handle, size)];
	if (!r)
		return NULL;
	for (; *end; end = &(*end)->following)
		if ((*end)->handle == handle)
			(*end)->shared = r->shared = 1;
	*end = r;
	used++;
	r->handle = handle;
	r->number = newest;
	r->kind = kind;
	r->active = !(kind & LG_PERSISTENT);
	return r;
}

static void discard(struct request *r)
{
	struct request **p = &heads[home(r->handle, size)];
	while (*p != r)
		p = &(*p)->following;
	*p = r->following;
	used--;
	lg_drop(&r->data);
	free(r);
}

static void number(int parameter, uint64_t n)
{
	lg_item(IT_REQUEST, parameter);
	lg_varint(n);
}

HIDDEN void lg_request(int parameter, MPI_Request request, int kind, struct lg_data *d, int buffer)
{
	if (request == MPI_REQUEST_NULL) {
		number(parameter, 0);
		lg_drop(d);
		return;
	}
	number(parameter, ++newest);
	struct request *r = add(request, kind);
	if (!r) {
		lg_lost();
		lg_drop(d);
		return;
	}
	lg_keep(d);
	r->data = *d;
	r->buffer = buffer;
}

HIDDEN void lg_request_comm(int parameter, MPI_Request request, const void *comm, int fortran, int buffer)
{
	struct lg_data none = {0};
	lg_request(parameter, request, 0, &none, buffer);
	struct request *r = find(request);
	if (r) {
		r->comm = comm;
		r->fortran = fortran;
	}
}

HIDDEN uint64_t lg_number(MPI_Request request)
{
	struct request *r = find(request);
	return r ? r->number : 0;
}

HIDDEN void lg_started(MPI_Request request)
{
	struct request *r = find(request);
	if (r) {
		r->active = 1;
		r->seen = 0;
	}
}

static void done(int parameter, int index, uint64_t n, int status_parameter, const MPI_Status *status)
{
	lg_item(IT_DONE, parameter);
	lg_varint((uint64_t)index);
	lg_varint(n);
	lg_status(status_parameter, index, status);
}

/* arrived writes the data of a request once. */
static void arrived(struct request *r, const MPI_Status *status)
{
	if (r->seen)
		return;
	r->seen = 1;
	if (r->comm)
		lg_comm(r->buffer, r->fortran ? PMPI_Comm_f2c(*(const MPI_Fint *)r->comm) : *(const MPI_Comm *)r->comm);
	int cancelled = 0;
	PMPI_Test_cancelled((MPI_Status *)status, &cancelled);
	if (!(r->kind & LG_DATA) || r->data.n == 0 || (cancelled && !(r->kind & LG_COLLECTIVE)))
		return;
	struct lg_data d = r->data;
	if (r->kind & LG_PERSISTENT) { /* lg_data frees its pieces, and a persistent request needs them again */
		d.kept = 0;
		if (d.all && (d.all = malloc(d.n * sizeof *d.all)))
			memcpy(d.all, r->data.all, d.n * sizeof *d.all);
		d.lost |= r->data.all && !d.all;
	} else
		r->data = (struct lg_data){0};
	lg_data(r->buffer, &d, r->kind & LG_COLLECTIVE ? -1 : lg_received(status));
}

/* lg_done logs that the request with this handle before the call is complete. */
HIDDEN void lg_done(int parameter, int index, MPI_Request before, int status_parameter, const MPI_Status *status)
{
	if (before == MPI_REQUEST_NULL)
		return;
	struct request *r = find(before);
	if (r && !r->active)
		return;
	int data = r && r->data.n > 0;
	done(parameter, index, r && (data || !r->shared) ? r->number : 0, status_parameter, status);
	if (!r)
		return;
	arrived(r, status);
	if (r->kind & LG_PERSISTENT)
		r->active = 0;
	else
		discard(r);
}

/* lg_looked is lg_done for MPI_Request_get_status, which does not free the request. */
HIDDEN void lg_looked(int parameter, MPI_Request request, int status_parameter, const MPI_Status *status)
{
	struct request *r = request == MPI_REQUEST_NULL ? NULL : find(request);
	if (!r || !r->active)
		return;
	done(parameter, 0, r->number, status_parameter, status);
	arrived(r, status);
}

HIDDEN void lg_freed(MPI_Request before)
{
	struct request *r = before == MPI_REQUEST_NULL ? NULL : find(before);
	if (!r)
		return;
	lg_unseen += r->active && !r->seen && r->data.n > 0;
	discard(r);
}
