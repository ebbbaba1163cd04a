/*
 * Computation vector: what a process does between MPI calls. The recorder and the replay both write it.
 *
 * A file begins with CPRVEC1 and a zero byte, the u32 length of the function names, and the names, one line each. A row of 24 bytes follows
 * for each call that ends a piece of computation: u32 function; u32 us in which the thread was ready to run and had no processor; u64 ns of
 * processor time; u64 ns of elapsed time.
 */
#ifndef COPPICE_VECTOR_H
#define COPPICE_VECTOR_H

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN extern int cr_vector_on;
HIDDEN int cr_vector_open(const char *path, const char *names); /* for the calling thread; 0: the file cannot be made */
HIDDEN void cr_vector_enter(unsigned function);
HIDDEN void cr_vector_leave(void);
HIDDEN void cr_vector_close(void);

#endif
