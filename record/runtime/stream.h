/* Internals of the recorder: event streams, what they share, and how an event is written. */
#ifndef COPPICE_STREAM_H
#define COPPICE_STREAM_H

#include "counters.h"
#include "held.h"
#include "recorder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <ucontext.h>

#define SITES 256 /* call sites that a stream remembers */
#define SITE_WAYS 4
struct site;
struct opened;

/* The event stream of one thread. Its helper thread may write to next while that is NULL, and to full while that is not. */
struct stream {
	struct held file;
	uint32_t thread;
	unsigned depth, quiet;
	uint8_t off, part;     /* nothing is written; the thread is before, within or after the recorded part */
	uint64_t requests;     /* after the part: number of its newest request */
	atomic_int waits;      /* the thread waits: see WAIT_NONE */
	uint8_t ended;         /* the thread has ended */
	int tid;               /* the kernel's number of the thread */
	int sampler;           /* descriptor of the counter that triggers samples, + 1 */
	uint64_t wait_begin, wait_site;
	const void *wait_for;  /* lock that the thread waits for */
	const int *wait_owner; /* where the C library stores the lock's owner, or NULL */
	volatile unsigned busy; /* the thread is writing an event: signal handlers must not */
	_Atomic(uint8_t *) at; /* next event; other threads read it at the end of the run */
	uint8_t *end, *window;
	int64_t room; /* bytes that events may take in the archive before the stream takes more */
	uint64_t last, stamp, sequence, dropped, events, stalled, closed; /* stamp: time of the current call's events; dropped: windows given up */
	_Atomic(uint8_t *) next, full;
	struct counters *counters;
	uint64_t values[COUNTERS], counted[COUNTERS]; /* counters at stamp, and at the previous event of this window */
	struct stream *following;
	uint64_t call; /* region of the current call in events: its function or call site */
	const char *frame; /* frame of the current call, if it is file I/O */
	struct site *sites[SITES]; /* of the latest calls */
	unsigned newest;
	_Atomic(struct opened *) waiting; /* the thread is idle after a parallel region; its open regions */
	struct stream *unused;            /* next in the list of streams whose thread has ended */
	uint32_t held_n, tasks;
	struct {
		uint32_t lock, order;
	} held[16];    /* locks that the thread holds */
	uint64_t gave; /* when it last released a lock that others wait for and whose acquisition is not recorded */
	int member;      /* bit 0: in OpenMP teams; bit 1: a POSIX thread or creator of one */
	uint64_t began;  /* number of the POSIX thread, or 0 */
	int began_as;    /* the kernel's number of that POSIX thread */
};

/* A thread records its wait when the wait is over. If it takes long the helper thread writes its begin earlier. */
enum { WAIT_NONE, WAIT_SILENT, WAIT_WRITING, WAIT_WRITTEN };

struct recording {
	atomic_int active;
	struct held def;
	int rank, size;
	char folder[3000];
	uint64_t begin;
	_Atomic(int64_t) left; /* bytes of the archive that this process may still use */
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t helper;
	int leaving, stopped, parted; /* parted: only a part of the run is recorded */
	uint64_t hang; /* ns: if no MPI call returns for so long, leave a note; 0: never */
	uint64_t keep; /* most windows that are kept; 0: all */
	atomic_int initialising; /* a thread is in MPI_Init */
	_Atomic(struct stream *) streams;
	_Atomic(uint32_t) threads;
	unsigned counters_n;
	struct counters *counters; /* of the first thread, since the recorder was loaded */
	pthread_t first;
	uint64_t entered[COUNTERS]; /* counters when it called MPI_Init */
};
extern HIDDEN struct recording cr;

/* This thread's stream. */
extern HIDDEN _Thread_local struct stream *cr_mine;
extern HIDDEN _Thread_local int cr_inside; /* this thread is in the recorder: its files and calls are not the program's */

HIDDEN struct stream *cr_open_stream(uint64_t first);
HIDDEN void cr_begin_stream(struct stream *s, uint64_t first); /* sets the time of its first event */
HIDDEN int cr_turn(struct stream *s);                       /* makes room for an event, in the archive and in a window; 0: the recording has ended */
HIDDEN int cr_take(int64_t bytes);                          /* takes bytes of the archive; 0: there are not so many left */
HIDDEN void cr_end_stream(struct stream *s, uint64_t *end); /* the caller holds the lock */
HIDDEN void *cr_help(void *);                               /* main function of the helper thread */
HIDDEN void cr_complain(const char *what);
HIDDEN void cr_define_process(void);
HIDDEN void cr_define_counters(void);
HIDDEN void cr_define_usage(void);
HIDDEN void cr_processors(char *text, size_t size);

/* Numbers of DEF_USAGE, and the shortest piece of computation that is measured, in ns. */
enum { USAGE_CPU, USAGE_DELAY, USAGE_SWITCHES, USAGE };
#define PIECE 1000000
HIDDEN void cr_computed(uint64_t from, uint64_t to);
HIDDEN void cr_computes(uint64_t t);

HIDDEN void cr_uncounted(void);
HIDDEN void cr_meter(struct stream *s, uint64_t t);

/* The part of the run that is recorded. */
HIDDEN int cr_part_open(void);             /* 0: the part cannot be recorded */
HIDDEN void cr_part_starts(uint64_t t);    /* MPI_Init has ended */
HIDDEN void cr_part_stream(struct stream *s);
HIDDEN void cr_part(struct stream *s, uint64_t t);
HIDDEN int cr_part_over(uint64_t t); /* whether the part is over, even if this thread is still within */
HIDDEN void cr_left_out(struct stream *s, uint64_t t, int kind, int n, const uint64_t *args);
HIDDEN void cr_reopen(struct stream *s, uint64_t t); /* writes enters (cr_reclose: leaves) of all that the thread has open */
HIDDEN void cr_reclose(struct stream *s, uint64_t t);
HIDDEN void cr_state(struct stream *s);     /* a window begins: writes the regions that are open */
HIDDEN void cr_part_dropping(int on); /* 1 while dropped events are counted: if the process is killed then, the counts are unknown */
HIDDEN void cr_part_dropped(const uint8_t *events, const uint8_t *end);

/* Samples. Each thread starts and stops its own. What triggers one: a timer at the kernel's ticks, a counter of time in user mode, or
 * one of all time. */
enum { SAMPLES_TICKS, SAMPLES_USER, SAMPLES_ALL };
HIDDEN void cr_samples_open(void);
HIDDEN void cr_samples_define(void);
HIDDEN int cr_sampling(void);
HIDDEN void cr_sample_begin(void);
HIDDEN void cr_sample_end(void);
HIDDEN int cr_free(struct stream *s); /* whether an event can be written now without waiting */
#define CONSTRUCT (1u << 31) /* flag: not a region of the program */
#define CONSTRUCTS (1u << 20) /* more than the number of any construct in events */
#define CONTEXT_CONSTRUCT (1u << 16) /* contexts of samples: below it names of regions, then constructs, then addresses */
/* Returns 0 if the thread waits, or works for others. Else it adds the open regions and constructs as nodes below at. frame: frames above
 * it are callers of the innermost region, UINTPTR_MAX for none; function: the outermost frame below it is the construct's own function. */
HIDDEN int cr_path(uint32_t *at, uint32_t (*below)(uint32_t, uint64_t), uintptr_t *frame, int *function);
HIDDEN const char *cr_module(uintptr_t address, uint64_t *number, uint64_t *offset);

/* For signal handlers. cr_unwind returns the interrupted stack as return addresses, innermost first, of frames up to limit. limited:
 * there are more frames. */
struct link_map;
HIDDEN unsigned cr_unwind(const ucontext_t *context, uintptr_t limit, uintptr_t *address, unsigned most, int *limited);
HIDDEN unsigned cr_frames(const ucontext_t *context, uintptr_t top, uintptr_t limit, uintptr_t *address, unsigned most, int *limited); /* the same by cached rules; 0 if it meets a rare form of frame */
HIDDEN unsigned cr_unwind_call(uintptr_t from, uintptr_t *address, unsigned most); /* stack from the frame that continues at from */
HIDDEN const struct link_map *cr_tables(uintptr_t address); /* program or library that has this code, without locks; NULL if not known */
HIDDEN void cr_unwind_thread(void); /* prepares the calling thread for cr_unwind in a handler */
HIDDEN void cr_signals_open(void);
HIDDEN void cr_signals_thread(void);
HIDDEN void cr_define_now(int kind, const void *body, size_t bytes); /* cr_define without a lock */

HIDDEN void cr_sites_open(void);
HIDDEN uint64_t cr_site(struct stream *s, unsigned function, struct cr_place from); /* returns the region of a call in events */
HIDDEN uint64_t cr_site_alone(struct stream *s, unsigned function, const void *address); /* the same for the call itself, without its callers */
HIDDEN struct stream *cr_stream(void); /* this thread's; NULL if it cannot have one */
HIDDEN void cr_leave_all(void); /* at the end of the recording: leaves what this thread has open, as long as there is room */
HIDDEN void cr_threads_end(struct stream *s, int finalized); /* at the end of the recording: the same for the thread of another stream */
HIDDEN void cr_write_waits(void);  /* run by the helper thread: writes the begin of long waits */

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
 * An upper bound of an event's bytes in OTF2: kind and length, a time stamp of 9 bytes if its time differs from the previous event's, and
 * for each number a byte plus its significant bytes (a varint has at least as many). References of communicators and regions may be 3 bytes
 * longer than numbers here. Counter values are absolute there.
 */
#define EVENT 256 /* more than the bytes of any event */
static inline int64_t archived(int kind, int n, int64_t varints, int stamp)
{
	return varints + n + (stamp ? 9 : 0) + (kind <= EV_LEAVE ? 2 : kind < EV_PCONTROL ? 6 : 2 + 9 * n);
}

/* put writes an event. It writes the kind last, so that a process that is killed leaves only complete events. */
static inline void put(struct stream *s, uint64_t t, int kind, int n, const uint64_t *args)
{
	if (__builtin_expect(s->off, 0)) {
		cr_left_out(s, t, kind, n, args);
		return;
	}
	s->busy++;
	atomic_signal_fence(memory_order_seq_cst);
	uint8_t *at = atomic_load_explicit(&s->at, memory_order_relaxed);
	if (t < s->last) /* a sample was written after t was read */
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
 * Between cr_own_begin and cr_own_end the thread works for the recorder: its file I/O is not recorded, and it cannot be cancelled, as it
 * may hold a lock.
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

/* count reads the thread's counters for the next event. */
static inline void count(struct stream *s)
{
	if (s->counters && !cr_counters_read(s->counters, s->values)) {
		s->counters = NULL;
		cr_uncounted();
	}
}

/* edge writes an enter or a leave, after the counters. */
static inline void edge(struct stream *s, uint64_t t, int kind, uint64_t region)
{
	if (s->off)
		return;
	s->busy++; /* no sample in between: counters are relative to those of the previous event */
	if (s->counters)
		cr_meter(s, t);
	if (!s->counters || atomic_load_explicit(&cr.active, memory_order_relaxed)) /* else cr_meter found no room and ended the recording */
		put(s, t, kind, 1, &region);
	s->busy--;
}

#endif
