/*
 * The computation vector: what a process does between two calls of MPI, call by call. Written by recorder and replay alike.
 *
 * A file begins with CPRVEC1 and a zero byte, the length u32 of the names of the functions, and these, a line each. A row
 * of 24 bytes follows for every call that ends a piece of computation: function u32; of the time that passed, when the thread was
 * ready to run and had no processor u32, in us; processor time u64, time that passed u64, in ns.
 */
#ifndef COPPICE_VECTOR_H
#define COPPICE_VECTOR_H

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN extern int cr_vector_on;
HIDDEN int cr_vector_open(const char *path, const char *names); /* for the thread that calls it; 0 if there is no such file */
HIDDEN void cr_vector_enter(unsigned function);
HIDDEN void cr_vector_leave(void);
HIDDEN void cr_vector_close(void);

#endif
