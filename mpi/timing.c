//go:build cgo && !nompi

#include "timing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_DATA = 1, TAG_READY = 2, TAG_DONE = 3 };
enum { NAP = 12000000, LOOK = 3000000 }; // ns that a receiver stays outside of MPI, and that its sender tests whether the send ends

struct pair {
	MPI_Comm c;
	int peer, lead, bytes, count;
	char *out, *in;
	MPI_Request *r;
	MPI_Status *status; // MPICH's header makes compilers warn of MPI_STATUSES_IGNORE
};

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#define TRY(call)                 \
	do {                          \
		int rc = (call);          \
		if (rc != MPI_SUCCESS)    \
			return rc;            \
	} while (0)

static int signal_peer(struct pair *p, int tag) { return MPI_Send(p->out, 0, MPI_BYTE, p->peer, tag, p->c); }

static int await_peer(struct pair *p, int tag) {
	return MPI_Recv(p->in, 0, MPI_BYTE, p->peer, tag, p->c, MPI_STATUS_IGNORE);
}

static int receive(struct pair *p) {
	return MPI_Recv(p->in, p->bytes, MPI_BYTE, p->peer, TAG_DATA, p->c, MPI_STATUS_IGNORE);
}

static int send(struct pair *p) { return MPI_Send(p->out, p->bytes, MPI_BYTE, p->peer, TAG_DATA, p->c); }

// A message to oneself goes one way only, so its time counts twice.
static int round_trip(struct pair *p, int self, int64_t *ns) {
	int64_t t = now();
	if (self) {
		TRY(MPI_Sendrecv(p->out, p->bytes, MPI_BYTE, p->peer, TAG_DATA, p->in, p->bytes, MPI_BYTE, p->peer, TAG_DATA, p->c, MPI_STATUS_IGNORE));
		*ns = 2 * (now() - t);
		return MPI_SUCCESS;
	}
	if (p->lead) {
		TRY(send(p));
		TRY(receive(p));
		*ns = now() - t;
		return MPI_SUCCESS;
	}
	TRY(receive(p));
	return send(p);
}

// The time of MPI_Isend alone.
static int send_call(struct pair *p, int self, int64_t *ns) {
	if (p->lead) {
		int64_t t = now();
		TRY(MPI_Isend(p->out, p->bytes, MPI_BYTE, p->peer, TAG_DATA, p->c, &p->r[0]));
		*ns = now() - t;
	}
	if (!p->lead || self)
		TRY(receive(p));
	if (p->lead)
		TRY(MPI_Wait(&p->r[0], MPI_STATUS_IGNORE));
	if (self)
		return MPI_SUCCESS;
	return p->lead ? await_peer(p, TAG_DONE) : signal_peer(p, TAG_DONE);
}

// The time of MPI_Recv alone. A later message of the same sender shows that the first has arrived.
static int receive_call(struct pair *p, int self, int64_t *ns) {
	if (!p->lead || self) {
		if (!self)
			TRY(await_peer(p, TAG_READY));
		TRY(MPI_Isend(p->out, p->bytes, MPI_BYTE, p->peer, TAG_DATA, p->c, &p->r[0]));
		TRY(MPI_Isend(p->out, 0, MPI_BYTE, p->peer, TAG_DONE, p->c, &p->r[1]));
	} else {
		TRY(signal_peer(p, TAG_READY));
	}
	if (p->lead) {
		TRY(await_peer(p, TAG_DONE));
		int64_t t = now();
		TRY(receive(p));
		*ns = now() - t;
	}
	return !p->lead || self ? MPI_Waitall(2, p->r, p->status) : MPI_SUCCESS;
}

// Messages one after the other, until the receiver says that it has all.
static int burst(struct pair *p, int self, int64_t *ns) {
	if (!p->lead || self) {
		for (int i = 0; i < p->count; i++)
			TRY(MPI_Irecv(p->in, p->bytes, MPI_BYTE, p->peer, TAG_DATA, p->c, &p->r[i]));
		if (!self)
			TRY(signal_peer(p, TAG_READY));
	}
	if (p->lead) {
		if (!self)
			TRY(await_peer(p, TAG_READY));
		int64_t t = now();
		for (int i = 0; i < p->count; i++)
			TRY(MPI_Isend(p->out, p->bytes, MPI_BYTE, p->peer, TAG_DATA, p->c, &p->r[p->count + i]));
		TRY(MPI_Waitall(self ? 2 * p->count : p->count, self ? p->r : p->r + p->count, p->status));
		if (!self)
			TRY(await_peer(p, TAG_DONE));
		*ns = now() - t;
		return MPI_SUCCESS;
	}
	TRY(MPI_Waitall(p->count, p->r, p->status));
	return signal_peer(p, TAG_DONE);
}

// For NAP ns the receiver stays outside of MPI, or in MPI without a receive. A send that ends meanwhile is eager.
static int eager(struct pair *p, int self, int inside, int64_t *ns) {
	if (p->lead) {
		if (!self)
			TRY(await_peer(p, TAG_READY));
		int done = 0;
		TRY(MPI_Isend(p->out, p->bytes, MPI_BYTE, p->peer, TAG_DATA, p->c, &p->r[0]));
		for (int64_t end = now() + LOOK; !done && now() < end;)
			TRY(MPI_Test(&p->r[0], &done, MPI_STATUS_IGNORE));
		*ns = done;
	}
	if (!p->lead || self) {
		if (!self) {
			TRY(signal_peer(p, TAG_READY));
			int found = 0;
			for (int64_t end = now() + NAP; inside && now() < end;)
				TRY(MPI_Iprobe(p->peer, TAG_DONE, p->c, &found, MPI_STATUS_IGNORE));
			if (!inside)
				cop_pause(NAP);
		}
		TRY(receive(p));
	}
	return p->lead ? MPI_Wait(&p->r[0], MPI_STATUS_IGNORE) : MPI_SUCCESS;
}

static int reduce(struct pair *p, int64_t *ns) {
	int64_t t = now();
	TRY(MPI_Reduce_local(p->out, p->in, p->bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM));
	*ns = now() - t;
	return MPI_SUCCESS;
}

static int once(int kind, struct pair *p, int self, int64_t *ns) {
	switch (kind) {
	case COP_ROUND_TRIP:
		return round_trip(p, self, ns);
	case COP_SEND:
		return send_call(p, self, ns);
	case COP_RECEIVE:
		return receive_call(p, self, ns);
	case COP_BURST:
		return burst(p, self, ns);
	case COP_EAGER:
	case COP_EAGER_INSIDE:
		return eager(p, self, kind == COP_EAGER_INSIDE, ns);
	case COP_REDUCE:
		return reduce(p, ns);
	}
	int64_t t = now();
	*ns = now() - t;
	return MPI_SUCCESS;
}

int cop_time(int kind, MPI_Comm c, int peer, int lead, int bytes, int count, int n, int64_t *ns) {
	struct pair p = {c, peer, lead, bytes, count, NULL, NULL, NULL, NULL};
	size_t size = (size_t)bytes + sizeof(double), requests = 2 * (size_t)(count > 0 ? count : 1);
	int rc = MPI_ERR_NO_MEM;
	p.out = calloc(1, size);
	p.in = calloc(1, size);
	p.r = calloc(requests, sizeof *p.r);
	p.status = calloc(requests, sizeof *p.status);
	if (p.out && p.in && p.r && p.status) {
		memset(p.in, 0, size); // touch every page before the first repetition
		memset(p.out, 0, size);
		rc = MPI_SUCCESS;
		for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
			rc = once(kind, &p, peer == cop_rank(c), &ns[i]);
	}
	free(p.out);
	free(p.in);
	free(p.r);
	free(p.status);
	return rc;
}
