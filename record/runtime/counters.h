/*
 * Counters of the processor and the kernel for one thread each, by perf_event_open(2).
 *
 * All counters of a thread form one pinned group: they are all counted all the time, or none is. They are read in user space (rdpmc) if the
 * kernel allows it, else by one read(2).
 */
#ifndef COPPICE_COUNTERS_H
#define COPPICE_COUNTERS_H

#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define COUNTERS 8 /* most counters */

struct counters;

/* cr_counters_open starts the counters of the calling thread. It returns NULL if no counters were asked for, or if they cannot be
 * counted: then cr_counters_wrong has the reason. */
HIDDEN struct counters *cr_counters_open(void);
HIDDEN unsigned cr_counters_read(struct counters *c, uint64_t *values); /* returns their number; 0: they are not counted any more */
HIDDEN void cr_counters_names(char *text, unsigned size);              /* one line each */
HIDDEN const char *cr_counters_wrong(void);                            /* "" if there is no reason */

#endif
