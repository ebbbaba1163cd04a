/* Inside of the recorder: event streams, what they share, and how an event is written. */
#ifndef COPPICE_STREAM_H
#define COPPICE_STREAM_H

#include "counters.h"
#include "held.h"
#include "recorder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <ucontext.h>

#define SITES 256 /* call sites that a stream keeps */
#define SITE_WAYS 4
struct site;
struct opened;

/* A stream is the event file of one thread. The helper owns next while it is NULL, and full while it is not. */
struct stream {
	struct held file;
	uint32_t thread;
	unsigned depth, quiet;
	uint8_t off, part;     /* nothing is written: it is before or after the part of the run that is recorded */
	uint64_t requests;     /* after it: number of the newest request of the part */
	atomic_int waits;      /* its thread is in a wait: see WAIT_NONE */
	uint8_t ended;         /* it has no thread */
	int tid;               /* of its thread, in the kernel */
	int sampler;           /* descriptor of the counter that interrupts it + 1 */
	uint64_t wait_begin, wait_site;
	const void *wait_for;  /* the lock */
	const int *wait_owner; /* where the C library keeps whose it is; NULL where it does not */
	volatile unsigned busy; /* its thread writes an event: a signal must not */
	_Atomic(uint8_t *) at; /* others read it at the end of the run */
	uint8_t *end, *window;
	int64_t room; /* bytes that its events may take in the archive before it asks for more */
	uint64_t last, stamp, sequence, dropped, events, stalled, closed; /* stamp: time of the events of the call in hand */
	_Atomic(uint8_t *) next, full;
	struct counters *counters;
	uint64_t values[COUNTERS], counted[COUNTERS]; /* of the counters: those at stamp; those of the event before in this window */
	struct stream *following;
	uint64_t call; /* what enter and leave of the call in hand say: its function or its call site */
	const char *frame; /* of the call in hand, if it is one of file I/O */
	struct site *sites[SITES]; /* of latest calls */
	unsigned newest;
	_Atomic(struct opened *) waiting; /* its thread waits at the end of a parallel region for what comes next: these are open */
	struct stream *unused;            /* another one whose thread ended */
	uint32_t held_n, tasks;
	struct {
		uint32_t lock, order;
	} held[16];    /* locks that its thread has */
	uint64_t gave; /* when a lock was given away last that others waited for, of which this is not recorded */
	int member;      /* of teams, of POSIX threads */
	uint64_t began;  /* number of the POSIX thread, 0 for another */
	int began_as;    /* of that, its number in the kernel */
};

/* A wait of POSIX threads is written when it is over, by its thread. The helper writes the begin of one that is long. */
enum { WAIT_NONE, WAIT_SILENT, WAIT_WRITING, WAIT_WRITTEN };

struct recording {
	atomic_int active;
	struct held def;
	int rank, size;
	char folder[3000];
	uint64_t begin;
	_Atomic(int64_t) left; /* bytes that this process may still take in the archive */
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t helper;
	int leaving, stopped, parted; /* parted: a part of the run is recorded */
	uint64_t hang; /* ns without an MPI call that returns, after which the recording is written; 0: never */
	uint64_t keep; /* windows that the latest of it takes; 0: all is kept */
	atomic_int initialising; /* MPI_Init is in hand */
	_Atomic(struct stream *) streams;
	_Atomic(uint32_t) threads;
	unsigned counters_n;
	struct counters *counters; /* of the first thread, from the beginning of the program */
	pthread_t first;
	uint64_t entered[COUNTERS]; /* when it called MPI_Init */
};
extern HIDDEN struct recording cr;

/* This thread's stream. */
extern HIDDEN _Thread_local struct stream *cr_mine;
extern HIDDEN _Thread_local int cr_inside; /* what this thread reads and writes now is the recorder's */

HIDDEN struct stream *cr_open_stream(uint64_t first);
HIDDEN void cr_begin_stream(struct stream *s, uint64_t first); /* its first event is about to be written */
HIDDEN int cr_turn(struct stream *s);                       /* finds room in the archive and the next window; 0: the recording ended */
HIDDEN int cr_take(int64_t bytes);                          /* of what is left for the archive; 0: it is less */
HIDDEN void cr_end_stream(struct stream *s, uint64_t *end); /* the lock is held */
HIDDEN void *cr_help(void *);                               /* the helper's thread */
HIDDEN void cr_complain(const char *what);
HIDDEN void cr_define_process(void);
HIDDEN void cr_define_counters(void);
HIDDEN void cr_define_usage(void);
HIDDEN void cr_processors(char *text, size_t size);

/* Numbers of DEF_USAGE, and the shortest piece of computation that is looked at, in ns. */
enum { USAGE_CPU, USAGE_DELAY, USAGE_SWITCHES, USAGE };
#define PIECE 1000000
HIDDEN void cr_computed(uint64_t from, uint64_t to);
HIDDEN void cr_computes(uint64_t t);

HIDDEN void cr_uncounted(void);
HIDDEN void cr_meter(struct stream *s, uint64_t t);

/* The part of the run that is recorded. */
HIDDEN int cr_part_open(void);             /* 0: it cannot be recorded */
HIDDEN void cr_part_starts(uint64_t t);    /* MPI_Init ended */
HIDDEN void cr_part_stream(struct stream *s);
HIDDEN void cr_part(struct stream *s, uint64_t t);
HIDDEN int cr_part_over(uint64_t t); /* whether it is, though this thread has not seen it */
HIDDEN void cr_left_out(struct stream *s, uint64_t t, int kind, int n, const uint64_t *args);
HIDDEN void cr_reopen(struct stream *s, uint64_t t); /* enters, or leaves, what this thread has open */
HIDDEN void cr_reclose(struct stream *s, uint64_t t);
HIDDEN void cr_state(struct stream *s);     /* a window begins: writes what this thread has open */
HIDDEN void cr_part_dropping(int on); /* a kill in between leaves the counts unknown */
HIDDEN void cr_part_dropped(const uint8_t *events, const uint8_t *end);

/* Samples. A thread begins and ends its own. What they come by: a timer at the kernel's ticks, a counter in user mode alone, or in the kernel too. */
enum { SAMPLES_TICKS, SAMPLES_USER, SAMPLES_ALL };
HIDDEN void cr_samples_open(void);
HIDDEN void cr_samples_define(void);
HIDDEN int cr_sampling(void);
HIDDEN void cr_sample_begin(void);
HIDDEN void cr_sample_end(void);
HIDDEN int cr_free(struct stream *s); /* an event finds room without waiting */
#define CONSTRUCT (1u << 31) /* no region of the program */
#define CONSTRUCTS (1u << 20) /* more than their numbers in events */
#define CONTEXT_CONSTRUCT (1u << 16) /* contexts of samples: names of regions, from here on constructs by their numbers in events, then addresses */
/* What this thread is in, as nodes below at; the highest stack pointer of functions that it calls, and whether the outermost of them is that one's own. 0 where it
 * computes nothing of its own. */
HIDDEN int cr_path(uint32_t *at, uint32_t (*below)(uint32_t, uint64_t), uintptr_t *frame, int *function);
HIDDEN const char *cr_module(uintptr_t address, uint64_t *number, uint64_t *offset);

/* In the handler of a signal: the stack that it interrupted, as return addresses, innermost first, of frames up to the limit; and whether
 * there are others beyond it. */
struct link_map;
HIDDEN unsigned cr_unwind(const ucontext_t *context, uintptr_t limit, uintptr_t *address, unsigned most, int *limited);
HIDDEN unsigned cr_frames(const ucontext_t *context, uintptr_t top, uintptr_t limit, uintptr_t *address, unsigned most, int *limited); /* the same, below the stack's top, of common frames; else 0 */
HIDDEN unsigned cr_unwind_call(uintptr_t from, uintptr_t *address, unsigned most); /* frames from the one that goes on at from */
HIDDEN const struct link_map *cr_tables(uintptr_t address); /* the program or library whose code is there, as far as it is known without a lock */
HIDDEN void cr_unwind_thread(void); /* the calling thread may be interrupted from now on */
HIDDEN void cr_signals_open(void);
HIDDEN void cr_signals_thread(void);
HIDDEN void cr_define_now(int kind, const void *body, size_t bytes); /* without a lock */

HIDDEN void cr_sites_open(void);
HIDDEN uint64_t cr_site(struct stream *s, unsigned function, struct cr_place from); /* number of a call in events */
HIDDEN uint64_t cr_site_alone(struct stream *s, unsigned function, const void *address); /* the same without callers */
HIDDEN struct stream *cr_stream(void); /* this thread's, NULL where there can be none */
HIDDEN void cr_leave_all(void); /* what this thread has open, at the end of the recording, if its window has room */
HIDDEN void cr_threads_end(struct stream *s, int finalized); /* at the end of the recording: what the thread of another stream has open */
HIDDEN void cr_write_waits(void);  /* the helper's: those that are long */

static inline uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint8_t *varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/*
 * Bounds of what is archived, in OTF2. An event takes kind and length, a time stamp of 9 bytes if its time is another than that of
 * the event before, and for each number a byte and its significant ones, of which a varint has no less; references of
 * communicators and regions may be up to 3 bytes longer than the numbers here. The values of counters are absolute.
 */
#define EVENT 256 /* more than any event takes */
static inline int64_t archived(int kind, int n, int64_t varints, int stamp)
{
	return varints + n + (stamp ? 9 : 0) + (kind <= EV_LEAVE ? 2 : kind < EV_PCONTROL ? 6 : 2 + 9 * n);
}

/* put writes an event: its kind last, so that a process that is killed leaves whole events. */
static inline void put(struct stream *s, uint64_t t, int kind, int n, const uint64_t *args)
{
	if (__builtin_expect(s->off, 0)) {
		cr_left_out(s, t, kind, n, args);
		return;
	}
	s->busy++;
	atomic_signal_fence(memory_order_seq_cst);
	uint8_t *at = atomic_load_explicit(&s->at, memory_order_relaxed);
	if (t < s->last) /* a sample came since it was read */
		t = s->last;
	if (at >= s->end || s->room < EVENT) {
		if (!cr_turn(s)) {
			s->busy--;
			return;
		}
		at = atomic_load_explicit(&s->at, memory_order_relaxed);
	}
	uint8_t *from = varint(at + 1, t - s->last), *p = from;
	for (int i = 0; i < n; i++)
		p = varint(p, args[i]);
	s->room -= archived(kind, n, p - from, t != s->last);
	atomic_store_explicit((_Atomic(uint8_t) *)at, (uint8_t)kind, memory_order_release);
	atomic_store_explicit(&s->at, p, memory_order_release);
	s->last = t;
	s->events++;
	atomic_signal_fence(memory_order_seq_cst);
	s->busy--;
}

/*
 * What is between cr_own_begin and cr_own_end is the recorder's own: files that it reads and writes are not the program's, and the thread
 * is not cancelled meanwhile, when it may have a lock.
 */
struct own {
	int inside, cancel;
};
static inline struct own cr_own_begin(void)
{
	struct own o = {.inside = cr_inside};
	cr_inside = 1;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &o.cancel);
	return o;
}
static inline void cr_own_end(struct own o)
{
	pthread_setcancelstate(o.cancel, &o.cancel);
	cr_inside = o.inside;
}

/* count reads the counters of the thread, for the event that is about to be written. */
static inline void count(struct stream *s)
{
	if (s->counters && !cr_counters_read(s->counters, s->values)) {
		s->counters = NULL;
		cr_uncounted();
	}
}

/* edge writes an enter or a leave. */
static inline void edge(struct stream *s, uint64_t t, int kind, uint64_t region)
{
	if (s->off)
		return;
	s->busy++; /* counters are relative to those of the event before */
	if (s->counters)
		cr_meter(s, t);
	if (!s->counters || atomic_load_explicit(&cr.active, memory_order_relaxed)) /* else there was no room: the recording ended */
		put(s, t, kind, 1, &region);
	s->busy--;
}

#endif
