#define _GNU_SOURCE
#include "threads.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What this thread has open: names of regions (0: not recorded) and constructs. Deeper ones than REGIONS are not recorded. */
#define REGIONS 1024
#define TEAMS 32
#define TAKEN (1u << 30) /* flag: the construct is recorded. A construct's kind and its number in events follow */
#define CONSTRUCT_AT 20 /* constructs' numbers in events are below this bit */
struct opened {
	uint32_t regions[REGIONS];
	uintptr_t frames[REGIONS]; /* where regions begin on the stack */
	unsigned depth, teams_n, begun_n;
	struct parallel *begun[TEAMS]; /* parallel regions that this thread began */
	struct {
		struct parallel *p;
		unsigned base; /* depth at the begin of the team */
	} teams[TEAMS];
};
static _Thread_local struct opened opened;

/* waits_in returns whether a thread in this construct waits, or works for others. */
static int waits_in(uint32_t region)
{
	switch ((region & ~(CONSTRUCT | TAKEN)) >> CONSTRUCT_AT) {
	case C_BARRIER - C_PARALLEL: case C_IMPLICIT_BARRIER - C_PARALLEL: case C_CRITICAL - C_PARALLEL: case C_ORDERED - C_PARALLEL:
	case C_TASKWAIT - C_PARALLEL: case C_TASKGROUP - C_PARALLEL: case C_SET_LOCK - C_PARALLEL: case C_SET_NEST_LOCK - C_PARALLEL:
		return region & CONSTRUCT;
	}
	return 0;
}

HIDDEN int cr_path(uint32_t *at, uint32_t (*below)(uint32_t, uint64_t), uintptr_t *frame, int *function)
{
	unsigned n = opened.depth < REGIONS ? opened.depth : REGIONS;
	if (cr_mine->waits || (n > 0 ? waits_in(opened.regions[n - 1]) : cr_mine->member & 1 && cr_mine->thread > 0)) /* or is idle between parallel regions */
		return 0;
	*frame = UINTPTR_MAX;
	*function = 0;
	for (unsigned i = 0; i < n; i++) {
		uint32_t r = opened.regions[i];
		if (!r || (r & (CONSTRUCT | TAKEN)) == CONSTRUCT)
			continue;
		*at = below(*at, r & CONSTRUCT ? CONTEXT_CONSTRUCT + (r & (CONSTRUCTS - 1)) : r);
		if (opened.frames[i]) {
			*frame = opened.frames[i];
			*function = (r & CONSTRUCT) != 0;
		}
	}
	return 1;
}

/* usable returns whether this thread may record something outside of MPI calls. */
static int usable(void)
{
	if (opened.depth >= REGIONS || !cr_recording() || !cr_stream() || cr_mine->depth || cr_mine->quiet)
		return 0;
	if (cr.parted)
		cr_part(cr_mine, now());
	return 1;
}

HIDDEN void cr_region_begin(uint64_t name, const void *frame)
{
	int use = name && usable();
	if (use && cr.parted) {
		cr_part_begins(name, 0);
		cr_part(cr_mine, now());
	}
	if (use) {
		count(cr_mine);
		edge(cr_mine, now(), EV_REGION_ENTER, name);
	}
	if (opened.depth < REGIONS) /* after edge: a window that begins with this event must not have the region as open */
		opened.regions[opened.depth] = use ? (uint32_t)name : 0, opened.frames[opened.depth] = (uintptr_t)frame;
	opened.depth++;
}

HIDDEN void cr_region_end(void)
{
	if (!opened.depth)
		return;
	unsigned top = opened.depth - 1;
	if (top < REGIONS && opened.regions[top] & CONSTRUCT) /* the innermost open one is a construct: the region began outside of it */
		return;
	int free = cr.parted && usable();
	if (top >= REGIONS || !opened.regions[top] || !cr_recording()) {
		opened.depth = top;
		return;
	}
	count(cr_mine);
	edge(cr_mine, now(), EV_REGION_LEAVE, opened.regions[top]);
	opened.depth = top;
	if (free)
		cr_part_ends(opened.regions[top], 0);
}

HIDDEN int cr_construct_begin(unsigned construct, const void *address, uint64_t t)
{
	uint64_t number = 0;
	int use = usable() && !cr_mine->off;
	if (use)
		number = cr_site_alone(cr_mine, construct, address);
	if (opened.depth < REGIONS) {
		opened.regions[opened.depth] = CONSTRUCT | (use ? TAKEN : 0) | (construct - C_PARALLEL) << CONSTRUCT_AT | (uint32_t)number;
		opened.frames[opened.depth] = 0;
	}
	opened.depth++;
	if (use) {
		count(cr_mine);
		edge(cr_mine, t ? t : now(), EV_ENTER, number);
	}
	return use;
}

/* close_to leaves what was opened after this depth. */
static void close_to(unsigned depth, uint64_t t)
{
	while (opened.depth > depth) {
		unsigned top = --opened.depth;
		uint32_t r = top < REGIONS ? opened.regions[top] : 0;
		if (!r || r & CONSTRUCT && !(r & TAKEN) || !cr_recording())
			continue;
		count(cr_mine);
		edge(cr_mine, t, r & CONSTRUCT ? EV_LEAVE : EV_REGION_LEAVE, r & CONSTRUCT ? r & (CONSTRUCTS - 1) : r);
	}
}

HIDDEN void cr_construct_end(unsigned construct, uint64_t t)
{
	unsigned n = opened.depth;
	unsigned base = opened.teams_n > 0 && opened.teams_n <= TEAMS ? opened.teams[opened.teams_n - 1].base : 0;
	if (n > REGIONS) {
		opened.depth--;
		return;
	}
	if (cr.parted)
		usable();
	while (n > base && (opened.regions[n - 1] & ~TAKEN) >> CONSTRUCT_AT != (CONSTRUCT >> CONSTRUCT_AT | (construct - C_PARALLEL)))
		n--;
	if (n > base)
		close_to(n - 1, t ? t : now());
}

HIDDEN void cr_single_over(void)
{
	unsigned top = opened.depth - 1;
	if (top < REGIONS && (opened.regions[top] & ~TAKEN) >> CONSTRUCT_AT == (CONSTRUCT >> CONSTRUCT_AT | (C_SINGLE - C_PARALLEL)))
		cr_construct_end(C_SINGLE, 0);
}

/*
 * Teams. A thread that did not begin the parallel region learns of its end only when it gets other work or ends. So its wait in the last
 * barrier lasts from its arrival until the end that the first thread has set. The thread writes these events when it continues; if it never
 * does, cr_stop writes them. Whoever exchanges waiting for NULL writes.
 */
struct parallel {
	_Atomic(uint64_t) end;
	atomic_int users;
	const void *address;
};

static void drop(struct parallel *p)
{
	if (p && atomic_fetch_sub(&p->users, 1) == 1)
		free(p);
}

/* member defines that this thread is in OpenMP teams, or is or creates a POSIX thread. */
static void member(unsigned paradigm)
{
	int is = paradigm == THREAD_OPENMP ? 1 : 2;
	uint64_t body = cr_mine->thread;
	if (cr_mine->member & is)
		return;
	cr_mine->member |= is;
	cr_define(is == 1 ? DEF_TEAM : DEF_CONTINGENT, &body, sizeof body);
}

HIDDEN void cr_thread_event(unsigned what, uint64_t a, uint64_t b, uint64_t t)
{
	if (!cr_recording() || !cr_mine)
		return;
	if ((what & 0xff) != THREAD_ACQUIRE && (what & 0xff) != THREAD_RELEASE)
		member(what & 0xff00);
	uint64_t n[3] = {what, a, b};
	put(cr_mine, t ? t : now(), EV_THREAD, 3, n);
}

HIDDEN struct parallel *cr_parallel_begin(unsigned requested, const void *address)
{
	unsigned n = opened.begun_n++;
	if (n < TEAMS)
		opened.begun[n] = NULL;
	struct parallel *p = n < TEAMS && cr_recording() ? malloc(sizeof *p) : NULL;
	if (!p)
		return NULL;
	*p = (struct parallel){.users = 1, .address = address};
	if (!cr_construct_begin(C_PARALLEL, address, 0)) {
		opened.depth--;
		free(p);
		return NULL;
	}
	cr_thread_event(THREAD_OPENMP | THREAD_FORK, requested, 0, cr_mine->last);
	return opened.begun[n] = p;
}

HIDDEN void cr_parallel_end(void)
{
	struct parallel *p = opened.begun_n > 0 && --opened.begun_n < TEAMS ? opened.begun[opened.begun_n] : NULL;
	if (!p)
		return;
	uint64_t t = now();
	atomic_store(&p->end, t);
	cr_thread_event(THREAD_OPENMP | THREAD_JOIN, 0, 0, t);
	cr_construct_end(C_PARALLEL, t);
	drop(p);
}

HIDDEN void cr_team_begin(struct parallel *p, int first)
{
	if (p && (!cr_recording() || !cr_stream() || !usable() || cr_mine->off))
		p = NULL;
	if (opened.teams_n < TEAMS) {
		opened.teams[opened.teams_n].p = p;
		opened.teams[opened.teams_n].base = opened.depth;
	}
	if (opened.teams_n++ >= TEAMS || !p)
		return;
	atomic_fetch_add(&p->users, 1);
	cr_thread_event(THREAD_OPENMP | THREAD_TEAM_BEGIN, 0, 0, 0);
	if (!first)
		cr_construct_begin(C_PARALLEL, p->address, cr_mine->last);
}

/* over returns the time at which the team ended, the current time if it has not. */
static uint64_t over(const struct parallel *p)
{
	uint64_t t = p ? atomic_load(&p->end) : 0;
	return t ? t : now();
}

static struct parallel *team(void) { return opened.teams_n > 0 && opened.teams_n <= TEAMS ? opened.teams[opened.teams_n - 1].p : NULL; }

HIDDEN void cr_team_end(void)
{
	if (!opened.teams_n)
		return;
	struct parallel *p = team();
	if (opened.teams_n <= TEAMS && p) {
		uint64_t t = over(p);
		atomic_exchange(&cr_mine->waiting, NULL);
		close_to(opened.teams[opened.teams_n - 1].base, t);
		cr_thread_event(THREAD_OPENMP | THREAD_TEAM_END, 0, 0, t);
		drop(p);
	}
	opened.teams_n--;
}

HIDDEN void cr_team_barrier_begin(const void *address)
{
	struct parallel *p = team();
	cr_construct_begin(C_IMPLICIT_BARRIER, address || !p ? address : p->address, 0);
	if (p && cr_recording()) /* else there was no room for the enter */
		atomic_store(&cr_mine->waiting, &opened);
}

HIDDEN void cr_team_barrier_end(void)
{
	if (cr_mine)
		atomic_exchange(&cr_mine->waiting, NULL);
	cr_construct_end(C_IMPLICIT_BARRIER, over(team()));
}

static void name_thread(struct stream *s);
static int end_wait(struct stream *s, uint64_t t);

HIDDEN void cr_threads_end(struct stream *s, int finalized)
{
	name_thread(s);
	if (finalized && s->at < s->end)
		end_wait(s, now());
	const struct opened *o = atomic_exchange(&s->waiting, NULL);
	if (!o || s == cr_mine || o->teams_n == 0 || o->teams_n > TEAMS || o->depth > REGIONS)
		return;
	uint64_t n[3] = {THREAD_OPENMP | THREAD_TEAM_END}, t = over(o->teams[o->teams_n - 1].p);
	unsigned base = o->teams[o->teams_n - 1].base;
	s->room += EVENT * (int64_t)(o->depth - base + 1);
	for (unsigned i = o->depth; i > base && s->at < s->end; i--) {
		uint64_t r = o->regions[i - 1] & (CONSTRUCTS - 1);
		if ((o->regions[i - 1] & (CONSTRUCT | TAKEN)) == (CONSTRUCT | TAKEN))
			put(s, t, EV_LEAVE, 1, &r);
	}
	if (s->at < s->end)
		put(s, t, EV_THREAD, 3, n);
}

/*
 * Streams of threads that have ended are used again, because programs and runtimes may start threads for each parallel region. A location
 * then has several threads, one after the other.
 */
static pthread_key_t ending;
static struct stream *unused;

/* name_thread defines the name that the program gave a thread, if it differs from that of the process. */
static void name_thread(struct stream *s)
{
	char file[48], text[2][32];
	uint64_t body[5] = {s->thread};
	ssize_t n[2] = {0, 0};
	if (!s->began_as)
		return;
	struct own own = cr_own_begin();
	for (int i = 0; i < 2; i++) {
		snprintf(file, sizeof file, "/proc/self/task/%ld/comm", i ? (long)s->began_as : (long)getpid());
		int fd = open(file, O_RDONLY | O_CLOEXEC);
		n[i] = fd < 0 ? -1 : read(fd, text[i], sizeof text[i]);
		if (fd >= 0)
			close(fd);
	}
	cr_own_end(own);
	s->began_as = 0;
	if (n[1] < 2 || (n[0] == n[1] && memcmp(text[0], text[1], (size_t)n[1]) == 0))
		return;
	memcpy(body + 1, text[1], (size_t)n[1] - 1); /* without the newline */
	cr_define(DEF_THREAD_NAME, body, 8 + (size_t)n[1] - 1);
}

static void thread_ended(void *stream)
{
	struct stream *s = stream;
	cr_sample_end();
	if (cr_threads()) {
		end_wait(s, now()); /* it was cancelled in a wait */
		while (opened.teams_n > 0)
			cr_team_end();
		close_to(0, now());
		opened.depth = 0;
		if (s->began)
			cr_thread_event(THREAD_PTHREAD | THREAD_END, s->began, 0, s->last);
		s->began = 0;
		name_thread(s);
	}
	if (!cr_recording()) /* in a child of fork another thread may have held the lock */
		return;
	pthread_mutex_lock(&cr.lock);
	s->counters = NULL;
	if (s->depth == 0 && (cr_threads() || !cr.counters_n)) { /* not if a call is open, or if the next thread would have no counters */
		s->unused = unused;
		unused = s;
	}
	s->depth = 0;
	s->ended = 1;
	s->held_n = 0;
	cr_mine = NULL;
	pthread_mutex_unlock(&cr.lock);
}

HIDDEN struct stream *cr_stream(void)
{
	if (cr_mine)
		return cr_mine;
	pthread_mutex_lock(&cr.lock);
	if ((cr_mine = unused))
		unused = cr_mine->unused;
	pthread_mutex_unlock(&cr.lock);
	if (cr_mine) {
		cr_unwind_thread();
		cr_signals_thread();
	} else
		cr_mine = cr_open_stream(now());
	if (cr_mine) {
		cr_mine->ended = 0;
		cr_mine->tid = (int)syscall(SYS_gettid);
		pthread_setspecific(ending, cr_mine);
		cr_sample_begin();
	}
	return cr_mine;
}

HIDDEN int cr_threads(void)
{
	static atomic_int known = -1;
	if (known < 0) {
		const char *text = getenv("COPPICE_RECORD_THREADS");
		known = !text || !getenv("COPPICE_RECORD_DIR") ? 0 : strcmp(text, "all") == 0 ? 2 : strcmp(text, "openmp") == 0;
	}
	return known;
}

/* Locks by address. An address keeps its number. */
#define LOCKS (1 << 14)
static struct {
	_Atomic(uint64_t) lock;
	atomic_uint order;
} locks[LOCKS];

/* number_of returns the number of a lock, which it adds if it is new. LOCKS: there are too many. */
static uint32_t number_of(uint64_t lock)
{
	uint32_t at = (uint32_t)(lock * 0x9E3779B97F4A7C15u >> 50);
	for (int tries = 0; tries < 64; tries++, at = (at + 1) % LOCKS) {
		uint64_t there = atomic_load(&locks[at].lock);
		if (there == lock || there == 0 && (atomic_compare_exchange_strong(&locks[at].lock, &there, lock) || there == lock))
			return at;
	}
	return LOCKS;
}

HIDDEN void cr_lock_acquired(unsigned paradigm, uint64_t lock)
{
	uint32_t number = number_of(lock);
	struct stream *s = cr_mine;
	if (number == LOCKS || !s || s->off || s->depth || s->quiet || !cr_recording() || s->held_n >= sizeof s->held / sizeof *s->held)
		return;
	s->held[s->held_n].lock = number;
	s->held[s->held_n].order = atomic_fetch_add(&locks[number].order, 1) + 1;
	cr_thread_event(paradigm | THREAD_ACQUIRE, number, s->held[s->held_n].order, 0);
	s->held_n++;
}

HIDDEN void cr_lock_released(unsigned paradigm, uint64_t lock, int awaited)
{
	struct stream *s = cr_mine;
	if (!s)
		return;
	uint32_t i = s->held_n;
	while (i > 0 && atomic_load(&locks[s->held[i - 1].lock].lock) != lock)
		i--;
	if (i == 0) { /* its acquisition is not recorded. The release is if others wait, but at most once in LEAST_WAIT */
		uint64_t t = now();
		uint32_t number = awaited && t - s->gave >= LEAST_WAIT && !s->off && !s->depth && !s->quiet ? number_of(lock) : LOCKS;
		if (number < LOCKS) {
			s->gave = t;
			cr_thread_event(paradigm | THREAD_RELEASE, number, atomic_fetch_add(&locks[number].order, 1) + 1, t);
		}
		return;
	}
	cr_thread_event(paradigm | THREAD_RELEASE, s->held[i - 1].lock, s->held[i - 1].order, 0);
	memmove(&s->held[i - 1], &s->held[i], (s->held_n - i) * sizeof *s->held);
	s->held_n--;
}

HIDDEN uint64_t cr_wait_begin(unsigned construct, struct cr_place from, const volatile void *lock, const int *owner)
{
	struct stream *s = cr_mine;
	if (cr_inside || (s && (s->busy || s->waits)) || !usable())
		return 0;
	s = cr_mine;
	count(s);
	s->wait_site = cr_site(s, construct, from);
	s->wait_for = (const void *)lock;
	s->wait_owner = owner;
	s->wait_begin = now();
	atomic_store(&s->waits, WAIT_SILENT);
	return s->wait_begin;
}

/* stuck defines that a thread waits long for a lock, or (LOCKS) that the wait is over. */
static void stuck(const struct stream *s, uint32_t lock, uint64_t owner)
{
	uint64_t body[3] = {s->thread, lock == LOCKS ? UINT64_MAX : lock, owner};
	cr_define(DEF_STUCK, body, sizeof body);
}

/* end_wait ends the wait of a stream's thread and returns what was written of it. */
static int end_wait(struct stream *s, uint64_t t)
{
	int was = atomic_load(&s->waits);
	while (was == WAIT_WRITING || !atomic_compare_exchange_weak(&s->waits, &was, WAIT_NONE)) {
		sched_yield();
		was = atomic_load(&s->waits);
	}
	if (was != WAIT_WRITTEN)
		return was;
	put(s, t, EV_LEAVE, 1, &s->wait_site);
	if (s->wait_for && cr_recording())
		stuck(s, LOCKS, 0);
	return was;
}

HIDDEN int cr_wait_end(uint64_t end)
{
	struct stream *s = cr_mine;
	uint64_t begin = s->wait_begin;
	if (end_wait(s, end) == WAIT_WRITTEN)
		return 1;
	if (end - begin < LEAST_WAIT || !usable())
		return 0;
	edge(s, begin, EV_ENTER, s->wait_site);
	count(s);
	edge(s, end, EV_LEAVE, s->wait_site);
	return 1;
}

#define LONG_WAIT 1000000000 /* ns; the begin of a longer wait is written before it is over */

HIDDEN void cr_write_waits(void)
{
	for (struct stream *s = atomic_load(&cr.streams); s; s = s->following) {
		int silent = WAIT_SILENT;
		if (atomic_load(&s->waits) != silent || now() - s->wait_begin < LONG_WAIT || !atomic_compare_exchange_strong(&s->waits, &silent, WAIT_WRITING))
			continue;
		if (s->off || s->depth || s->end - s->at < EVENT || s->room < 2 * EVENT) {
			atomic_store(&s->waits, WAIT_SILENT);
			continue;
		}
		edge(s, s->wait_begin, EV_ENTER, s->wait_site);
		if (s->wait_for) {
			int tid = s->wait_owner ? *(const volatile int *)s->wait_owner : 0;
			uint64_t owner = 0;
			for (struct stream *o = atomic_load(&cr.streams); o && tid > 0; o = o->following)
				owner = o->tid == tid && !o->ended ? o->thread + UINT64_C(1) : owner;
			stuck(s, number_of((uint64_t)(uintptr_t)s->wait_for), owner);
		}
		atomic_store(&s->waits, WAIT_WRITTEN);
	}
}

HIDDEN void cr_thread_created(uint64_t number, struct cr_place from, uint64_t t)
{
	if (!usable())
		return;
	uint64_t site = cr_site(cr_mine, C_CREATE, from);
	count(cr_mine);
	edge(cr_mine, t, EV_ENTER, site);
	cr_thread_event(THREAD_PTHREAD | THREAD_CREATE, number, 0, cr_mine->last);
	edge(cr_mine, now(), EV_LEAVE, site);
}

HIDDEN void cr_thread_begin(uint64_t number, const void *function, const void *frame)
{
	if (!usable())
		return;
	cr_mine->began = number;
	cr_mine->began_as = (int)syscall(SYS_gettid);
	cr_thread_event(THREAD_PTHREAD | THREAD_BEGIN, number, 0, 0);
	if (cr_construct_begin(C_THREAD, function, cr_mine->last))
		opened.frames[opened.depth - 1] = (uintptr_t)frame;
}

HIDDEN void cr_thread_joined(uint64_t number)
{
	if (usable())
		cr_thread_event(THREAD_PTHREAD | THREAD_WAIT, number, 0, 0);
}

/*
 * Tasks. A task is a number. From the lowest bit: 1; whether it began; 14 bits: thread that created it; 17: its construct in events; 31:
 * its number on that thread.
 */
#define TASK_THREAD_BITS 14
#define TASK_SITE_BITS 17
#define TASK_NUMBER_BITS 31

HIDDEN uint64_t cr_task_create(const void *address)
{
	if (!usable() || cr_mine->off || cr_mine->thread >> TASK_THREAD_BITS || cr_mine->tasks >> TASK_NUMBER_BITS)
		return 0;
	uint64_t site = cr_site_alone(cr_mine, C_TASK, address);
	uint64_t number = ++cr_mine->tasks;
	cr_thread_event(THREAD_OPENMP | THREAD_TASK_CREATE, cr_mine->thread, number, 0);
	return 1 | (uint64_t)cr_mine->thread << 2 | site << (2 + TASK_THREAD_BITS) | number << (2 + TASK_THREAD_BITS + TASK_SITE_BITS);
}

static uint64_t task_thread(uint64_t task) { return task >> 2 & ((1 << TASK_THREAD_BITS) - 1); }
static uint64_t task_site(uint64_t task) { return task >> (2 + TASK_THREAD_BITS) & ((1 << TASK_SITE_BITS) - 1); }
static uint64_t task_number(uint64_t task) { return task >> (2 + TASK_THREAD_BITS + TASK_SITE_BITS); }

HIDDEN void cr_task_switch(uint64_t *before, int complete, uint64_t *next)
{
	if (!usable())
		return;
	uint64_t t = now();
	if (before && complete && *before & 2) {
		cr_construct_end(C_TASK, t);
		cr_thread_event(THREAD_OPENMP | THREAD_TASK_COMPLETE, task_thread(*before), task_number(*before), t);
	}
	if (!next) {
		cr_thread_event(THREAD_OPENMP | THREAD_TASK_SWITCH, cr_mine->thread, 0, t);
		return;
	}
	cr_thread_event(THREAD_OPENMP | THREAD_TASK_SWITCH, task_thread(*next), task_number(*next), t);
	if (*next & 2)
		return;
	*next |= 2;
	opened.regions[opened.depth] = CONSTRUCT | TAKEN | (C_TASK - C_PARALLEL) << CONSTRUCT_AT | (uint32_t)task_site(*next);
	opened.frames[opened.depth++] = 0;
	count(cr_mine);
	edge(cr_mine, t, EV_ENTER, task_site(*next));
}

/* cr_reopen enters what this thread has open when the part begins. Constructs that began before it get neither enter nor leave. */
HIDDEN void cr_reopen(struct stream *s, uint64_t t)
{
	count(s);
	if (s->thread == 0)
		edge(s, t, EV_REGION_ENTER, 0);
	for (unsigned i = 0; i < opened.depth && i < REGIONS; i++)
		if (opened.regions[i] && !(opened.regions[i] & CONSTRUCT))
			edge(s, t, EV_REGION_ENTER, opened.regions[i]);
}

HIDDEN void cr_state(struct stream *s)
{
	uint64_t name = 2;
	put(s, s->last, EV_PART, 1, &name);
	for (unsigned i = 0; s == cr_mine && i < opened.depth && i < REGIONS; i++)
		if (opened.regions[i] && !(opened.regions[i] & CONSTRUCT)) {
			name = 2 + (uint64_t)opened.regions[i];
			put(s, s->last, EV_PART, 1, &name);
		}
}

HIDDEN void cr_reclose(struct stream *s, uint64_t t)
{
	unsigned k = opened.teams_n < TEAMS ? opened.teams_n : TEAMS;
	count(s);
	for (unsigned i = opened.depth < REGIONS ? opened.depth : REGIONS;; i--) {
		for (; k > 0 && opened.teams[k - 1].base >= i; k--)
			if (opened.teams[k - 1].p)
				cr_thread_event(THREAD_OPENMP | THREAD_TEAM_END, 0, 0, t);
		if (i == 0)
			break;
		uint32_t r = opened.regions[i - 1];
		if ((r & (CONSTRUCT | TAKEN)) == (CONSTRUCT | TAKEN))
			edge(s, t, EV_LEAVE, r & (CONSTRUCTS - 1));
		else if (r && !(r & CONSTRUCT))
			edge(s, t, EV_REGION_LEAVE, r);
		if (r & CONSTRUCT)
			opened.regions[i - 1] = r & ~TAKEN;
	}
	if (s->thread == 0)
		edge(s, t, EV_REGION_LEAVE, 0);
}

/* close_region leaves a region at the end of the recording, if there is room. */
static void close_region(uint64_t name)
{
	uint64_t t = now(), number = name & (CONSTRUCTS - 1);
	if (name & CONSTRUCT && !(name & TAKEN))
		return;
	if (cr_mine->at < cr_mine->end && cr_mine->counters)
		cr_meter(cr_mine, t);
	if (cr_mine->at < cr_mine->end)
		put(cr_mine, t, name & CONSTRUCT ? EV_LEAVE : EV_REGION_LEAVE, 1, name & CONSTRUCT ? &number : &name);
}

HIDDEN void cr_leave_all(void)
{
	cr_mine->room += EVENT * ((int64_t)opened.depth + 1);
	count(cr_mine);
	while (opened.depth > 0 && cr_mine->at < cr_mine->end)
		if (--opened.depth < REGIONS && opened.regions[opened.depth])
			close_region(opened.regions[opened.depth]);
	if (cr_mine->thread == 0)
		close_region(0);
}

__attribute__((constructor)) static void loaded(void) { pthread_key_create(&ending, thread_ended); }
