/*
 * Replays one MPI process: every call is answered from its receive log (docs/format/log.md).
 *
 * The library defines MPI_X and PMPI_X for all functions. Fortran bindings of the MPI library call PMPI_X, so they come here too, with
 * handles and special addresses converted to C. MPI is really initialised, but for this process only. The MPI library executes calls on
 * datatypes, attributes, error handlers and packing. Communicators are duplicates of MPI_COMM_SELF, requests are persistent ones that are
 * never started.
 *
 *   stream.c    the log: a thread reads and checks blocks ahead; records
 *   answer.c    compares a call with its record, gives outputs, completes requests
 *   objects.c   communicators, groups, requests, messages, received data
 *   life.c      begin, end, differences
 *   together.c  replays that run at once
 */
#ifndef COPPICE_REPLAYER_H
#define COPPICE_REPLAYER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* What a wrapper does with a call. */
enum {
	RP_NESTED, /* made by the MPI library or by this one: pass it on */
	RP_LOCAL,  /* pass it on, as an outermost call */
	RP_ANSWER, /* answer it from the log */
	RP_HELPER  /* made by a Fortran binding to convert arguments */
};
HIDDEN int rp_enter(unsigned function);
HIDDEN int rp_leave(int rc);

/* The function that a Fortran binding stands for is the outermost call while the binding runs. */
HIDDEN unsigned rp_fortran(unsigned function); /* returns the argument of rp_fortran_done */
HIDDEN void rp_fortran_done(unsigned before);

extern const char rp_functions[];       /* names without MPI_, one line each */
extern const unsigned rp_function_count;
HIDDEN const char *rp_function(unsigned function);

/* Checks of the current record. The bits are those of the log. */
enum { CHECK_PEER = 1, CHECK_TAG = 2, CHECK_BYTES = 4, CHECK_COMM = 8, CHECK_PEER2 = 16, CHECK_TAG2 = 32, CHECK_REQUEST = 64 };
HIDDEN void rp_begin(unsigned function);
HIDDEN int rp_wants(int check);
HIDDEN void rp_check(int check, int64_t value);

/* Memory for received data: pieces that are filled one after the other. */
struct piece {
	char *base;
	int64_t count;
	MPI_Datatype type;
};
struct data {
	int n, room, own; /* own: the types are copies */
	struct piece *pieces, few[4];
};
HIDDEN void lg_piece(struct data *d, void *base, int64_t count, MPI_Datatype type);
HIDDEN void lg_vector(struct data *d, uint64_t n, void *base, const void *counts, size_t width, const void *displs, size_t displ, MPI_Datatype type);
HIDDEN void lg_types(struct data *d, uint64_t n, void *base, const void *counts, size_t width, const void *displs, size_t displ, const MPI_Datatype *types);
HIDDEN uint64_t lg_sum(uint64_t n, const void *counts, size_t width, MPI_Datatype type);
HIDDEN uint64_t lg_sum_types(uint64_t n, const void *counts, size_t width, const MPI_Datatype *types);
HIDDEN uint64_t lg_number(MPI_Request request);
HIDDEN uint64_t lg_degree(MPI_Comm comm, int out);
HIDDEN int lg_root(MPI_Comm comm, int root);
HIDDEN int lg_rank(MPI_Comm comm);
HIDDEN uint64_t lg_size(MPI_Comm comm);
HIDDEN uint64_t rp_peers(MPI_Comm comm);
HIDDEN uint64_t rp_own(const void *buffer, MPI_Count count, MPI_Datatype type);
HIDDEN uint64_t cr_bytes(MPI_Count count, MPI_Datatype type);
HIDDEN uint64_t cr_comm(MPI_Comm comm);
HIDDEN void cr_no_memory(void);
HIDDEN int cr_in_place(const void *buffer);
HIDDEN void *cr_library(const char *symbol);
#define cr_peers rp_peers
#define cr_own rp_own
HIDDEN void rp_data_keep(struct data *d); /* duplicates the types, which the program may free before the data arrive */
HIDDEN void rp_data_drop(struct data *d);
HIDDEN void rp_data_fill(struct data *d, uint64_t bytes, uint64_t where);

/* Types of output parameters. */
enum { FORM_NONE, FORM_INT, FORM_LONG, FORM_COMM, FORM_GROUP, FORM_MESSAGE, FORM_REQUEST, FORM_STATUS, FORM_TEXT };
struct arguments {
	unsigned function;
	int n;
	void **at;                  /* parameters: pointers and arrays themselves, addresses of others */
	const unsigned char *forms;
	const int64_t *room;        /* elements that each parameter has room for; NULL: one */
	struct data *data;
	MPI_Request *requests;      /* of a call that completes some */
	int count;
	MPI_Status *statuses;       /* to set to empty */
	int status_count;
	int persistent, only_looks; /* makes a persistent request; does not complete requests */
	int waits;                  /* the call waits for other processes */
	MPI_Comm later;             /* Comm_idup: the communicator made later */
};
HIDDEN int rp_answer(struct arguments *a);
HIDDEN extern int rp_yields; /* waiting calls yield the processor, as those of the MPI library do */

/* Objects. */
struct comm {
	uint64_t number;
	int size, rank, remote, dims, in, out;
};
HIDDEN void rp_comms_start(int rank, int size);
HIDDEN struct comm *rp_comm_of(MPI_Comm comm);
HIDDEN MPI_Comm rp_comm_new(MPI_Comm like);
HIDDEN void rp_comm_known(MPI_Comm comm, uint64_t number, int size, int rank, int remote);
HIDDEN void rp_comm_free(MPI_Comm *comm);
HIDDEN void rp_topology(MPI_Comm *comm, MPI_Comm like, int dims, int in, int out);
HIDDEN void rp_work(void);
HIDDEN int rp_kept(int n, const int *remain);

struct request {
	MPI_Request handle;
	uint64_t number;
	int persistent;
	struct data data;
	MPI_Comm later;
};
HIDDEN MPI_Request rp_request_new(uint64_t number, struct arguments *a);
HIDDEN struct request *rp_request_of(MPI_Request request);
HIDDEN void rp_request_done(MPI_Request *request);
HIDDEN void rp_request_free(MPI_Request *request);
HIDDEN MPI_Message rp_message_new(void);
HIDDEN void rp_message_free(MPI_Message *message);
HIDDEN void rp_status(MPI_Status *status, int64_t source, int64_t tag, uint64_t bytes, int cancelled);

/* The log. */
enum { LOG_HEADER = 1, LOG_CALL, LOG_REPEAT, LOG_END };
HIDDEN const char *rp_log_open(const char *path); /* NULL, or what is wrong */
HIDDEN int rp_log_next(void);                     /* LOG_CALL or LOG_END, with the cursor in the body; 0 at the end of a log that is cut */
HIDDEN uint64_t rp_log_call(void);                /* number of the current call, from 0 */
HIDDEN int rp_log_more(void);                     /* whether the record has more bytes */
HIDDEN uint64_t rp_log_v(void);
HIDDEN int64_t rp_log_z(void);
HIDDEN double rp_log_real(void);
HIDDEN uint64_t rp_log_at(void);
HIDDEN void rp_log_skip(uint64_t n);
HIDDEN const unsigned char *rp_log_bytes(uint64_t at, uint64_t n); /* valid until the next call */
HIDDEN int rp_wtime_logged(void);
HIDDEN int rp_class(unsigned function);          /* C, L, X, or 0: not in the log */
HIDDEN unsigned rp_from_log(uint64_t function);

/* Replays that run at once. */
HIDDEN void rp_together(void); /* returns when all are ready */
HIDDEN void rp_linger(void);   /* returns when all are done */

/* Ends. rp_stop does not return. */
enum { STOP_DIFFERS, STOP_REFUSED, STOP_DAMAGED, STOP_CUT, STOP_BROKEN };
HIDDEN void rp_stop(int why, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
HIDDEN void rp_finish(const char *end);

#endif
