#define _GNU_SOURCE
#include "stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/*
 * Samples: where a thread computes between its MPI calls. A signal interrupts it after each period of its processor time; the handler
 * unwinds the stack and writes an event. A thread that sleeps in the kernel is not interrupted.
 *
 * A perf_event counter (Linux 5.18 or later) is exact to the ns and cheapest: the thread gets its SIGTRAP when it leaves the kernel. If the
 * kernel forbids it, a POSIX timer is used. That needs no privilege and works in containers, but expires only at ticks of the kernel, every
 * 1 to 10 ms.
 *
 * The handler does not allocate memory or take a lock of the dynamic linker. Return addresses are nodes of a tree, in a table that all
 * threads fill without locks; the helper thread writes their definitions later.
 *
 * Samples inside of MPI calls, and while the recorder writes, are dropped.
 */

#define NODE_BITS 16
#define NODES (1 << NODE_BITS)
#define MOST_NODES (NODES / 8 * 7)
#define MOST_DEPTH 128
#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif
#define CONTEXT_BYTES 400 /* bytes of a node in the archive, with its names */

static _Atomic(uint64_t) nodes[NODES];  /* upper 16 bits: number of the parent, 0 for none; lower 48: address; 0: free. Node 0 is not used */
static _Atomic(uint16_t) order[NODES];  /* numbers of the nodes in the order in which they were made */
static _Atomic(uint32_t) known;
static uint32_t defined;
static uint64_t period[2]; /* ns; SAMPLES_USER and so on */
static int number_of_signal;
static struct sigaction before; /* the program's handler of SIGTRAP */
static _Thread_local struct { /* path of the latest sample, outermost first: most of it is the same in the next one */
	uint32_t below;
	unsigned n;
	uint32_t number[MOST_DEPTH];
	uintptr_t address[MOST_DEPTH];
} last;
static _Thread_local timer_t timer;
static _Thread_local int armed;

/* node returns the number of an address below a parent. If the table is full it returns the parent. */
static uint32_t node(uint32_t parent, uint64_t address)
{
	uint64_t key = (uint64_t)parent << 48 | (address & (UINT64_MAX >> 16));
	for (uint64_t at = key * 0x9E3779B97F4A7C15u >> (64 - NODE_BITS);; at = (at + 1) % NODES) {
		uint64_t there = at ? atomic_load(&nodes[at]) : 1;
		if (there == 0) {
			if (atomic_load(&known) >= MOST_NODES)
				return parent;
			if (atomic_compare_exchange_strong(&nodes[at], &there, key)) {
				atomic_store(&order[atomic_fetch_add(&known, 1)], (uint16_t)at);
				return (uint32_t)at;
			}
		}
		if (at && there == key)
			return (uint32_t)at;
	}
}

static void sampled(int number, siginfo_t *info, void *context)
{
	struct stream *s = cr_mine;
	static const struct itimerspec none;
	int traps = number == SIGTRAP, error = errno;
	if (traps && info->si_code != TRAP_PERF) /* not the counter's: pass it on */
		before.sa_sigaction(number, info, context);
	if (info->si_code != (traps ? TRAP_PERF : SI_TIMER))
		return;
	if (armed && !atomic_load(&cr.active)) { /* the recording has ended */
		if (!traps)
			timer_settime(timer, 0, &none, NULL);
		else if (s)
			ioctl(s->sampler - 1, PERF_EVENT_IOC_DISABLE, 0);
		errno = error;
	}
	if (!atomic_load(&cr.active) || !s || s->off || s->depth || s->quiet || s->busy || !cr_free(s))
		return;
	uint64_t t = now();
	uint32_t at = 0;
	int function, limited;
	uintptr_t limit, address[MOST_DEPTH];
	if (cr_part_over(t) || !cr_path(&at, node, &limit, &function))
		return;
	unsigned n = cr_unwind(context, limit, address, MOST_DEPTH, &limited);
	n -= function && limited && n > 0;
	if (last.below != at) {
		last.below = at;
		last.n = 0;
	}
	for (unsigned i = 0; n-- > 0; at = last.number[i++])
		if (i >= last.n || last.address[i] != address[n]) {
			last.address[i] = address[n];
			last.number[i] = node(at, address[n]);
			last.n = i + 1;
		}
	uint64_t a = at;
	put(s, t, EV_SAMPLE, 1, &a);
	errno = error;
}

/* cr_samples_define writes the definitions of new nodes. */
HIDDEN void cr_samples_define(void)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	uint32_t number; /* 0: another thread is about to store it */
	pthread_mutex_lock(&one);
	for (; defined < atomic_load(&known) && (number = atomic_load(&order[defined])); defined++) {
		uint64_t key = atomic_load(&nodes[number]), address = key & (UINT64_MAX >> 16);
		uint64_t body[4] = {number, key >> 48, UINT64_MAX, address}; /* name of a region of the program */
		if (address >= CONTEXT_CONSTRUCT + CONSTRUCTS)
			cr_module((uintptr_t)address, &body[2], &body[3]);
		else if (address >= CONTEXT_CONSTRUCT) {
			body[2]--;
			body[3] = address - CONTEXT_CONSTRUCT;
		}
		if (cr_take(CONTEXT_BYTES))
			cr_define(DEF_CONTEXT, body, sizeof body);
	}
	pthread_mutex_unlock(&one);
}

/* dlclose first defines all nodes: after it, the library of an address is not known. */
int dlclose(void *handle)
{
	static _Atomic(int (*)(void *)) original;
	if (!original)
		original = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	if (cr_sampling() && atomic_load(&cr.active) && !cr_inside) {
		struct own o = cr_own_begin();
		cr_samples_define();
		cr_own_end(o);
	}
	return original(handle);
}

HIDDEN int cr_sampling(void) { return period[0] > 0; }

/* counter opens a counter of the calling thread's processor time that sends SIGTRAP, or returns -1. */
static int counter(void)
{
#ifdef PERF_ATTR_SIZE_VER7
	struct perf_event_attr a = {.size = sizeof a, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .sample_period = period[0],
		.exclude_kernel = period[1] == SAMPLES_USER, .exclude_hv = 1, .disabled = 1, .sigtrap = 1, .remove_on_exec = 1};
	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
#else
	return -1;
#endif
}

/* traced returns whether a debugger traces this process: it would stop at every SIGTRAP. */
static int traced(void)
{
	char line[256];
	int pid = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f) && sscanf(line, "TracerPid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid != 0;
}

/* waits_for_unblock: before Linux 5.18 the kernel kills a program that blocks SIGTRAP when the counter sends it, and the C library
 * blocks it at times. */
static int waits_for_unblock(void)
{
	struct utsname u;
	unsigned major = 0, minor = 0;
	return uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 && (major > 5 || (major == 5 && minor >= 18));
}

/* find_traps returns whether a counter can interrupt this thread. period[1] tells whether it counts time in the kernel. */
static int find_traps(void)
{
	int fd = -1;
	if (!waits_for_unblock())
		return 0;
	for (period[1] = SAMPLES_ALL; fd < 0 && period[1] >= SAMPLES_USER; period[1]--)
		fd = counter();
	period[1] += fd >= 0;
	if (fd >= 0)
		close(fd);
	return fd >= 0 && !traced() && sigaction(SIGTRAP, NULL, &before) == 0 && (before.sa_flags & SA_SIGINFO);
}

/* cr_samples_open chooses what interrupts threads. A timer uses a signal that the program does not use. */
HIDDEN void cr_samples_open(void)
{
	const char *text = getenv("COPPICE_RECORD_SAMPLE");
	struct sigaction old, own = {.sa_sigaction = sampled, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct timespec tick = {0};
	if (!text || !(period[0] = strtoull(text, NULL, 10)))
		return;
	sigfillset(&own.sa_mask);
	if (find_traps())
		number_of_signal = SIGTRAP;
	else
		period[1] = SAMPLES_TICKS;
	for (int i = SIGRTMAX - 3; i > SIGRTMIN && !number_of_signal; i--)
		if (sigaction(i, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
			number_of_signal = i;
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	uint64_t each = (uint64_t)tick.tv_nsec;
	if (each && period[1] == SAMPLES_TICKS)
		period[0] = (period[0] + each - 1) / each * each;
	if (!number_of_signal || sigaction(number_of_signal, &own, NULL) != 0) {
		period[0] = 0;
		return;
	}
	cr_define(DEF_SAMPLES, period, sizeof period);
	cr_sample_begin();
}

/* cr_sample_begin starts the samples of the calling thread, if it has a stream. */
HIDDEN void cr_sample_begin(void)
{
	if (!period[0] || armed || !cr_mine)
		return;
	cr_unwind_thread();
	if (number_of_signal == SIGTRAP) {
		cr_mine->sampler = counter() + 1;
		armed = cr_mine->sampler > 0 && ioctl(cr_mine->sampler - 1, PERF_EVENT_IOC_ENABLE, 0) == 0;
		return;
	}
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number_of_signal};
	e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	struct timespec t = {(time_t)(period[0] / 1000000000), (long)(period[0] % 1000000000)};
	struct itimerspec each = {t, t};
	armed = timer_create(CLOCK_THREAD_CPUTIME_ID, &e, &timer) == 0;
	if (armed)
		timer_settime(timer, 0, &each, NULL);
}

/* cr_sample_end stops them, at the end of the thread or of the recording. */
HIDDEN void cr_sample_end(void)
{
	if (armed && number_of_signal != SIGTRAP)
		timer_delete(timer);
	else if (armed && cr_mine) {
		close(cr_mine->sampler - 1);
		cr_mine->sampler = 0;
	}
	armed = 0;
}

/* stop_traps stops the samples of all threads for good, because SIGTRAP gets another handler. */
static void stop_traps(void)
{
	period[0] = 0;
	for (struct stream *s = atomic_load(&cr.streams); s; s = s->following)
		if (s->sampler > 0)
			ioctl(s->sampler - 1, PERF_EVENT_IOC_DISABLE, 0);
}

/* A program that handles SIGTRAP itself would not expect those of the counter, and may end at one. */
#define TAKES(function, other) \
	static __typeof__(function) *next; \
	if (!next) \
		next = (__typeof__(function) *)dlsym(RTLD_NEXT, #function); \
	if (number == SIGTRAP && number_of_signal == SIGTRAP && (other)) \
		stop_traps()

int sigaction(int number, const struct sigaction *restrict new, struct sigaction *restrict old)
{
	TAKES(sigaction, new && new->sa_sigaction != sampled);
	return next(number, new, old);
}

__sighandler_t signal(int number, __sighandler_t handler)
{
	TAKES(signal, 1);
	return next(number, handler);
}
