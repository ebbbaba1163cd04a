#include "replayer.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Answers a call: compares the checks of its record, and gives the outputs to the program. */

static struct {
	unsigned function;
	int64_t code;
	unsigned bits;
	int64_t checks[7];
} rec;

static const char *const check_names[7] = {"peer", "tag", "bytes", "communicator", "source", "tag received", "request"};

/* describe returns a text of the current record's call. */
static const char *describe(void)
{
	static char text[256];
	int n = snprintf(text, sizeof text, "MPI_%s", rp_function(rec.function));
	const char *separator = " with ";
	for (int i = 0; i < 7; i++)
		if (rec.bits & 1u << i) {
			n += snprintf(text + n, sizeof text - (size_t)n, "%s%s %lld", separator, check_names[i], (long long)rec.checks[i]);
			separator = ", ";
		}
	return text;
}

static void read_call(void)
{
	rec.function = rp_from_log(rp_log_v());
	rec.code = rp_log_z();
	rec.bits = (unsigned)rp_log_v();
	for (int i = 0; i < 7; i++)
		if (rec.bits & 1u << i)
			rec.checks[i] = 1 << i == CHECK_BYTES || 1 << i == CHECK_COMM || 1 << i == CHECK_REQUEST ? (int64_t)rp_log_v() : rp_log_z();
	if (rec.function == UINT32_MAX)
		rp_stop(STOP_DAMAGED, "a call of a function that the header does not name");
}

static void ended(unsigned function)
{
	static const char *const reasons[] = {"it has no end", "MPI_Finalize", "the process ended without MPI_Finalize", "MPI_Abort", "its budget was used up",
		"it could not be written", "a second thread called MPI", "no memory", "the recording of events ended"};
	uint64_t reason = rp_log_v();
	if (reason >= sizeof reasons / sizeof reasons[0])
		reason = 0;
	if (reason >= 1 && reason <= 3)
		rp_stop(STOP_DIFFERS, "the program calls MPI_%s, and the recorded one had ended (%s)", rp_function(function), reasons[reason]);
	rp_stop(STOP_CUT, "the log ends before MPI_%s: %s", rp_function(function), reasons[reason]);
}

/* rp_begin reads the next record and compares its function. */
HIDDEN void rp_begin(unsigned function)
{
	int class = rp_class(function);
	if (class == 0)
		rp_stop(STOP_REFUSED, "MPI_%s is not a function that the log knows", rp_function(function));
	if (class == 'X')
		rp_stop(STOP_REFUSED, "MPI_%s cannot be replayed: what it does to this process is not in its arguments", rp_function(function));
	switch (rp_log_next()) {
	case LOG_CALL:
		break;
	case LOG_END:
		ended(function);
		break;
	default:
		rp_stop(STOP_CUT, "the log is cut before MPI_%s", rp_function(function));
	}
	read_call();
	if (rec.function != function)
		rp_stop(STOP_DIFFERS, "the program calls MPI_%s, the log has %s", rp_function(function), describe());
}

HIDDEN int rp_wants(int check) { return (int)rec.bits & check; }

HIDDEN void rp_check(int check, int64_t value)
{
	int i = __builtin_ctz((unsigned)check);
	if (rec.checks[i] != value)
		rp_stop(STOP_DIFFERS, "the program calls MPI_%s with %s %lld, the log has %s", rp_function(rec.function), check_names[i], (long long)value,
			describe());
}

static void damaged(const char *what)
{
	rp_stop(STOP_DAMAGED, "%s of MPI_%s before byte %llu of the stream does not fit", what, rp_function(rec.function), (unsigned long long)rp_log_at());
}

static void set_int(struct arguments *a, unsigned p, uint64_t i, int64_t v)
{
	if (i > 0 && (!a->room || (int64_t)i >= a->room[p]))
		damaged("an array");
	if (a->forms[p] == FORM_INT)
		((int *)a->at[p])[i] = (int)v;
	else if (a->forms[p] == FORM_LONG)
		((int64_t *)a->at[p])[i] = v;
	else
		damaged("a number");
}

static void take_comm(struct arguments *a, unsigned p, struct request *r)
{
	uint64_t number = rp_log_v();
	int size = (int)rp_log_v(), rank = (int)rp_log_v(), remote = (int)rp_log_v();
	if (r) {
		rp_comm_known(r->later, number, size, rank, remote);
		return;
	}
	if (a->forms[p] != FORM_COMM)
		damaged("a communicator");
	MPI_Comm *to = a->at[p];
	if (number == 0) {
		*to = MPI_COMM_NULL;
		return;
	}
	if (number == 1)
		*to = MPI_COMM_WORLD;
	else
		*to = rp_comm_new(a->later != MPI_COMM_NULL ? a->later : MPI_COMM_SELF);
	rp_comm_known(*to, number, size, rank, remote);
}

static void take_object(struct arguments *a, unsigned p)
{
	uint64_t number = rp_log_v();
	if (a->forms[p] == FORM_GROUP) {
		MPI_Group *g = a->at[p];
		if (number == 0)
			*g = MPI_GROUP_NULL;
		else if (number == 1)
			*g = MPI_GROUP_EMPTY;
		else
			PMPI_Comm_group(MPI_COMM_SELF, g);
	} else if (a->forms[p] == FORM_MESSAGE)
		*(MPI_Message *)a->at[p] = number == 0 ? MPI_MESSAGE_NULL : number == 1 ? MPI_MESSAGE_NO_PROC : rp_message_new();
	else
		damaged("an object");
}

static int ignored(const void *status)
{
	return status == (const void *)MPI_STATUS_IGNORE || status == (const void *)MPI_STATUSES_IGNORE;
}

static void take_status(struct arguments *a, unsigned p)
{
	uint64_t index = rp_log_v();
	int64_t source = rp_log_z(), tag = rp_log_z(), error = rp_log_z();
	uint64_t bytes = rp_log_v(), flags = rp_log_v();
	if (a->forms[p] != FORM_STATUS || (index > 0 && index >= (uint64_t)a->count))
		damaged("a status");
	if (ignored(a->at[p]))
		return;
	MPI_Status *s = (MPI_Status *)a->at[p] + index;
	rp_status(s, source, tag, bytes, flags & 1);
	if (a->count > 0)
		s->MPI_ERROR = (int)error;
}

static void take_data(struct data *d)
{
	uint64_t bytes = rp_log_v(), where = rp_log_v(), at = where ? where : rp_log_at();
	if (!where)
		rp_log_skip(bytes);
	rp_data_fill(d, bytes, at);
}

static void take_text(struct arguments *a, unsigned p)
{
	uint64_t n = rp_log_v(), at = rp_log_at();
	rp_log_skip(n);
	if (a->forms[p] != FORM_TEXT)
		damaged("a text");
	if (n >= MPI_MAX_PROCESSOR_NAME) /* the only text in a log */
		damaged("a text");
	memcpy(a->at[p], rp_log_bytes(at, n), n);
	((char *)a->at[p])[n] = 0;
}

/* take_done returns the request of the program that is complete. It ends the previous one first. */
static struct request *take_done(struct arguments *a, uint64_t *index)
{
	*index = rp_log_v();
	uint64_t number = rp_log_v();
	if (!a->requests || (*index > 0 && *index >= (uint64_t)a->count))
		damaged("a completed request");
	struct request *r = rp_request_of(a->requests[*index]);
	if (!r || (number && r->number != number))
		rp_stop(STOP_DIFFERS, "the program waits for request %llu with MPI_%s, in the log request %llu is complete",
			(unsigned long long)(r ? r->number : 0), rp_function(rec.function), (unsigned long long)number);
	return r;
}

static void take_request(struct arguments *a, unsigned p)
{
	uint64_t number = rp_log_v();
	if (a->forms[p] != FORM_REQUEST)
		damaged("a request");
	if (number)
		*(MPI_Request *)a->at[p] = rp_request_new(number, a);
	else
		*(MPI_Request *)a->at[p] = MPI_REQUEST_NULL;
}

static void finish_done(struct arguments *a, struct request *r, uint64_t index)
{
	if (r && !a->only_looks)
		rp_request_done(&a->requests[index]);
}

/* take reads one output. r is the request that outputs belong to, if any. */
static void take(struct arguments *a, struct request **r, uint64_t *index)
{
	int kind = (int)rp_log_v();
	unsigned p = (unsigned)rp_log_v();
	uint64_t n;
	if (kind == 9) {
		struct request *before = *r;
		uint64_t i = *index;
		finish_done(a, before, i);
		*r = take_done(a, index);
		return;
	}
	if (p >= (unsigned)a->n && !(*r && (kind == 7 || kind == 3)))
		damaged("a parameter");
	switch (kind) {
	case 1:
		set_int(a, p, 0, rp_log_z());
		break;
	case 2:
		n = rp_log_v();
		for (uint64_t i = 0; i < n; i++)
			set_int(a, p, i, rp_log_z());
		break;
	case 3:
		take_comm(a, p, *r);
		break;
	case 4:
		take_object(a, p);
		break;
	case 5:
		take_request(a, p);
		break;
	case 6:
		take_status(a, p);
		break;
	case 7:
		take_data(*r ? &(*r)->data : a->data);
		break;
	case 8:
		take_text(a, p);
		break;
	default:
		damaged("an output of unknown kind");
	}
}

HIDDEN int rp_yields;

HIDDEN int rp_answer(struct arguments *a)
{
	struct request *r = NULL;
	uint64_t index = 0;
	if (a->waits) {
		rp_work();
		if (rp_yields)
			sched_yield();
	}
	if (a->statuses && !ignored(a->statuses) && rec.code == MPI_SUCCESS)
		for (int i = 0; i < a->status_count; i++) {
			rp_status(&a->statuses[i], MPI_ANY_SOURCE, MPI_ANY_TAG, 0, 0);
			if (a->count > 0)
				a->statuses[i].MPI_ERROR = MPI_SUCCESS;
		}
	while (rp_log_more())
		take(a, &r, &index);
	finish_done(a, r, index);
	rp_data_drop(a->data);
	return (int)rec.code;
}
