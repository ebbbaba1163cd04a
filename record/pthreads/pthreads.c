#define _GNU_SOURCE
#include "fortran.h"
#include "stream.h"
#include "threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/*
 * POSIX threads of the program: wrappers of functions that create threads, and of those that wait for other threads. They return the C
 * library's results and errno.
 *
 * A lock function first tries to take the lock. If it is free, nothing else is done. Only a call that finds it taken is a wait; it is
 * recorded when it is over, and only if it took LEAST_WAIT.
 */

/* The C library's functions. Conditions have an older version with another type, so they are looked up by version. */
#define SYMBOLS(X) \
	X(pthread_create) X(pthread_join) X(pthread_timedjoin_np) X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_timedlock) \
	X(pthread_mutex_unlock) X(pthread_rwlock_rdlock) X(pthread_rwlock_tryrdlock) X(pthread_rwlock_timedrdlock) X(pthread_rwlock_wrlock) \
	X(pthread_rwlock_trywrlock) X(pthread_rwlock_timedwrlock) X(pthread_rwlock_unlock) X(pthread_spin_lock) X(pthread_spin_trylock) \
	X(pthread_spin_unlock) X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_barrier_wait) X(sem_wait) X(sem_trywait) X(sem_timedwait)
/* In glibc since 2.30; only programs that were compiled with it call them. */
#define NEWER(X) X(pthread_mutex_clocklock) X(pthread_cond_clockwait) X(sem_clockwait)
int pthread_mutex_clocklock(pthread_mutex_t *, clockid_t, const struct timespec *);
int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
int sem_clockwait(sem_t *, clockid_t, const struct timespec *);

#define POINTER(name) static void *real_##name;
SYMBOLS(POINTER)
NEWER(POINTER)
#define REAL(name) ((__typeof__(&name))found(&real_##name, #name))

static void *look_up(const char *name)
{
	void *f = strncmp(name, "pthread_cond_", 13) == 0 ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;
	return f ? f : dlsym(RTLD_NEXT, name);
}
static inline void *found(void **at, const char *name) { return *at ? *at : (*at = look_up(name)); }

#define FIND(name) (void)REAL(name);
__attribute__((constructor(101))) static void find(void) { SYMBOLS(FIND) NEWER(FIND) }

/*
 * Whose calls are recorded: those of the thread that loaded the recorder, of threads that the program created, and of threads that have
 * events. Threads of the MPI library or an OpenMP runtime are not the program's, nor are calls by such a runtime.
 */
static _Thread_local int ours;

/* of_runtime returns whether an address is in an OpenMP runtime or in the recorder. */
static int of_runtime(const void *address)
{
	static _Thread_local struct {
		const void *address;
		int runtime;
	} known[16];
	Dl_info info, own;
	size_t at = ((uintptr_t)address * 0x9E3779B97F4A7C15u) >> 60;
	if (known[at].address == address)
		return known[at].runtime;
	int runtime = 0;
	const struct link_map *map = cr_tables((uintptr_t)address); /* without a lock */
	const char *path = map ? map->l_name : dladdr(address, &info) ? info.dli_fname : NULL;
	if (path) {
		const char *name = strrchr(path, '/');
		name = name ? name + 1 : path;
		runtime = strncmp(name, "libomp", 6) == 0 || strncmp(name, "libgomp", 7) == 0 || strncmp(name, "libiomp", 7) == 0 ||
			(map ? map == cr_tables((uintptr_t)cr_functions) : dladdr((const void *)cr_functions, &own) && own.dli_fbase == info.dli_fbase);
	}
	known[at].address = address;
	known[at].runtime = runtime;
	return runtime;
}

static int of_program(void) { return ours || cr_mine || pthread_equal(pthread_self(), cr.first); }

/* waits begins a wait. owner: where the C library stores the lock's owner. It returns whether the wait may be recorded. */
static int waits(unsigned construct, struct cr_place from, const volatile void *lock, const int *owner)
{
	int error = errno;
	int may = cr_recording() && of_program() && !of_runtime(from.address) && cr_wait_begin(construct, from, lock, owner);
	errno = error;
	return may;
}

/* waited ends a wait and returns whether it was recorded. */
static int waited(int may)
{
	if (!may)
		return 0;
	int error = errno;
	int recorded = cr_wait_end(cr_now());
	errno = error;
	return recorded;
}

/* taken ends a wait for a lock. One whose owner died (EOWNERDEAD) was acquired too. */
static void taken(int may, int rc, const volatile void *lock)
{
	if (waited(may) && (rc == 0 || rc == EOWNERDEAD))
		cr_lock_acquired(THREAD_PTHREAD, (uintptr_t)lock);
}

/* given records the release of a lock that this thread waited for, or that others wait for. Not if the recorder releases its own lock:
 * recording would take it again. It must not wait for the dynamic linker's lock, whose holder may wait for this one. */
static inline void given(const volatile void *lock, int awaited, struct cr_place from)
{
	if (!cr_mine || !(awaited || cr_mine->held_n))
		return;
	int error = errno;
	cr_lock_released(THREAD_PTHREAD, (uintptr_t)lock, awaited && cr_tables((uintptr_t)from.address) && !of_runtime(from.address));
	errno = error;
}

#ifdef __GLIBC__
#define MUTEX_OWNER &m->__data.__owner
#define RWLOCK_OWNER &l->__data.__cur_writer
#define MUTEX_AWAITED(m) ((m)->__data.__lock == 2 || (m)->__data.__lock < 0) /* others wait; negative: with priority inheritance */
#else
#define MUTEX_OWNER NULL
#define RWLOCK_OWNER NULL
#define MUTEX_AWAITED(m) 0
#endif

/* LOCK takes a lock that is free, or does what the program asked for. */
#define LOCK(construct, from, lock, owner, try, does) \
	int rc = REAL(try)(lock); \
	if (rc != EBUSY) \
		return rc; \
	int may = waits(construct, from, lock, owner); \
	rc = does; \
	taken(may, rc, lock); \
	return rc;

static inline int lock(pthread_mutex_t *m, struct cr_place from)
{
	LOCK(C_MUTEX_LOCK, from, m, MUTEX_OWNER, pthread_mutex_trylock, REAL(pthread_mutex_lock)(m))
}
static inline int timed_lock(pthread_mutex_t *m, const struct timespec *until, struct cr_place from)
{
	LOCK(C_MUTEX_TIMEDLOCK, from, m, MUTEX_OWNER, pthread_mutex_trylock, REAL(pthread_mutex_timedlock)(m, until))
}
int pthread_mutex_lock(pthread_mutex_t *m) { return lock(m, CR_PLACE); }
int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until) { return timed_lock(m, until, CR_PLACE); }
int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	LOCK(C_MUTEX_CLOCKLOCK, CR_PLACE, m, MUTEX_OWNER, pthread_mutex_trylock, REAL(pthread_mutex_clocklock)(m, clock, until))
}
int pthread_rwlock_rdlock(pthread_rwlock_t *l) { LOCK(C_RDLOCK, CR_PLACE, l, RWLOCK_OWNER, pthread_rwlock_tryrdlock, REAL(pthread_rwlock_rdlock)(l)) }
int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	LOCK(C_TIMEDRDLOCK, CR_PLACE, l, RWLOCK_OWNER, pthread_rwlock_tryrdlock, REAL(pthread_rwlock_timedrdlock)(l, until))
}
int pthread_rwlock_wrlock(pthread_rwlock_t *l) { LOCK(C_WRLOCK, CR_PLACE, l, RWLOCK_OWNER, pthread_rwlock_trywrlock, REAL(pthread_rwlock_wrlock)(l)) }
int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	LOCK(C_TIMEDWRLOCK, CR_PLACE, l, RWLOCK_OWNER, pthread_rwlock_trywrlock, REAL(pthread_rwlock_timedwrlock)(l, until))
}
int pthread_spin_lock(pthread_spinlock_t *l) { LOCK(C_SPIN_LOCK, CR_PLACE, l, NULL, pthread_spin_trylock, REAL(pthread_spin_lock)(l)) }

#define UNLOCK(name, type, awaited) \
	int name(type *lock) \
	{ \
		given(lock, awaited, CR_PLACE); \
		return REAL(name)(lock); \
	}
UNLOCK(pthread_mutex_unlock, pthread_mutex_t, MUTEX_AWAITED(lock))
UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t, 0)
UNLOCK(pthread_spin_unlock, pthread_spinlock_t, 0)

/* Waiting for a condition releases its mutex and acquires it again. That second wait cannot be told from the first. */
#define WAIT(construct, from, does) \
	int may = waits(construct, from, NULL, NULL); \
	__typeof__(does) rc = does; \
	waited(may); \
	return rc;
#define CONDITION(construct, from, does) \
	given(m, MUTEX_AWAITED(m), from); \
	WAIT(construct, from, does)

static inline int await(pthread_cond_t *c, pthread_mutex_t *m, struct cr_place from) { CONDITION(C_COND_WAIT, from, REAL(pthread_cond_wait)(c, m)) }
static inline int timed_await(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until, struct cr_place from)
{
	CONDITION(C_COND_TIMEDWAIT, from, REAL(pthread_cond_timedwait)(c, m, until))
}
int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) { return await(c, m, CR_PLACE); }
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) { return timed_await(c, m, until, CR_PLACE); }
int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	CONDITION(C_COND_CLOCKWAIT, CR_PLACE, REAL(pthread_cond_clockwait)(c, m, clock, until))
}
int pthread_barrier_wait(pthread_barrier_t *b) { WAIT(C_BARRIER_WAIT, CR_PLACE, REAL(pthread_barrier_wait)(b)) }

/* Futex waits by syscall(2), as in barriers, latches and atomics of C++. Other system calls are passed on by a jump. */
static void *real_system_call;
long system_call(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
long system_call(long number, long a, long b, long c, long d, long e, long f)
{
	__typeof__(&system_call) call = found(&real_system_call, "syscall");
	int operation = (int)b & FUTEX_CMD_MASK;
	if (number != SYS_futex || (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET))
		return call(number, a, b, c, d, e, f);
	WAIT(C_FUTEX, CR_PLACE, call(number, a, b, c, d, e, f))
}

/* free_semaphore takes a semaphore that is free. It is a cancellation point, as sem_wait is. */
static int free_semaphore(sem_t *s)
{
	int error = errno;
	pthread_testcancel();
	int rc = REAL(sem_trywait)(s);
	errno = error;
	return rc == 0;
}
#define SEMAPHORE(construct, does) \
	if (free_semaphore(s)) \
		return 0; \
	WAIT(construct, CR_PLACE, does)
int sem_wait(sem_t *s) { SEMAPHORE(C_SEM_WAIT, REAL(sem_wait)(s)) }
int sem_timedwait(sem_t *s, const struct timespec *until) { SEMAPHORE(C_SEM_TIMEDWAIT, REAL(sem_timedwait)(s, until)) }
int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until) { SEMAPHORE(C_SEM_CLOCKWAIT, REAL(sem_clockwait)(s, clock, until)) }

/* Threads by handle. They are numbered from 1 in the order of their creation. Handles are reused. */
#define HANDLES (1 << 12)
static struct {
	_Atomic(uint64_t) handle, number;
} handles[HANDLES];
static _Atomic(uint64_t) made;

static size_t slot_of(pthread_t handle) { return ((uint64_t)handle * 0x9E3779B97F4A7C15u) >> 52; }

static void remember(pthread_t handle, uint64_t number)
{
	size_t at = slot_of(handle);
	for (size_t i = 0; i < 64; i++, at = (at + 1) % HANDLES) {
		uint64_t there = atomic_load(&handles[at].handle);
		if (there == (uint64_t)handle || (there == 0 && atomic_compare_exchange_strong(&handles[at].handle, &there, (uint64_t)handle))) {
			atomic_store(&handles[at].number, number);
			return;
		}
	}
}

static uint64_t number_of(pthread_t handle)
{
	size_t at = slot_of(handle);
	for (size_t i = 0; i < 64; i++, at = (at + 1) % HANDLES)
		if (atomic_load(&handles[at].handle) == (uint64_t)handle)
			return atomic_load(&handles[at].number);
	return 0;
}

/* Argument of a new thread's start function. number is 0 if its creation is not recorded. */
struct start {
	void *(*function)(void *);
	void *argument;
	uint64_t number;
};

static void *begin(void *argument)
{
	struct start s = *(struct start *)argument;
	free(argument);
	ours = 1;
	if (s.number)
		cr_thread_begin(s.number, (const char *)s.function + 1, (char *)__builtin_dwarf_cfa() - 1);
	return s.function(s.argument);
}

static inline int create(pthread_t *handle, const pthread_attr_t *attributes, void *(*function)(void *), void *argument, struct cr_place from)
{
	int error = errno;
	struct start *s = NULL;
	if (!cr_inside && !cr.initialising && (!cr_mine || cr_outermost()) && of_program() && !of_runtime(from.address))
		s = malloc(sizeof *s);
	errno = error;
	if (!s)
		return REAL(pthread_create)(handle, attributes, function, argument);
	uint64_t number = cr_recording() ? atomic_fetch_add(&made, 1) + 1 : 0, t = cr_now();
	*s = (struct start){function, argument, number};
	int rc = REAL(pthread_create)(handle, attributes, begin, s);
	error = errno;
	if (rc != 0)
		free(s);
	else if (number) {
		remember(*handle, number);
		cr_thread_created(number, from, t);
	}
	errno = error;
	return rc;
}

int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
	return create(handle, attributes, function, argument, CR_PLACE);
}

/* joined ends a join. */
static void joined(int may, int rc, uint64_t number)
{
	waited(may);
	if (rc == 0 && number && may)
		cr_thread_joined(number);
}

#define JOIN(construct, from, does) \
	uint64_t number = number_of(t); \
	int may = waits(construct, from, NULL, NULL); \
	int rc = does; \
	joined(may, rc, number); \
	return rc;
static inline int join(pthread_t t, void **result, struct cr_place from) { JOIN(C_JOIN, from, REAL(pthread_join)(t, result)) }
int pthread_join(pthread_t t, void **result) { return join(t, result, CR_PLACE); }
int pthread_timedjoin_np(pthread_t t, void **result, const struct timespec *until) { JOIN(C_TIMEDJOIN, CR_PLACE, REAL(pthread_timedjoin_np)(t, result, until)) }

#ifdef __GLIBC__
/* C11 threads are POSIX threads in glibc, but return other codes. */
static int c11(int rc)
{
	switch (rc) {
	case 0:
		return 0;
	case EBUSY:
		return 1;
	case ENOMEM:
		return 3;
	case ETIMEDOUT:
		return 4;
	}
	return 2;
}
int mtx_lock(pthread_mutex_t *m) { return c11(lock(m, CR_PLACE)); }
int mtx_timedlock(pthread_mutex_t *m, const struct timespec *until) { return c11(timed_lock(m, until, CR_PLACE)); }
int mtx_unlock(pthread_mutex_t *m)
{
	given(m, MUTEX_AWAITED(m), CR_PLACE);
	return c11(REAL(pthread_mutex_unlock)(m));
}
int cnd_wait(pthread_cond_t *c, pthread_mutex_t *m) { return c11(await(c, m, CR_PLACE)); }
int cnd_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) { return c11(timed_await(c, m, until, CR_PLACE)); }
int thrd_create(pthread_t *handle, void *(*function)(void *), void *argument) { return c11(create(handle, NULL, function, argument, CR_PLACE)); }
int thrd_join(pthread_t t, int *result)
{
	void *number;
	int rc = join(t, &number, CR_PLACE);
	if (rc == 0 && result)
		*result = (int)(intptr_t)number;
	return c11(rc);
}
#endif
