/*
 * Counters of the kernel's perf_event interface, of one thread each: what the processor and the kernel count while it runs.
 *
 * All counters of a thread are one group that is pinned, so they are counted together and all the time, or not at all. They
 * are read in user space where the kernel allows that (rdpmc), else all with one read.
 */
#ifndef COPPICE_COUNTERS_H
#define COPPICE_COUNTERS_H

#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define COUNTERS 8 /* most of them */

struct counters;

/* cr_counters_open begins to count for the calling thread; NULL where nothing is counted: none was asked for, or
 * cr_counters_wrong says why. */
HIDDEN struct counters *cr_counters_open(void);
HIDDEN unsigned cr_counters_read(struct counters *c, uint64_t *values); /* how many; 0: they are not counted any more */
HIDDEN void cr_counters_names(char *text, unsigned size);              /* a line each */
HIDDEN const char *cr_counters_wrong(void);                            /* "" if nothing is */

#endif
