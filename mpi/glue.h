// What the Go files need of MPI beyond gompi. Handles are macros or pointers in one library and integers in another, so
// every constant is reached through a function. All functions return an MPI error code unless said otherwise.
#ifndef COPPICE_MPI_GLUE_H
#define COPPICE_MPI_GLUE_H

#include <mpi.h>
#include <stdint.h>

int cop_init(int *enough);
int cop_finalize(void);
int cop_started(void);
void cop_abort(int code);
void cop_pause(long ns);
int cop_class(int code);
void cop_text(int code, char *out, int n);
void cop_version(char *out, int n);
int cop_tag_ub(void);

int cop_world_returns(void);
MPI_Comm cop_world(void);
int cop_rank(MPI_Comm c);
int cop_size(MPI_Comm c);
int cop_dup(MPI_Comm c, MPI_Comm *out);
int cop_free(MPI_Comm *c);

int cop_isend(const void *b, int n, int to, int tag, MPI_Comm c, MPI_Request *r, int *done);
int cop_irecv(void *b, int n, int from, int tag, MPI_Comm c, MPI_Request *r);
int cop_improbe(int from, int tag, MPI_Comm c, MPI_Message *m, int *found, int *src, int *got, int *count);
int cop_imrecv(void *b, int n, MPI_Message *m, MPI_Request *r, int *done);
int cop_test(MPI_Request *r, int *done);

int cop_node(int most, int *crowded, int *all_rung, int *some_crowded);
int cop_node_free(void);
int cop_node_ranks(MPI_Comm c, int n, int *out);
void cop_ring(int node_rank);
uint32_t cop_rings(void);
void cop_doze(uint32_t seen, long ns);

enum { COP_SUM, COP_MIN, COP_MAX, COP_BOR };

int cop_ibarrier(MPI_Comm c, MPI_Request *r);
int cop_ibcast(void *b, int n, int root, MPI_Comm c, MPI_Request *r);
int cop_iallreduce(const int64_t *in, int64_t *out, int n, int op, MPI_Comm c, MPI_Request *r);
int cop_igather(const int64_t *in, int64_t *out, int n, int root, MPI_Comm c, MPI_Request *r);
int cop_iallgather(const int64_t *in, int64_t *out, int n, MPI_Comm c, MPI_Request *r);
int cop_igatherv(const void *in, int n, void *out, const int *counts, const int *at, int root, MPI_Comm c, MPI_Request *r);
int cop_iallgatherv(const void *in, int n, void *out, const int *counts, const int *at, MPI_Comm c, MPI_Request *r);

int cop_info_create(MPI_Info *i);
int cop_info_set(MPI_Info i, const char *key, const char *value);
int cop_info_free(MPI_Info *i);
int cop_file_open(MPI_Comm c, const char *name, int mode, MPI_Info i, MPI_File *f);
int cop_file_close(MPI_File *f);
int cop_file_write(MPI_File f, int64_t at, const void *b, int n, int all, int *count);
int cop_file_set_size(MPI_File f, int64_t n);
int cop_file_sync(MPI_File f);

#endif
