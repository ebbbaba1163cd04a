#include "recorder.h"

#include "hashtable.h"
#include <pthread.h>

/*
 * Requests in progress, by the value of their handles; persistent ones until they are freed. Libraries return the same handle for all
 * requests that are complete at once. So a handle may stand for several requests, which complete in the order in which they were made.
 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table requests;
static uint64_t newest;
static struct slot *spare; /* unused slots of queues */

HIDDEN uint64_t cr_requests_newest(void)
{
	pthread_mutex_lock(&lock);
	uint64_t n = newest;
	pthread_mutex_unlock(&lock);
	return n;
}

/* The predefined datatype that this thread used last. It is never freed, so its handle is not reused. */
static _Thread_local struct {
	MPI_Datatype type;
	uint64_t size;
	int known;
} latest;

static uint64_t size_of(MPI_Datatype type)
{
	if (latest.known && latest.type == type)
		return latest.size;
	MPI_Count size = 0;
	if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
		return 0;
	int integers, addresses, types, combiner = MPI_COMBINER_CONTIGUOUS;
	PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
	if (combiner == MPI_COMBINER_NAMED) {
		latest.type = type;
		latest.size = (uint64_t)size;
		latest.known = 1;
	}
	return (uint64_t)size;
}

HIDDEN uint64_t cr_bytes(MPI_Count count, MPI_Datatype type) { return count > 0 ? (uint64_t)count * size_of(type) : 0; }

/* cr_root returns OTF2's number of a root, + 1: none, a rank, this process (in an intercommunicator), or one of its own group. */
static uint64_t cr_root(int root)
{
	if (root >= 0)
		return (uint64_t)root + 1;
	return root == MPI_ROOT ? UINT32_MAX : root == MPI_PROC_NULL ? UINT32_MAX - 1 : 0;
}

/* cr_received reads the length of a message from the library's own field of the status, if it is known. */
HIDDEN uint64_t cr_received(const MPI_Status *status)
{
#ifdef OPEN_MPI
	return status->_ucount;
#elif defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 30200000
	return (uint64_t)((unsigned)status->count_hi_and_cancelled >> 1) << 32 | (uint32_t)status->count_lo;
#else
	MPI_Count n = 0;
	PMPI_Get_elements_x((MPI_Status *)status, MPI_BYTE, &n);
	return n < 0 ? 0 : (uint64_t)n;
#endif
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
	uint64_t a[4] = {(uint64_t)status->MPI_SOURCE, cr_comm(comm), (uint64_t)(uint32_t)status->MPI_TAG, cr_received(status)};
	cr_event(EV_RECV, 4, a);
}

/* queue appends a request to those with the handle of s. */
static struct slot *queue(struct slot *s)
{
	struct slot *q = spare ? spare : malloc(sizeof *q);
	if (!q)
		return NULL;
	if (spare)
		spare = spare->later;
	memset(q, 0, sizeof *q);
	q->handle = s->handle;
	if (s->latest)
		s->latest->later = q;
	else
		s->later = q;
	s->latest = q;
	return q;
}

/*
 * take moves a request with this handle to r: the oldest that this thread made, or else the oldest. Different threads get the same handle
 * for requests that are complete at once, and all events of a request must be in one stream.
 */
static void take(struct slot *s, struct slot *r)
{
	uint64_t thread = cr_thread();
	struct slot *q = s->later, *before = NULL;
	while (q && s->thread != thread && q->thread != thread) {
		before = q;
		q = q->later;
	}
	if (q && s->thread != thread) { /* take it from the queue */
		*r = *q;
		if (before)
			before->later = q->later;
		else
			s->later = q->later;
		if (s->latest == q)
			s->latest = before;
	} else {
		*r = *s;
		if (!(q = s->later)) {
			discard(&requests, s);
			return;
		}
		struct slot *latest = q == s->latest ? NULL : s->latest;
		*s = *q;
		s->latest = latest;
	}
	q->later = spare;
	spare = q;
}

/* shared returns whether requests of this kind may be complete at once, and so share a handle. Others have a new handle, or one of a
 * request that another thread has just completed but not yet reported. */
static int shared(int kind) { return kind != RQ_RECV && kind != RQ_BOTH; }

static struct slot *add(MPI_Request request, int kind)
{
	struct slot *s = find(&requests, HANDLE(request));
	if (s && !((s->kind | (uint64_t)kind) & RQ_PERSISTENT) && (s->thread != cr_thread() || (shared((int)s->kind) && shared(kind))))
		s = queue(s);
	else
		s = insert(&requests, HANDLE(request));
	if (s) {
		s->number = ++newest;
		s->kind = (uint64_t)kind;
		s->thread = cr_thread();
	} else
		cr_no_memory();
	return s;
}

/* nothing adds a request without events. Else its end would be taken for that of another request with the same handle. */
static void nothing(MPI_Request request)
{
	pthread_mutex_lock(&lock);
	add(request, RQ_NOTHING);
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_isend(MPI_Request request, int dest, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type)
{
	if (request == MPI_REQUEST_NULL)
		return;
	if (dest == MPI_PROC_NULL) {
		nothing(request);
		return;
	}
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, RQ_SEND);
	uint64_t a[5] = {(uint64_t)dest, cr_comm(comm), (uint64_t)(uint32_t)tag, cr_bytes(count, type), s ? s->number : 0};
	pthread_mutex_unlock(&lock);
	cr_event(EV_ISEND, 5, a);
}

HIDDEN void cr_irecv(MPI_Request request, int source, MPI_Comm comm)
{
	if (request == MPI_REQUEST_NULL)
		return;
	if (source == MPI_PROC_NULL) {
		nothing(request);
		return;
	}
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

/* cr_isendrecv adds one request for a send (number) and a receive (active), of a source (root) and no more than so many bytes. */
HIDDEN void cr_isendrecv(MPI_Request request, int dest, int tag, MPI_Comm comm, uint64_t bytes, int source, int recvtag, uint64_t most)
{
	if (request == MPI_REQUEST_NULL)
		return;
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, RQ_BOTH);
	uint64_t a[5] = {(uint64_t)dest, cr_comm(comm), (uint64_t)(uint32_t)tag, bytes, s ? s->number : 0}, n = 0;
	if (s) {
		s->comm = a[1];
		s->peer = (uint64_t)(int64_t)dest;
		s->root = (uint64_t)(int64_t)source;
		s->tag = (uint64_t)(uint32_t)recvtag;
		s->bytes = most;
		s->active = n = source == MPI_PROC_NULL ? 0 : ++newest;
	}
	pthread_mutex_unlock(&lock);
	if (dest != MPI_PROC_NULL)
		cr_event(EV_ISEND, 5, a);
	if (n)
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
		s->root = cr_root(root);
		s->bytes = sent;
		s->received = got;
	}
	pthread_mutex_unlock(&lock);
	cr_event(EV_NBC_REQ, 1, &n);
}

/* cr_comm_later adds a communicator that will be stored at handle when the request completes. It gets its number now, because all
 * members start these operations in the same order. fortran: handle is a Fortran handle. */
HIDDEN void cr_comm_later(MPI_Request request, MPI_Comm old, const void *handle, int fortran)
{
	uint64_t number = cr_comm_like(old);
	pthread_mutex_lock(&lock);
	struct slot *s = request == MPI_REQUEST_NULL ? NULL : add(request, RQ_COMM);
	if (s) {
		s->comm = number;
		s->root = (uint64_t)(uintptr_t)handle;
		s->op = (uint64_t)fortran;
	}
	pthread_mutex_unlock(&lock);
}

static void comm_there(const struct slot *s)
{
	const void *p = (const void *)(uintptr_t)s->root;
	cr_comm_is(s->op ? PMPI_Comm_f2c(*(const MPI_Fint *)p) : *(const MPI_Comm *)p, s->comm);
}

HIDDEN void cr_persistent_coll(MPI_Request request, int op, MPI_Comm comm, int root, uint64_t sent, uint64_t got)
{
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, RQ_COLL | RQ_PERSISTENT);
	if (s) {
		s->comm = cr_comm(comm);
		s->op = (uint64_t)op;
		s->root = cr_root(root);
		s->bytes = sent;
		s->received = got;
	}
	pthread_mutex_unlock(&lock);
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

/*
 * Partitioned communication. The message is sent when its last partition is ready: nobody can receive it before. For a persistent send, op
 * is the number of partitions and root how many are not ready yet. received: another thread than the one that started the send made the
 * last partition ready. Then the message is recorded without a request, because all events of a request must be in one stream.
 */
HIDDEN void cr_partitioned(MPI_Request request, int partitions)
{
	pthread_mutex_lock(&lock);
	struct slot *s = find(&requests, HANDLE(request));
	if (s)
		s->op = (uint64_t)partitions;
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_ready(MPI_Request request, int partitions, uint64_t last[6])
{
	pthread_mutex_lock(&lock);
	struct slot *s = find(&requests, HANDLE(request));
	if (s && s->active && s->op && s->kind == (RQ_SEND | RQ_PERSISTENT)) {
		s->root -= (uint64_t)(int64_t)partitions;
		s->received = !s->root && s->thread != cr_thread();
		uint64_t message[6] = {s->received ? EV_SEND : EV_ISEND, s->peer, s->comm, s->tag, s->bytes, s->active};
		if (!s->root)
			memcpy(last, message, sizeof message);
	}
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_ready_last(const uint64_t last[6])
{
	if (last[0])
		cr_event((int)last[0], last[0] == EV_SEND ? 4 : 5, last + 1);
}

/* near_events writes that all messages of a neighbourhood collective begin, or that they are complete. */
static void near_events(const struct neighbours *near, int done)
{
	for (int i = 0; i < near->n; i++) {
		const struct neighbour *x = &near->with[i];
		uint64_t a[5] = {(uint64_t)x->peer, near->comm, (uint64_t)(uint32_t)x->tag, x->bytes, near->first + (uint64_t)i};
		if (x->peer == MPI_PROC_NULL)
			continue;
		if ((i < near->out) != done)
			cr_event(done ? EV_IRECV : EV_ISEND, 5, a);
		else
			cr_event(done ? EV_ISEND_DONE : EV_IRECV_REQ, 1, &a[4]);
	}
}

/* number numbers the messages of an operation. The lock is held. */
static void number(struct neighbours *near)
{
	near->first = newest + 1;
	newest += (uint64_t)near->n;
}

HIDDEN void cr_near_begin(struct neighbours *near)
{
	if (!near)
		return;
	pthread_mutex_lock(&lock);
	number(near);
	pthread_mutex_unlock(&lock);
	near_events(near, 0);
}

HIDDEN void cr_near_end(struct neighbours *near)
{
	if (near)
		near_events(near, 1);
	free(near);
}

HIDDEN void cr_near_later(MPI_Request request, int kind, struct neighbours *near)
{
	if (!near)
		return;
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, RQ_NEAR | kind);
	if (s) {
		s->near = near;
		number(near);
	}
	pthread_mutex_unlock(&lock);
	if (!s)
		free(near);
	else if (!kind)
		near_events(near, 0);
}

HIDDEN void cr_rma_request(MPI_Request request, uint64_t window, uint64_t id)
{
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, id ? RQ_RMA : RQ_NOTHING);
	if (s) {
		s->comm = window;
		s->op = id;
	}
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_io_request(MPI_Request request, struct cr_io io)
{
	pthread_mutex_lock(&lock);
	struct slot *s = add(request, io.id ? RQ_FILE : RQ_NOTHING);
	if (s) {
		s->comm = io.file;
		s->op = io.id;
		s->bytes = io.asked;
	}
	pthread_mutex_unlock(&lock);
}

static struct cr_io io_of(const struct slot *s) { return (struct cr_io){s->comm, s->op, s->bytes}; }

HIDDEN void cr_started(MPI_Request request)
{
	int kind = 0;
	struct neighbours *near = NULL;
	uint64_t a[5];
	pthread_mutex_lock(&lock);
	struct slot *s = find(&requests, HANDLE(request));
	if (s && s->peer != (uint64_t)(int64_t)MPI_PROC_NULL) {
		kind = (int)s->kind & ~RQ_PERSISTENT;
		s->active = ++newest;
		uint64_t b[5] = {s->peer, s->comm, s->tag, s->bytes, s->active};
		memcpy(a, b, sizeof a);
		if ((near = s->near))
			number(near);
		s->thread = cr_thread();
		if (kind == RQ_SEND && s->op) {
			s->root = s->op;
			s->received = 0;
			kind = 0;
		}
	}
	pthread_mutex_unlock(&lock);
	if (kind == RQ_SEND)
		cr_event(EV_ISEND, 5, a);
	else if (kind == RQ_RECV)
		cr_event(EV_IRECV_REQ, 1, &a[4]);
	else if (kind == RQ_COLL)
		cr_event(EV_NBC_REQ, 1, &a[4]);
	else if (near)
		near_events(near, 0);
}

/* cr_completed ends the request that had this handle before the call. */
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
	if (s->kind & RQ_PERSISTENT) {
		r = *s;
		r.number = r.active;
		s->active = 0;
	} else
		take(s, &r);
	pthread_mutex_unlock(&lock);
	if (!r.number) /* a persistent request that was not started */
		return;
	int gone = 0;
	if (r.cancelled && status)
		PMPI_Test_cancelled((MPI_Status *)status, &gone);
	if (gone && r.kind == RQ_FILE)
		cr_io_cancelled(io_of(&r));
	else if (gone)
		cr_event(EV_CANCELLED, 1, &r.number);
	if (gone)
		return;
	switch (r.kind & ~(uint64_t)RQ_PERSISTENT) {
	case RQ_BOTH:
		if (r.peer != (uint64_t)(int64_t)MPI_PROC_NULL)
			cr_event(EV_ISEND_DONE, 1, &r.number);
		r.number = r.active;
		if (!r.number)
			break;
#if defined MPICH_NUMVERSION && !defined OPEN_MPI
		if ((int)r.root != MPI_ANY_SOURCE && (int)r.tag != MPI_ANY_TAG) { /* MPICH 4.0 leaves the status as it was */
			uint64_t asked[5] = {r.root, r.comm, r.tag, r.bytes, r.number};
			cr_event(EV_IRECV, 5, asked);
			break;
		}
#endif
		/* fall through */
	case RQ_RECV: {
		if (status->MPI_SOURCE < 0)
			break;
		uint64_t a[5] = {(uint64_t)(uint32_t)status->MPI_SOURCE, r.comm, (uint64_t)(uint32_t)status->MPI_TAG, cr_received(status), r.number};
		cr_event(EV_IRECV, 5, a);
		break;
	}
	case RQ_SEND:
		if (!r.received)
			cr_event(EV_ISEND_DONE, 1, &r.number);
		break;
	case RQ_COLL: {
		uint64_t a[6] = {r.op, r.comm, r.root, r.bytes, r.received, r.number};
		cr_event(EV_NBC_END, 6, a);
		break;
	}
	case RQ_NEAR:
		near_events(r.near, 1);
		if (!(r.kind & RQ_PERSISTENT))
			free(r.near);
		break;
	case RQ_RMA:
		cr_rma_done(r.comm, r.op);
		break;
	case RQ_FILE:
		cr_io_end(io_of(&r), status);
		break;
	case RQ_COMM:
		comm_there(&r);
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

/* cr_request_gone removes a request that the program frees. Its completion cannot be seen, so one in progress ends here. */
HIDDEN void cr_request_gone(MPI_Request request)
{
	pthread_mutex_lock(&lock);
	struct slot *s = find(&requests, HANDLE(request)), r = {0};
	if (s && s->kind & RQ_PERSISTENT) {
		r = *s;
		r.number = r.active;
		discard(&requests, s);
	} else if (s)
		take(s, &r);
	pthread_mutex_unlock(&lock);
	free(r.near);
	uint64_t kind = r.number ? r.kind & ~(uint64_t)RQ_PERSISTENT : 0;
	if (kind == RQ_SEND && !r.received && !(r.op && r.root))
		cr_event(EV_ISEND_DONE, 1, &r.number);
	else if (kind == RQ_RECV)
		cr_event(EV_CANCELLED, 1, &r.number);
	else if (kind == RQ_FILE)
		cr_io_cancelled(io_of(&r));
}

HIDDEN void cr_coll_begin(void) { cr_event(EV_COLL_BEGIN, 0, NULL); }

HIDDEN void cr_coll_end(int op, MPI_Comm comm, int root, uint64_t sent, uint64_t got)
{
	uint64_t a[5] = {(uint64_t)op, cr_comm(comm), cr_root(root), sent, got};
	cr_event(EV_COLL_END, 5, a);
}
