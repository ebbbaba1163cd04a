#include "recorder.h"

#include "hashtable.h"
#include <pthread.h>

/* Requests under way by the value of their handles; persistent ones stay until they are freed. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table requests;
static uint64_t newest;

HIDDEN uint64_t cr_bytes(MPI_Count count, MPI_Datatype type)
{
	int size = 0;
	if (type != MPI_DATATYPE_NULL)
		PMPI_Type_size(type, &size);
	return count > 0 && size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

static uint64_t received(const MPI_Status *status)
{
	int n = 0;
	PMPI_Get_count((MPI_Status *)status, MPI_BYTE, &n);
	return n == MPI_UNDEFINED || n < 0 ? 0 : (uint64_t)n;
}

HIDDEN void cr_send(int dest, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type)
{
	if (dest == MPI_PROC_NULL)
		return;
	uint64_t a[4] = {(uint64_t)dest, cr_comm(comm), (uint64_t)(uint32_t)tag, cr_bytes(count, type)};
	cr_event(EV_SEND, 4, a);
}

HIDDEN void cr_recv(MPI_Comm comm, const MPI_Status *status)
{
	if (status->MPI_SOURCE < 0) /* MPI_PROC_NULL */
		return;
	uint64_t a[4] = {(uint64_t)status->MPI_SOURCE, cr_comm(comm), (uint64_t)(uint32_t)status->MPI_TAG, received(status)};
	cr_event(EV_RECV, 4, a);
}

static struct slot *add(MPI_Request request, int kind)
{
	struct slot *s = insert(&requests, HANDLE(request));
	if (s) {
		s->number = ++newest;
		s->kind = (uint64_t)kind;
	}
	return s;
}

HIDDEN void cr_isend(MPI_Request request, int dest, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type)
{
	if (dest == MPI_PROC_NULL || request == MPI_REQUEST_NULL)
		return;
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, RQ_SEND);
	uint64_t a[5] = {(uint64_t)dest, cr_comm(comm), (uint64_t)(uint32_t)tag, cr_bytes(count, type), s ? s->number : 0};
	pthread_mutex_unlock(&lock);
	cr_event(EV_ISEND, 5, a);
}

HIDDEN void cr_irecv(MPI_Request request, int source, MPI_Comm comm)
{
	if (source == MPI_PROC_NULL || request == MPI_REQUEST_NULL)
		return;
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, RQ_RECV);
	uint64_t n = 0;
	if (s) {
		s->comm = cr_comm(comm);
		n = s->number;
	}
	pthread_mutex_unlock(&lock);
	cr_event(EV_IRECV_REQ, 1, &n);
}

HIDDEN void cr_icoll(MPI_Request request, int op, MPI_Comm comm, int root, uint64_t sent, uint64_t got)
{
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, RQ_COLL);
	uint64_t n = 0;
	if (s) {
		n = s->number;
		s->comm = cr_comm(comm);
		s->op = (uint64_t)op;
		s->root = root >= 0 ? (uint64_t)root + 1 : 0;
		s->bytes = sent;
		s->received = got;
	}
	pthread_mutex_unlock(&lock);
	cr_event(EV_NBC_REQ, 1, &n);
}

HIDDEN void cr_persistent(MPI_Request request, int kind, int peer, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type)
{
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, kind | RQ_PERSISTENT);
	if (s) {
		s->peer = (uint64_t)(int64_t)peer;
		s->tag = (uint64_t)(uint32_t)tag;
		s->comm = cr_comm(comm);
		s->bytes = cr_bytes(count, type);
	}
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_started(MPI_Request request)
{
	int kind = 0;
	uint64_t a[5];
	pthread_mutex_lock(&lock);
	struct slot *s = find(&requests, HANDLE(request));
	if (s && s->peer != (uint64_t)(int64_t)MPI_PROC_NULL) {
		kind = (int)s->kind & ~RQ_PERSISTENT;
		s->active = ++newest;
		uint64_t b[5] = {s->peer, s->comm, s->tag, s->bytes, s->active};
		memcpy(a, b, sizeof a);
	}
	pthread_mutex_unlock(&lock);
	if (kind == RQ_SEND)
		cr_event(EV_ISEND, 5, a);
	else if (kind == RQ_RECV)
		cr_event(EV_IRECV_REQ, 1, &a[4]);
}

/* cr_completed ends a request that had the given handle before the call. */
HIDDEN void cr_completed(MPI_Request before, const MPI_Status *status)
{
	if (before == MPI_REQUEST_NULL)
		return;
	pthread_mutex_lock(&lock);
	struct slot *s = find(&requests, HANDLE(before)), r;
	if (!s) {
		pthread_mutex_unlock(&lock);
		return;
	}
	r = *s;
	if (r.kind & RQ_PERSISTENT) {
		r.number = r.active;
		s->active = 0;
	} else
		discard(&requests, s);
	pthread_mutex_unlock(&lock);
	if (!r.number) /* an inactive persistent request */
		return;
	int gone = 0;
	if (r.cancelled && status)
		PMPI_Test_cancelled((MPI_Status *)status, &gone);
	if (gone) {
		cr_event(EV_CANCELLED, 1, &r.number);
		return;
	}
	switch (r.kind & ~(uint64_t)RQ_PERSISTENT) {
	case RQ_SEND:
		cr_event(EV_ISEND_DONE, 1, &r.number);
		break;
	case RQ_RECV: {
		uint64_t a[5] = {(uint64_t)(uint32_t)status->MPI_SOURCE, r.comm, (uint64_t)(uint32_t)status->MPI_TAG, received(status), r.number};
		cr_event(EV_IRECV, 5, a);
		break;
	}
	case RQ_COLL: {
		uint64_t a[6] = {r.op, r.comm, r.root, r.bytes, r.received, r.number};
		cr_event(EV_NBC_END, 6, a);
	}
	}
}

HIDDEN void cr_cancel(MPI_Request request)
{
	pthread_mutex_lock(&lock);
	struct slot *s = find(&requests, HANDLE(request));
	if (s)
		s->cancelled = 1;
	pthread_mutex_unlock(&lock);
}

/* cr_request_gone forgets a request that was freed: nobody sees its completion. */
HIDDEN void cr_request_gone(MPI_Request request)
{
	pthread_mutex_lock(&lock);
	struct slot *s = find(&requests, HANDLE(request));
	if (s)
		discard(&requests, s);
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_coll_begin(void) { cr_event(EV_COLL_BEGIN, 0, NULL); }

HIDDEN void cr_coll_end(int op, MPI_Comm comm, int root, uint64_t sent, uint64_t got)
{
	uint64_t a[5] = {(uint64_t)op, cr_comm(comm), root >= 0 ? (uint64_t)root + 1 : 0, sent, got};
	cr_event(EV_COLL_END, 5, a);
}
