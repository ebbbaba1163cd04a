//go:build cgo && !nompi

#include "glue.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

int cop_init(int *enough) {
	int provided = 0;
	prctl(PR_SET_TIMERSLACK, 500000); // ns: MPI_Init sleeps for 100 us at a time, 1000 times if ranks share processors
	int rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
	*enough = provided >= MPI_THREAD_SERIALIZED;
	return rc;
}

int cop_finalize(void) { return MPI_Finalize(); }

// Returns whether MPI was ever started.
int cop_started(void) {
	int flag = 0;
	MPI_Initialized(&flag);
	return flag;
}

void cop_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

// Yields the core, or sleeps for ns nanoseconds if ns > 0.
void cop_pause(long ns) {
	if (ns <= 0) {
		sched_yield();
		return;
	}
	struct timespec t = {ns / 1000000000L, ns % 1000000000L};
	nanosleep(&t, NULL);
}

// Returns the error class of a code.
int cop_class(int code) {
	int class = MPI_ERR_UNKNOWN;
	MPI_Error_class(code, &class);
	return class;
}

void cop_text(int code, char *out, int n) {
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int len = 0;
	MPI_Error_string(code, text, &len);
	text[len] = 0;
	strncpy(out, text, (size_t)n - 1);
	out[n - 1] = 0;
}

void cop_version(char *out, int n) {
	char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
	int len = 0;
	MPI_Get_library_version(text, &len);
	text[len] = 0;
	strncpy(out, text, (size_t)n - 1);
	out[n - 1] = 0;
}

// Returns the largest tag, at least 32767. The attribute's value is the address of an int.
int cop_tag_ub(void) {
	int *value = NULL, found = 0;
	if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found) != MPI_SUCCESS || !found || *value < 32767)
		return 32767;
	return *value;
}

// Errors of calls without a communicator, such as a test of a request that MPICH has freed, go to the handler of the world communicator
// or of MPI_COMM_SELF. They may only return if gompi does not use the world.
int cop_world_returns(void) {
	int rc = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	return rc != MPI_SUCCESS ? rc : MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

MPI_Comm cop_world(void) { return MPI_COMM_WORLD; }

// cop_rank and cop_size return the number itself.
int cop_rank(MPI_Comm c) {
	int r = -1;
	MPI_Comm_rank(c, &r);
	return r;
}

int cop_size(MPI_Comm c) {
	int n = 0;
	MPI_Comm_size(c, &n);
	return n;
}

int cop_dup(MPI_Comm c, MPI_Comm *out) {
	int rc = MPI_Comm_dup(c, out);
	return rc != MPI_SUCCESS ? rc : MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
}

int cop_free(MPI_Comm *c) { return MPI_Comm_free(c); }

int cop_isend(const void *b, int n, int to, int tag, MPI_Comm c, MPI_Request *r, int *done) {
	int rc = MPI_Isend(b, n, MPI_BYTE, to, tag, c, r);
	*done = 0;
	return rc != MPI_SUCCESS ? rc : MPI_Test(r, done, MPI_STATUS_IGNORE);
}

int cop_irecv(void *b, int n, int from, int tag, MPI_Comm c, MPI_Request *r) {
	return MPI_Irecv(b, n, MPI_BYTE, from, tag, c, r);
}

// A negative source or tag is the wildcard.
int cop_improbe(int from, int tag, MPI_Comm c, MPI_Message *m, int *found, int *src, int *got, int *count) {
	MPI_Status st;
	*found = 0;
	int rc = MPI_Improbe(from < 0 ? MPI_ANY_SOURCE : from, tag < 0 ? MPI_ANY_TAG : tag, c, found, m, &st);
	if (rc != MPI_SUCCESS || !*found)
		return rc;
	*src = st.MPI_SOURCE;
	*got = st.MPI_TAG;
	return MPI_Get_count(&st, MPI_BYTE, count);
}

int cop_imrecv(void *b, int n, MPI_Message *m, MPI_Request *r, int *done) {
	int rc = MPI_Imrecv(b, n, MPI_BYTE, m, r);
	*done = 0;
	return rc != MPI_SUCCESS ? rc : MPI_Test(r, done, MPI_STATUS_IGNORE);
}

int cop_test(MPI_Request *r, int *done) { return MPI_Test(r, done, MPI_STATUS_IGNORE); }

static MPI_Op reduction(int op) {
	switch (op) {
	case COP_MIN:
		return MPI_MIN;
	case COP_MAX:
		return MPI_MAX;
	case COP_BOR:
		return MPI_BOR;
	}
	return MPI_SUM;
}

int cop_ibarrier(MPI_Comm c, MPI_Request *r) { return MPI_Ibarrier(c, r); }

int cop_ibcast(void *b, int n, int root, MPI_Comm c, MPI_Request *r) {
	return MPI_Ibcast(b, n, MPI_BYTE, root, c, r);
}

int cop_iallreduce(const int64_t *in, int64_t *out, int n, int op, MPI_Comm c, MPI_Request *r) {
	return MPI_Iallreduce(in, out, n, MPI_INT64_T, reduction(op), c, r);
}

int cop_igather(const int64_t *in, int64_t *out, int n, int root, MPI_Comm c, MPI_Request *r) {
	return MPI_Igather(in, n, MPI_INT64_T, out, n, MPI_INT64_T, root, c, r);
}

int cop_iallgather(const int64_t *in, int64_t *out, int n, MPI_Comm c, MPI_Request *r) {
	return MPI_Iallgather(in, n, MPI_INT64_T, out, n, MPI_INT64_T, c, r);
}

int cop_igatherv(const void *in, int n, void *out, const int *counts, const int *at, int root, MPI_Comm c, MPI_Request *r) {
	return MPI_Igatherv(in, n, MPI_BYTE, out, counts, at, MPI_BYTE, root, c, r);
}

int cop_iallgatherv(const void *in, int n, void *out, const int *counts, const int *at, MPI_Comm c, MPI_Request *r) {
	return MPI_Iallgatherv(in, n, MPI_BYTE, out, counts, at, MPI_BYTE, c, r);
}

int cop_info_create(MPI_Info *i) { return MPI_Info_create(i); }

int cop_info_set(MPI_Info i, const char *key, const char *value) { return MPI_Info_set(i, key, value); }

int cop_info_free(MPI_Info *i) { return MPI_Info_free(i); }

int cop_file_open(MPI_Comm c, const char *name, int mode, MPI_Info i, MPI_File *f) {
	int rc = MPI_File_open(c, name, mode, i, f);
	return rc != MPI_SUCCESS ? rc : MPI_File_set_errhandler(*f, MPI_ERRORS_RETURN);
}

int cop_file_close(MPI_File *f) { return MPI_File_close(f); }

// ROMIO does not set the status of a collective call with 0 bytes, so the count is not read then.
int cop_file_write(MPI_File f, int64_t at, const void *b, int n, int all, int *count) {
	MPI_Status st;
	*count = 0;
	int rc = all ? MPI_File_write_at_all(f, at, b, n, MPI_BYTE, &st) : MPI_File_write_at(f, at, b, n, MPI_BYTE, &st);
	return rc != MPI_SUCCESS || n == 0 ? rc : MPI_Get_count(&st, MPI_BYTE, count);
}

int cop_file_set_size(MPI_File f, int64_t n) { return MPI_File_set_size(f, n); }

int cop_file_sync(MPI_File f) { return MPI_File_sync(f); }
