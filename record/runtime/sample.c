#define _GNU_SOURCE
#include "stream.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Samples: where a thread computes between its MPI calls. A timer of its processor time interrupts it; the handler unwinds the
 * stack and writes an event. Such a timer needs no privilege, works in containers, and does not run while the thread sleeps, so
 * that calls of the kernel that wait are not interrupted by it. It comes at a tick of the kernel, every 1 to 10 ms, at the soonest.
 *
 * The handler calls nothing that takes a lock of the dynamic linker or memory. Return addresses are nodes of a tree, in a table
 * that threads fill together without locks; the recorder's own thread writes their definitions, later.
 *
 * A sample inside of an MPI call is left out: the time of calls is known. So is one that comes while the recorder writes.
 */

#define NODE_BITS 16
#define NODES (1 << NODE_BITS)
#define MOST_NODES (NODES / 8 * 7)
#define MOST_DEPTH 128
#define CONTEXT_BYTES 400 /* that a node takes in the archive, with its names */

static _Atomic(uint64_t) nodes[NODES];  /* number of the parent, 0 for none, above 48 bits of the address; 0: free. 0 is no node */
static _Atomic(uint16_t) order[NODES];  /* their numbers, as they came */
static _Atomic(uint32_t) known;
static uint32_t defined;
static uint64_t period;
static int number_of_signal;
static _Thread_local timer_t timer;
static _Thread_local int armed;

/* node returns the number of an address below a parent, the parent's where the table is full. */
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
	(void)number;
	if (info->si_code == SI_TIMER && armed && !atomic_load(&cr.active)) /* the recording is over */
		timer_settime(timer, 0, &none, NULL);
	if (info->si_code != SI_TIMER || !atomic_load(&cr.active) || !s || s->off || s->depth || s->quiet || s->busy || !cr_free(s))
		return;
	int before = errno;
	uint64_t t = now();
	uint32_t at = 0;
	int function, limited;
	uintptr_t limit, address[MOST_DEPTH];
	if (cr_part_over(t) || !cr_path(&at, node, &limit, &function))
		return;
	unsigned n = cr_unwind(context, limit, address, MOST_DEPTH, &limited);
	n -= function && limited && n > 0;
	while (n > 0)
		at = node(at, address[--n]);
	uint64_t a = at;
	put(s, t, EV_SAMPLE, 1, &a);
	errno = before;
}

/* cr_samples_define writes the definitions of nodes that are new. One thread at a time calls it. */
HIDDEN void cr_samples_define(void)
{
	for (; defined < atomic_load(&known); defined++) {
		uint32_t number = atomic_load(&order[defined]);
		if (!number) /* it is about to be there */
			return;
		uint64_t key = atomic_load(&nodes[number]), address = key & (UINT64_MAX >> 16);
		uint64_t body[4] = {number, key >> 48, UINT64_MAX, address}; /* of a region of the program, its name */
		if (address >= CONTEXT_CONSTRUCT) {
			body[2]--;
			body[3] = address - CONTEXT_CONSTRUCT;
		}
		if (address >= CONTEXT_CONSTRUCT + CONSTRUCTS)
			cr_module((uintptr_t)address, &body[2], &body[3]);
		if (cr_take(CONTEXT_BYTES))
			cr_define(DEF_CONTEXT, body, sizeof body);
	}
}

HIDDEN int cr_sampling(void) { return period > 0; }

/* cr_samples_open finds a signal that the program does not use. */
HIDDEN void cr_samples_open(void)
{
	const char *text = getenv("COPPICE_RECORD_SAMPLE");
	struct sigaction old, own = {.sa_sigaction = sampled, .sa_flags = SA_SIGINFO | SA_RESTART};
	uint64_t ns = text ? strtoull(text, NULL, 10) : 0;
	if (!ns)
		return;
	sigfillset(&own.sa_mask);
	for (int i = SIGRTMAX - 3; i > SIGRTMIN && !number_of_signal; i--)
		if (sigaction(i, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
			number_of_signal = i;
	struct timespec tick = {0};
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	uint64_t each = (uint64_t)tick.tv_nsec;
	if (each)
		ns = (ns + each - 1) / each * each;
	if (!number_of_signal || sigaction(number_of_signal, &own, NULL) != 0)
		return;
	period = ns;
	cr_define(DEF_SAMPLES, &ns, sizeof ns);
	cr_sample_begin();
}

/* cr_sample_begin begins the samples of the thread that calls it, which has a stream or will have one. */
HIDDEN void cr_sample_begin(void)
{
	if (!period || armed)
		return;
	cr_unwind_thread();
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number_of_signal};
	e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	struct timespec t = {(time_t)(period / 1000000000), (long)(period % 1000000000)};
	struct itimerspec each = {t, t};
	armed = timer_create(CLOCK_THREAD_CPUTIME_ID, &e, &timer) == 0;
	if (armed)
		timer_settime(timer, 0, &each, NULL);
}

/* cr_sample_end ends them, at the end of the thread or of the recording. */
HIDDEN void cr_sample_end(void)
{
	if (armed)
		timer_delete(timer);
	armed = 0;
}
