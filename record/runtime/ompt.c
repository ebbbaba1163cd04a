#define _GNU_SOURCE
#include "threads.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/*
 * The tool of OMPT, the OpenMP tools interface (OpenMP 5.0, chapter 4). A runtime that implements it, such as LLVM's, calls ompt_start_tool
 * when it begins, and later the callbacks that initialize registers. The MPI library's compiler may not have omp-tools.h, so what is needed
 * of it is declared here.
 */

union data {
	uint64_t value;
	void *ptr;
};
enum { ENDPOINT_BEGIN = 1, ENDPOINT_END, ENDPOINT_BOTH };
enum { TASK_INITIAL = 1, TASK_EXPLICIT = 4, TASK_UNTIED = 0x10000000 };
enum { STATUS_COMPLETE = 1, STATUS_YIELD, STATUS_CANCEL };
enum { MUTEX_LOCK = 1, MUTEX_TEST_LOCK, MUTEX_NEST_LOCK, MUTEX_TEST_NEST_LOCK, MUTEX_CRITICAL, MUTEX_ATOMIC, MUTEX_ORDERED };
enum { SYNC_BARRIER = 1, SYNC_EXPLICIT = 3, SYNC_TASKWAIT = 5, SYNC_TASKGROUP, SYNC_REDUCTION };
enum {
	CALLBACK_PARALLEL_BEGIN = 3,
	CALLBACK_PARALLEL_END,
	CALLBACK_TASK_CREATE,
	CALLBACK_TASK_SCHEDULE,
	CALLBACK_IMPLICIT_TASK,
	CALLBACK_SYNC_REGION_WAIT = 16,
	CALLBACK_MUTEX_RELEASED,
	CALLBACK_WORK = 20,
	CALLBACK_SYNC_REGION = 23,
	CALLBACK_MUTEX_ACQUIRE = 26,
	CALLBACK_MUTEX_ACQUIRED,
	CALLBACK_NEST_LOCK
};

typedef void callback(void);
typedef callback *lookup(const char *name);

static void parallel_begin(union data *task, const void *frame, union data *parallel, unsigned requested, int flags, const void *address)
{
	(void)task, (void)frame, (void)flags;
	parallel->ptr = cr_parallel_begin(requested, address);
}

static void parallel_end(union data *parallel, union data *task, int flags, const void *address)
{
	/* LLVM's runtime may have reused the team, and with it this data, for another region: do not read it. */
	(void)parallel, (void)task, (void)flags, (void)address;
	cr_parallel_end();
}

static void implicit_task(int endpoint, union data *parallel, union data *task, unsigned threads, unsigned index, int flags)
{
	(void)task, (void)threads;
	if (flags & TASK_INITIAL)
		return;
	if (endpoint == ENDPOINT_BEGIN)
		cr_team_begin(parallel ? parallel->ptr : NULL, index == 0);
	else
		cr_team_end();
}

static void sync_region(int kind, int endpoint, union data *parallel, union data *task, const void *address)
{
	(void)parallel, (void)task;
	int construct = kind == SYNC_BARRIER || kind == SYNC_EXPLICIT ? C_BARRIER : kind == SYNC_TASKWAIT ? C_TASKWAIT : C_IMPLICIT_BARRIER;
	if (kind == SYNC_TASKGROUP || kind == SYNC_REDUCTION || endpoint == ENDPOINT_BOTH) /* a task group encloses work, it is not only a wait */
		return;
	if (construct != C_TASKWAIT && endpoint == ENDPOINT_BEGIN)
		cr_single_over();
	if (construct == C_IMPLICIT_BARRIER && endpoint == ENDPOINT_BEGIN)
		cr_team_barrier_begin(address);
	else if (construct == C_IMPLICIT_BARRIER)
		cr_team_barrier_end();
	else if (endpoint == ENDPOINT_BEGIN)
		cr_construct_begin((unsigned)construct, address, 0);
	else
		cr_construct_end((unsigned)construct, 0);
}

static void sync_region_wait(int kind, int endpoint, union data *parallel, union data *task, const void *address)
{
	(void)parallel, (void)task;
	if (kind != SYNC_TASKGROUP)
		return;
	if (endpoint == ENDPOINT_BEGIN)
		cr_construct_begin(C_TASKGROUP, address, 0);
	else if (endpoint == ENDPOINT_END)
		cr_construct_end(C_TASKGROUP, 0);
}

/* Of a single construct GNU's compilers call the begin alone: it ends before the next barrier, or the next construct that shares out work. */
static void work(int kind, int endpoint, union data *parallel, union data *task, uint64_t count, const void *address)
{
	static const unsigned constructs[] = {0, C_LOOP, C_SECTIONS, C_SINGLE, 0, C_WORKSHARE, C_DISTRIBUTE, C_TASKLOOP};
	(void)parallel, (void)task, (void)count;
	unsigned construct = kind > 0 && kind < (int)(sizeof constructs / sizeof *constructs) ? constructs[kind] : 0;
	if (construct && construct != C_TASKLOOP && endpoint == ENDPOINT_BEGIN)
		cr_single_over();
	if (construct && endpoint == ENDPOINT_BEGIN)
		cr_construct_begin(construct, address, 0);
	else if (construct && endpoint == ENDPOINT_END)
		cr_construct_end(construct, 0);
}

/* waits returns the construct in which a thread waits. Calls that only test do not wait, and atomic operations are too short. */
static unsigned waits(int kind)
{
	return kind == MUTEX_LOCK ? C_SET_LOCK : kind == MUTEX_NEST_LOCK ? C_SET_NEST_LOCK : kind == MUTEX_CRITICAL ? C_CRITICAL : kind == MUTEX_ORDERED ? C_ORDERED : 0;
}

static void mutex_acquire(int kind, unsigned hint, unsigned how, uint64_t lock, const void *address)
{
	(void)hint, (void)how, (void)lock;
	if (waits(kind))
		cr_construct_begin(waits(kind), address, 0);
}

static void mutex_acquired(int kind, uint64_t lock, const void *address)
{
	if (kind == MUTEX_ATOMIC)
		return;
	if (kind != MUTEX_ORDERED)
		cr_lock_acquired(THREAD_OPENMP, lock);
	if (kind == MUTEX_CRITICAL || kind == MUTEX_ORDERED)
		cr_construct_begin(kind == MUTEX_CRITICAL ? C_CRITICAL_BODY : C_ORDERED_BODY, address, 0);
	else if (waits(kind))
		cr_construct_end(waits(kind), 0);
}

static void mutex_released(int kind, uint64_t lock, const void *address)
{
	(void)address;
	if (kind == MUTEX_ATOMIC)
		return;
	if (kind != MUTEX_ORDERED)
		cr_lock_released(THREAD_OPENMP, lock, 0);
	if (kind == MUTEX_CRITICAL || kind == MUTEX_ORDERED)
		cr_construct_end(waits(kind), 0);
}

/* LLVM calls nest_lock instead of mutex_acquired if the thread has the lock already. */
static void nest_lock(int endpoint, uint64_t lock, const void *address)
{
	(void)lock, (void)address;
	if (endpoint == ENDPOINT_BEGIN)
		cr_construct_end(C_SET_NEST_LOCK, 0);
}

static void task_create(union data *task, const void *frame, union data *created, int flags, int dependences, const void *address)
{
	(void)task, (void)frame, (void)dependences;
	created->value = 0;
	if (flags & TASK_EXPLICIT && !(flags & TASK_UNTIED)) /* an untied task may continue on another thread */
		created->value = cr_task_create(address);
}

static void task_schedule(union data *before, int status, union data *next)
{
	if (before && before->value || next && next->value)
		cr_task_switch(before && before->value ? &before->value : NULL, status == STATUS_COMPLETE || status == STATUS_CANCEL,
			next && next->value ? &next->value : NULL);
}

static _Atomic(const char *) began; /* name of the runtime that has begun */

HIDDEN void cr_replaced(void)
{
	const char *runtime = atomic_load(&began);
	void *gnu = runtime && cr.def.fd >= 0 ? dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!gnu)
		return;
	if (dlsym(gnu, "GOMP_parallel") != dlsym(RTLD_DEFAULT, "GOMP_parallel"))
		cr_define(DEF_REPLACED, runtime, strlen(runtime));
	dlclose(gnu);
}

HIDDEN void cr_unreplaced(void)
{
	void *gnu = cr_threads() && !atomic_load(&began) ? dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!gnu)
		return;
	void *called = dlsym(RTLD_DEFAULT, "GOMP_parallel");
	if (!called || called == dlsym(gnu, "GOMP_parallel")) /* else one is in its place and had no parallel region */
		cr_define(DEF_REPLACED, "", 0);
	dlclose(gnu);
}

static int initialize(lookup *find, int device, union data *tool)
{
	static const struct {
		int event;
		callback *function;
	} all[] = {
		{CALLBACK_PARALLEL_BEGIN, (callback *)parallel_begin}, {CALLBACK_PARALLEL_END, (callback *)parallel_end},
		{CALLBACK_IMPLICIT_TASK, (callback *)implicit_task}, {CALLBACK_SYNC_REGION, (callback *)sync_region},
		{CALLBACK_SYNC_REGION_WAIT, (callback *)sync_region_wait}, {CALLBACK_WORK, (callback *)work},
		{CALLBACK_MUTEX_ACQUIRE, (callback *)mutex_acquire}, {CALLBACK_MUTEX_ACQUIRED, (callback *)mutex_acquired},
		{CALLBACK_MUTEX_RELEASED, (callback *)mutex_released}, {CALLBACK_NEST_LOCK, (callback *)nest_lock},
		{CALLBACK_TASK_CREATE, (callback *)task_create}, {CALLBACK_TASK_SCHEDULE, (callback *)task_schedule},
	};
	typedef int setter(int event, callback *function);
	setter *set = (setter *)find("ompt_set_callback");
	(void)device, (void)tool;
	for (size_t i = 0; set && i < sizeof all / sizeof *all; i++)
		set(all[i].event, all[i].function);
	cr_replaced();
	return set != NULL;
}

static void finalize(union data *tool) { (void)tool; }

/* The runtime calls ompt_start_tool. */
struct start_result {
	int (*initialize)(lookup *, int, union data *);
	void (*finalize)(union data *);
	union data tool;
};

struct start_result *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct start_result result = {initialize, finalize, {0}};
	(void)version;
	if (!cr_threads())
		return NULL;
	atomic_store(&began, runtime);
	return &result;
}
