#include "replayer.h"

#include "hashtable.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Communicators, requests and messages that stand for those of the recorded run, and memory for received data. */

static struct table comms, requests;
static struct comm *comm_list;
static size_t comm_count, comm_room;
static struct request **request_list, **unused;
static size_t request_count, request_room, unused_count;
#define LOOKS 10
static MPI_Comm own; /* for requests and messages of this library */

static void *grown(void *list, size_t count, size_t *room, size_t width)
{
	if (count < *room)
		return list;
	*room = *room ? 2 * *room : 256;
	void *p = realloc(list, *room * width);
	if (!p)
		rp_stop(STOP_BROKEN, "no memory");
	return p;
}

static struct slot *slot_of(struct table *t, uint64_t handle, uint64_t number)
{
	struct slot *s = find(t, handle);
	if (!s && !(s = insert(t, handle)))
		rp_stop(STOP_BROKEN, "no memory");
	s->number = number;
	return s;
}

/* rp_work makes the MPI library work as a call that communicates does: a message to this process, and probes. Its code and data replace
 * the program's in the caches, as they did in the recorded run. */
HIDDEN void rp_work(void)
{
	char out[64] = "", in[64];
	int flag;
	PMPI_Sendrecv(out, sizeof out, MPI_BYTE, 0, 3, in, sizeof in, MPI_BYTE, 0, 3, own, MPI_STATUS_IGNORE);
	for (int i = 0; i < LOOKS; i++)
		PMPI_Iprobe(0, 4, own, &flag, MPI_STATUS_IGNORE);
}

/* Communicators */

static int world_rank, world_size;

HIDDEN void rp_comms_start(int rank, int size)
{
	world_rank = rank;
	world_size = size;
	rp_comm_known(MPI_COMM_WORLD, 1, size, rank, 0);
	rp_comm_known(MPI_COMM_SELF, 2, 1, 0, 0);
	PMPI_Comm_dup(MPI_COMM_SELF, &own);
}

HIDDEN struct comm *rp_comm_of(MPI_Comm comm)
{
	static struct comm none = {.in = -1, .out = -1};
	struct slot *s = find(&comms, HANDLE(comm));
	return s ? &comm_list[s->number - 1] : &none;
}

HIDDEN MPI_Comm rp_comm_new(MPI_Comm like)
{
	MPI_Comm made = MPI_COMM_NULL;
	PMPI_Comm_dup(like, &made);
	return made;
}

/* rp_comm_known stores what the log says of a communicator. */
HIDDEN void rp_comm_known(MPI_Comm comm, uint64_t number, int size, int rank, int remote)
{
	struct slot *s = find(&comms, HANDLE(comm));
	if (!s) {
		comm_list = grown(comm_list, comm_count, &comm_room, sizeof *comm_list);
		s = slot_of(&comms, HANDLE(comm), ++comm_count);
	}
	comm_list[s->number - 1] = (struct comm){.number = number, .size = size, .rank = rank, .remote = remote, .in = -1, .out = -1};
}

HIDDEN void rp_comm_free(MPI_Comm *comm)
{
	struct slot *s = find(&comms, HANDLE(*comm));
	if (s)
		comm_list[s->number - 1].number = 0;
	if (*comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF && *comm != MPI_COMM_NULL)
		PMPI_Comm_free(comm);
	*comm = MPI_COMM_NULL;
}

/* rp_topology stores how many neighbours this process has in a new communicator. A duplicate (like) has those of the original. */
HIDDEN void rp_topology(MPI_Comm *comm, MPI_Comm like, int dims, int in, int out)
{
	if (*comm == MPI_COMM_NULL)
		return;
	struct comm *c = rp_comm_of(*comm);
	if (like != MPI_COMM_NULL) {
		struct comm *l = rp_comm_of(like);
		dims = l->dims, in = l->in, out = l->out;
	}
	c->dims = dims, c->in = in, c->out = out;
}

HIDDEN int rp_kept(int n, const int *remain)
{
	int kept = 0;
	for (int i = 0; i < n; i++)
		kept += remain[i] != 0;
	return kept;
}

HIDDEN uint64_t cr_comm(MPI_Comm comm) { return rp_comm_of(comm)->number; }
HIDDEN int lg_rank(MPI_Comm comm) { return rp_comm_of(comm)->rank; }
HIDDEN uint64_t lg_size(MPI_Comm comm) { return (uint64_t)rp_comm_of(comm)->size; }

HIDDEN int lg_root(MPI_Comm comm, int root)
{
	struct comm *c = rp_comm_of(comm);
	return c->remote > 0 ? root == MPI_ROOT : root == c->rank;
}

HIDDEN uint64_t rp_peers(MPI_Comm comm)
{
	struct comm *c = rp_comm_of(comm);
	return (uint64_t)(c->remote > 0 ? c->remote : c->size);
}

HIDDEN uint64_t lg_degree(MPI_Comm comm, int out)
{
	struct comm *c = rp_comm_of(comm);
	int n = out ? c->out : c->in;
	if (n < 0)
		rp_stop(STOP_REFUSED, "the number of neighbours in a communicator of MPI_Dist_graph_create is not known");
	return (uint64_t)n;
}

/* Requests */


HIDDEN MPI_Request rp_request_new(uint64_t number, struct arguments *a)
{
	struct request *r;
	if (unused_count > 0)
		r = unused[--unused_count];
	else {
		r = calloc(1, sizeof *r);
		request_list = grown(request_list, request_count, &request_room, sizeof *request_list);
		if (!r || !(unused = realloc(unused, request_room * sizeof *unused)) ||
			PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, 0, own, &r->handle) != MPI_SUCCESS)
			rp_stop(STOP_BROKEN, "no memory for a request");
		request_list[request_count++] = r;
		slot_of(&requests, HANDLE(r->handle), request_count);
	}
	r->number = number;
	r->persistent = a->persistent;
	r->later = a->later;
	r->data = *a->data;
	if (r->data.pieces == a->data->few)
		r->data.pieces = r->data.few;
	rp_data_keep(&r->data);
	a->data->n = 0;
	a->data->pieces = a->data->few;
	return r->handle;
}

HIDDEN struct request *rp_request_of(MPI_Request request)
{
	struct slot *s = request == MPI_REQUEST_NULL ? NULL : find(&requests, HANDLE(request));
	return s ? request_list[s->number - 1] : NULL;
}

HIDDEN uint64_t lg_number(MPI_Request request)
{
	struct request *r = rp_request_of(request);
	return r ? r->number : 0;
}

HIDDEN void rp_request_free(MPI_Request *request)
{
	struct request *r = rp_request_of(*request);
	*request = MPI_REQUEST_NULL;
	if (!r)
		return;
	rp_data_drop(&r->data);
	r->number = 0;
	unused[unused_count++] = r;
}

HIDDEN void rp_request_done(MPI_Request *request)
{
	struct request *r = rp_request_of(*request);
	if (r && !r->persistent)
		rp_request_free(request);
}

/* Messages of matched probes are real messages of 0 bytes. */

HIDDEN MPI_Message rp_message_new(void)
{
	MPI_Message m = MPI_MESSAGE_NULL;
	MPI_Request r;
	if (PMPI_Isend(NULL, 0, MPI_BYTE, 0, 1, own, &r) != MPI_SUCCESS || PMPI_Mprobe(0, 1, own, &m, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		rp_stop(STOP_BROKEN, "no message for a matched probe");
	PMPI_Request_free(&r);
	return m;
}

HIDDEN void rp_message_free(MPI_Message *message)
{
	if (*message != MPI_MESSAGE_NULL && *message != MPI_MESSAGE_NO_PROC)
		PMPI_Mrecv(NULL, 0, MPI_BYTE, message, MPI_STATUS_IGNORE);
	*message = MPI_MESSAGE_NULL;
}

HIDDEN void rp_status(MPI_Status *s, int64_t source, int64_t tag, uint64_t bytes, int cancelled)
{
	s->MPI_SOURCE = (int)source;
	s->MPI_TAG = (int)tag;
	PMPI_Status_set_elements_x(s, MPI_BYTE, (MPI_Count)bytes);
	PMPI_Status_set_cancelled(s, cancelled);
}

/* Data */

HIDDEN void cr_no_memory(void) { rp_stop(STOP_BROKEN, "no memory"); }

HIDDEN uint64_t cr_bytes(MPI_Count count, MPI_Datatype type)
{
	int size = 0;
	if (type != MPI_DATATYPE_NULL && count > 0)
		PMPI_Type_size(type, &size);
	return count > 0 && size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

HIDDEN uint64_t rp_own(const void *buffer, MPI_Count count, MPI_Datatype type)
{
	return cr_in_place(buffer) ? 0 : cr_bytes(count, type);
}

static int64_t number(const void *list, size_t width, uint64_t i)
{
	return width == 8 ? ((const int64_t *)list)[i] : ((const int32_t *)list)[i];
}

HIDDEN uint64_t lg_sum(uint64_t n, const void *counts, size_t width, MPI_Datatype type)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += (uint64_t)number(counts, width, i);
	return sum * cr_bytes(1, type);
}

HIDDEN uint64_t lg_sum_types(uint64_t n, const void *counts, size_t width, const MPI_Datatype *types)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += cr_bytes((MPI_Count)number(counts, width, i), types[i]);
	return sum;
}

HIDDEN void lg_piece(struct data *d, void *base, int64_t count, MPI_Datatype type)
{
	if (!d->room) {
		d->pieces = d->few;
		d->room = sizeof d->few / sizeof d->few[0];
	}
	if (d->n == d->room) {
		int room = 4 * d->room;
		struct piece *p = malloc((size_t)room * sizeof *p);
		if (!p)
			rp_stop(STOP_BROKEN, "no memory");
		memcpy(p, d->pieces, (size_t)d->n * sizeof *p);
		if (d->pieces != d->few)
			free(d->pieces);
		d->pieces = p;
		d->room = room;
	}
	if (count > 0)
		d->pieces[d->n++] = (struct piece){base, count, type};
}

HIDDEN void lg_vector(struct data *d, uint64_t n, void *base, const void *counts, size_t width, const void *displs, size_t displ, MPI_Datatype type)
{
	MPI_Aint low = 0, extent = 0;
	PMPI_Type_get_extent(type, &low, &extent);
	for (uint64_t i = 0; i < n; i++)
		lg_piece(d, (char *)base + number(displs, displ, i) * extent, number(counts, width, i), type);
}

HIDDEN void lg_types(struct data *d, uint64_t n, void *base, const void *counts, size_t width, const void *displs, size_t displ, const MPI_Datatype *types)
{
	for (uint64_t i = 0; i < n; i++)
		lg_piece(d, (char *)base + number(displs, displ, i), number(counts, width, i), types[i]);
}

/* named returns whether a datatype is predefined. */
static int named(MPI_Datatype type)
{
	int integers, addresses, types, combiner = 0;
	PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
	return combiner == MPI_COMBINER_NAMED;
}

HIDDEN void rp_data_keep(struct data *d)
{
	for (int i = 0; i < d->n; i++)
		if (!named(d->pieces[i].type)) {
			PMPI_Type_dup(d->pieces[i].type, &d->pieces[i].type);
			d->own = 1;
		}
}

HIDDEN void rp_data_drop(struct data *d)
{
	for (int i = 0; d->own && i < d->n; i++)
		if (!named(d->pieces[i].type))
			PMPI_Type_free(&d->pieces[i].type);
	if (d->room && d->pieces != d->few)
		free(d->pieces);
	d->n = d->room = d->own = 0;
}

/* fill writes bytes to a piece. It copies predefined types without gaps, unpacks others, and receives what ends within an element as a
 * message to this process. */
static void fill(struct piece *p, const unsigned char *from, uint64_t bytes, uint64_t size)
{
	MPI_Aint low = 0, extent = 0;
	PMPI_Type_get_extent(p->type, &low, &extent);
	if ((uint64_t)extent == size && low == 0 && named(p->type)) {
		memcpy(p->base, from, bytes);
		return;
	}
	uint64_t whole = bytes / size;
	while (whole > 0) { /* in parts, because positions are int */
		uint64_t n = whole * size < (1u << 30) ? whole : (1u << 30) / size + 1;
		int position = 0;
		PMPI_Unpack(from, (int)(n * size), &position, p->base, (int)n, p->type, own);
		p->base += (int64_t)n * extent;
		from += n * size;
		bytes -= n * size;
		whole -= n;
	}
	if (bytes > 0)
		PMPI_Sendrecv(from, (int)bytes, MPI_BYTE, 0, 2, p->base, 1, p->type, 0, 2, own, MPI_STATUS_IGNORE);
}

HIDDEN void rp_data_fill(struct data *d, uint64_t bytes, uint64_t at)
{
	for (int i = 0; i < d->n && bytes > 0; i++) {
		struct piece p = d->pieces[i];
		uint64_t size = cr_bytes(1, p.type), n = size * (uint64_t)p.count;
		if (n > bytes)
			n = bytes;
		if (n > 0)
			fill(&p, rp_log_bytes(at, n), n, size);
		at += n;
		bytes -= n;
	}
	if (bytes > 0)
		rp_stop(STOP_DIFFERS, "the log has %llu bytes more than the program's buffer takes", (unsigned long long)bytes);
}
