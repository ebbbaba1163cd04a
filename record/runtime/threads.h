/*
 * Threads: what the tool of OpenMP's runtime tells of parallel regions, barriers, locks and
 * tasks, and what calls of POSIX threads do. Every function is a no-op while nothing is recorded.
 */
#ifndef COPPICE_THREADS_H
#define COPPICE_THREADS_H

#include "stream.h"

/* Constructs, numbered like functions: events and call sites name them in the same way. trace/recording has the same list. */
enum {
	C_PARALLEL = (1 << 12) + 64,
	C_BARRIER,
	C_IMPLICIT_BARRIER,
	C_LOOP,
	C_SECTIONS,
	C_SINGLE,
	C_WORKSHARE,
	C_DISTRIBUTE,
	C_TASKLOOP,
	C_CRITICAL,
	C_CRITICAL_BODY,
	C_ORDERED,
	C_ORDERED_BODY,
	C_TASK,
	C_TASKWAIT,
	C_TASKGROUP,
	C_SET_LOCK,
	C_SET_NEST_LOCK,
	C_THREAD, /* the first function of a POSIX thread */
	C_CREATE,
	C_JOIN,
	C_TIMEDJOIN,
	C_MUTEX_LOCK,
	C_MUTEX_TIMEDLOCK,
	C_MUTEX_CLOCKLOCK,
	C_RDLOCK,
	C_TIMEDRDLOCK,
	C_WRLOCK,
	C_TIMEDWRLOCK,
	C_SPIN_LOCK,
	C_COND_WAIT,
	C_COND_TIMEDWAIT,
	C_COND_CLOCKWAIT,
	C_BARRIER_WAIT,
	C_SEM_WAIT,
	C_SEM_TIMEDWAIT,
	C_SEM_CLOCKWAIT,
	C_FUTEX
};

/* What EV_THREAD says, with its paradigm, of OTF2, times 256. */
enum {
	THREAD_FORK, /* threads asked for */
	THREAD_JOIN,
	THREAD_TEAM_BEGIN,
	THREAD_TEAM_END,
	THREAD_ACQUIRE, /* lock, order */
	THREAD_RELEASE,
	THREAD_TASK_CREATE, /* thread that creates it, its number there; 0 for the implicit task */
	THREAD_TASK_SWITCH,
	THREAD_TASK_COMPLETE,
	THREAD_CREATE, /* its number, from 1 */
	THREAD_BEGIN,
	THREAD_WAIT,
	THREAD_END
};
#define THREAD_OPENMP (3 << 8)
#define THREAD_PTHREAD (7 << 8)

HIDDEN int cr_threads(void); /* threads are recorded; 2: POSIX threads too */

HIDDEN void cr_unreplaced(void); /* makes known that the process has GNU's runtime of OpenMP, and none that tells what threads do */
HIDDEN void cr_replaced(void); /* makes known that another runtime of OpenMP is in the place of GNU's, if one is and has begun */

/* A construct that a thread begins and ends. t: its time, 0 for now. Ends that were missed inside come with the end around them. */
HIDDEN int cr_construct_begin(unsigned construct, const void *address, uint64_t t);
HIDDEN void cr_construct_end(unsigned construct, uint64_t t);
HIDDEN void cr_thread_event(unsigned what, uint64_t a, uint64_t b, uint64_t t);

/* A parallel region. Its threads have it until they leave it, which may be after its end. */
struct parallel;
HIDDEN struct parallel *cr_parallel_begin(unsigned requested, const void *address); /* NULL where it is not recorded */
HIDDEN void cr_parallel_end(void); /* of the one that this thread began last */
HIDDEN void cr_team_begin(struct parallel *p, int first); /* this thread, the one that began it or another, begins its implicit task */
HIDDEN void cr_team_end(void);
HIDDEN void cr_team_barrier_begin(const void *address); /* an implicit barrier, perhaps the one at the end of the region */
HIDDEN void cr_team_barrier_end(void);

HIDDEN void cr_lock_acquired(unsigned paradigm, uint64_t lock);
HIDDEN void cr_lock_released(unsigned paradigm, uint64_t lock, int awaited);

/* An explicit task, 0 for one that is not recorded. */
HIDDEN uint64_t cr_task_create(const void *address);
HIDDEN void cr_task_switch(uint64_t *before, int complete, uint64_t *next); /* NULL: an implicit task */

/* Waits of POSIX threads, which are written when they are over. */
#define LEAST_WAIT 10000 /* ns of a wait that is recorded */
HIDDEN uint64_t cr_wait_begin(unsigned construct, struct cr_place from, const volatile void *lock, const int *owner); /* the time, 0 where it is not recorded */
HIDDEN int cr_wait_end(uint64_t end); /* whether it is recorded */

/* POSIX threads, by their numbers. */
HIDDEN void cr_thread_created(uint64_t number, struct cr_place from, uint64_t t);
HIDDEN void cr_thread_begin(uint64_t number, const void *function, const void *frame); /* a return address in the function; as of cr_region_begin */
HIDDEN void cr_thread_joined(uint64_t number);

#endif
