/*
 * Writes the receive log of one process; docs/format/log.md describes the format.
 *
 * A wrapper calls lg_call after the library's function. If that returns 1, it calls lg_checks, the functions for outputs, and lg_end.
 * Memory: two records (the longest has the payloads of one call), a block, 2 MiB of hashes, and the requests in progress.
 */
#ifndef COPPICE_LOG_H
#define COPPICE_LOG_H

#include "recorder.h"

extern HIDDEN int lg_on, lg_times; /* this process writes a log; the log has the results of MPI_Wtime */

/* Why a log ends. */
enum { LG_FINALIZE = 1, LG_EXIT, LG_ABORT, LG_BUDGET, LG_THREADS = 6, LG_MEMORY };

/* Functions that are not generated have these numbers. Generated ones have their index in cr_functions. */
enum { F_INIT = 1 << 12, F_INIT_THREAD, F_FINALIZE, F_ABORT, F_PCONTROL, F_WTIME };

HIDDEN void lg_begin(unsigned function, int provided); /* after MPI_Init; provided: from MPI_Init_thread */
HIDDEN void lg_finalize(int code);
HIDDEN void lg_stop(int reason);
HIDDEN void lg_second_thread(void);
HIDDEN int lg_call(unsigned function, int code);
HIDDEN void lg_end(void);

/* Values that a replay compares. They are written in the order of the bits. */
enum { LG_PEER = 1, LG_TAG = 2, LG_BYTES = 4, LG_COMM = 8, LG_PEER2 = 16, LG_TAG2 = 32, LG_REQUEST = 64 };
HIDDEN void lg_checks(int mask, const int64_t *values);

/* Output parameters. */
HIDDEN void lg_int(int parameter, int64_t value);
HIDDEN void lg_ints(int parameter, const int *values, int n);
HIDDEN void lg_comm(int parameter, MPI_Comm comm);
HIDDEN void lg_group(int parameter, MPI_Group group);
HIDDEN void lg_message(int parameter, MPI_Message message);
HIDDEN void lg_status(int parameter, int index, const MPI_Status *status);
HIDDEN void lg_text(int parameter, const void *text, int length);
HIDDEN void lg_real(int parameter, double value);

/* Received data: pieces of memory that are packed one after the other. lg_data writes them and frees d; limit is the number of bytes
 * that arrived, -1 for all. */
struct lg_piece {
	const void *buffer;
	MPI_Count count;
	MPI_Datatype type;
};
struct lg_data {
	size_t n, room;
	struct lg_piece one, *all;
	int kept, lost; /* kept: datatypes are copies; lost: there was no memory for a piece */
};
HIDDEN void lg_piece(struct lg_data *d, const void *buffer, MPI_Count count, MPI_Datatype type);
HIDDEN void lg_vector(struct lg_data *d, uint64_t n, const void *buffer, const void *counts, size_t count_width, const void *displs,
	size_t displ_width, MPI_Datatype type);
HIDDEN void lg_types(struct lg_data *d, uint64_t n, const void *buffer, const void *counts, size_t count_width, const void *displs,
	size_t displ_width, const MPI_Datatype *types);
HIDDEN void lg_fortran_types(struct lg_data *d, uint64_t n, const void *buffer, const void *counts, size_t count_width,
	const void *displs, size_t displ_width, const MPI_Fint *types);
HIDDEN uint64_t lg_sum(uint64_t n, const void *counts, size_t width, MPI_Datatype type);
HIDDEN uint64_t lg_sum_types(uint64_t n, const void *counts, size_t width, const MPI_Datatype *types);
HIDDEN uint64_t lg_sum_fortran_types(uint64_t n, const void *counts, size_t width, const MPI_Fint *types);
HIDDEN void lg_data(int parameter, struct lg_data *d, int64_t limit);
HIDDEN void lg_keep(struct lg_data *d);
HIDDEN void lg_drop(struct lg_data *d);
HIDDEN int64_t lg_received(const MPI_Status *status);

/* Places in communicators and topologies. */
HIDDEN int lg_root(MPI_Comm comm, int root);
HIDDEN int lg_rank(MPI_Comm comm);
HIDDEN uint64_t lg_size(MPI_Comm comm);
HIDDEN uint64_t lg_degree(MPI_Comm comm, int out);

/* Requests. lg_request takes over d and keeps it until the request completes. */
enum { LG_PERSISTENT = 1, LG_DATA = 2, LG_COLLECTIVE = 4 };
HIDDEN void lg_request(int parameter, MPI_Request request, int kind, struct lg_data *d, int buffer);
HIDDEN void lg_request_comm(int parameter, MPI_Request request, const void *comm, int fortran, int buffer);
HIDDEN uint64_t lg_number(MPI_Request request);
HIDDEN void lg_started(MPI_Request request);
HIDDEN void lg_done(int parameter, int index, MPI_Request before, int status_parameter, const MPI_Status *status);
HIDDEN void lg_looked(int parameter, MPI_Request request, int status_parameter, const MPI_Status *status);
HIDDEN void lg_freed(MPI_Request before);

/* For the parts of the log. lg_room returns n unused bytes at the end of the record, NULL without memory; lg_payload adds what was put
 * there. */
HIDDEN int lg_open(const char *name, uint64_t budget, int times);
HIDDEN void lg_opened(void);
HIDDEN void lg_put(const void *bytes, size_t n);
HIDDEN void lg_varint(uint64_t v);
HIDDEN void lg_payload(size_t bytes);
HIDDEN uint8_t *lg_room(size_t n);
HIDDEN void lg_lost(void); /* no memory: the log ends before this call */
extern HIDDEN uint64_t lg_unseen; /* receives whose request was freed before they completed */

/* Kinds of outputs. */
enum { IT_INT = 1, IT_INTS, IT_COMM, IT_OBJECT, IT_REQUEST, IT_STATUS, IT_DATA, IT_TEXT, IT_DONE, IT_REAL };
static inline uint64_t lg_zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
static inline void lg_item(int kind, int parameter)
{
	uint8_t k = (uint8_t)kind;
	lg_put(&k, 1);
	lg_varint((uint64_t)parameter);
}

#endif
