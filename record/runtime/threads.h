/*
 * Threads: functions for the OMPT tool (parallel regions, barriers, locks, tasks) and for the wrappers of POSIX threads. All do nothing
 * while nothing is recorded.
 */
#ifndef COPPICE_THREADS_H
#define COPPICE_THREADS_H

#include "stream.h"

/* Constructs. Their numbers do not overlap with those of functions, so events and call sites use either. trace/recording has the same
 * list. */
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
	C_THREAD, /* start function of a POSIX thread */
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

/* What EV_THREAD says, plus the paradigm (OTF2's) times 256, and the two numbers. */
enum {
	THREAD_FORK, /* threads asked for */
	THREAD_JOIN,
	THREAD_TEAM_BEGIN,
	THREAD_TEAM_END,
	THREAD_ACQUIRE, /* lock, order */
	THREAD_RELEASE,
	THREAD_TASK_CREATE, /* thread that created the task, task number there; 0: the implicit task */
	THREAD_TASK_SWITCH,
	THREAD_TASK_COMPLETE,
	THREAD_CREATE, /* number of the POSIX thread, from 1 */
	THREAD_BEGIN,
	THREAD_WAIT,
	THREAD_END
};
#define THREAD_OPENMP (3 << 8)
#define THREAD_PTHREAD (7 << 8)

HIDDEN int cr_threads(void); /* whether threads are recorded; 2: POSIX threads too */

HIDDEN void cr_unreplaced(void); /* defines that GNU's OpenMP runtime is in use, and no runtime that calls the tool */
HIDDEN void cr_replaced(void); /* defines the OpenMP runtime that replaced GNU's, if one did and has begun */

/* A construct on this thread. t is the time, 0 means the current one. The end of an outer construct also ends inner ones whose ends were not seen. */
HIDDEN int cr_construct_begin(unsigned construct, const void *address, uint64_t t);
HIDDEN void cr_construct_end(unsigned construct, uint64_t t);
HIDDEN void cr_single_over(void); /* ends the construct that is open last on this thread if it is a single */
HIDDEN void cr_thread_event(unsigned what, uint64_t a, uint64_t b, uint64_t t);

/* A parallel region. A thread of the team holds it until it leaves, which may be after the region has ended. */
struct parallel;
HIDDEN struct parallel *cr_parallel_begin(unsigned requested, const void *address); /* NULL if it is not recorded */
HIDDEN void cr_parallel_end(void); /* ends the one that this thread began last */
HIDDEN void cr_team_begin(struct parallel *p, int first); /* this thread begins its implicit task; first: it began the region */
HIDDEN void cr_team_end(void);
HIDDEN void cr_team_barrier_begin(const void *address); /* an implicit barrier, maybe the one at the end of the region */
HIDDEN void cr_team_barrier_end(void);

HIDDEN void cr_lock_acquired(unsigned paradigm, uint64_t lock);
HIDDEN void cr_lock_released(unsigned paradigm, uint64_t lock, int awaited);

/* Explicit tasks; 0 is one that is not recorded. */
HIDDEN uint64_t cr_task_create(const void *address);
HIDDEN void cr_task_switch(uint64_t *before, int complete, uint64_t *next); /* NULL: an implicit task */

/* Waits of POSIX threads. They are recorded when they are over. */
#define LEAST_WAIT 10000 /* ns: shorter waits are not recorded */
HIDDEN uint64_t cr_wait_begin(unsigned construct, struct cr_place from, const volatile void *lock, const int *owner); /* the time, or 0 */
HIDDEN int cr_wait_end(uint64_t end); /* whether the wait is recorded */

/* POSIX threads, by number. */
HIDDEN void cr_thread_created(uint64_t number, struct cr_place from, uint64_t t);
HIDDEN void cr_thread_begin(uint64_t number, const void *function, const void *frame); /* function: an address in it; frame: as of cr_region_begin */
HIDDEN void cr_thread_joined(uint64_t number);

#endif
