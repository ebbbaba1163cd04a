#define _GNU_SOURCE
#include "fortran.h"
#include "log.h"
#include "vector.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WINDOW (1u << 20)
#define HEAD 48  /* bytes of a window's head */
#define ROOM 128 /* more than any event takes */
#define E_BUDGET 4000 /* no error of the system: a limit of file sizes is EFBIG */

/* The head of a window. length and crc are 0 until the window is closed. */
struct head {
	char magic[8];
	uint32_t length, crc;
	uint64_t sequence, first, thread, zero;
};

/* A stream is the event file of one thread. The helper owns next while it is NULL, and full while it is not. */
struct stream {
	int fd;
	uint32_t thread;
	unsigned depth, quiet;
	_Atomic(uint8_t *) at; /* others read it at the end of the run */
	uint8_t *end, *window;
	uint64_t last, stamp, sequence, events, stalled, closed; /* stamp: time of the events of the call in hand */
	_Atomic(uint8_t *) next, full;
	struct stream *following;
};

static struct {
	atomic_int active;
	int def, rank, size;
	char folder[3000];
	uint64_t begin, budget;
	_Atomic(uint64_t) bytes;
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t helper;
	int leaving, stopped;
	_Atomic(struct stream *) streams;
	_Atomic(uint32_t) threads;
} cr = {.def = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

static _Thread_local struct stream *mine;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

HIDDEN uint64_t cr_now(void) { return now(); }

static void complain(const char *what)
{
	fprintf(stderr, "coppice record: process %d: %s: %s; the recording ends here, the program goes on\n", cr.rank, what,
		strerror(errno));
}

/* CRC-32C, a byte at a time: only the helper and the end of the run compute it. */
static uint32_t crc32c(const uint8_t *p, size_t n)
{
	static uint32_t table[256];
	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;
			for (int k = 0; k < 8; k++)
				c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
			table[i] = c;
		}
	uint32_t c = ~0u;
	while (n--)
		c = table[(c ^ *p++) & 0xff] ^ c >> 8;
	return ~c;
}

/* new_window makes room for the next window in the file and maps it, or returns NULL with errno set. */
static uint8_t *new_window(struct stream *s)
{
	off_t off = (off_t)(s->sequence * WINDOW);
	if (atomic_fetch_add(&cr.bytes, WINDOW) + WINDOW > cr.budget) {
		atomic_fetch_sub(&cr.bytes, WINDOW);
		errno = E_BUDGET;
		return NULL;
	}
	/* Without room on the disk a store into the mapping would end the program: take the room first. */
	int rc = posix_fallocate(s->fd, off, WINDOW);
	if (rc != 0) {
		errno = rc;
		return NULL;
	}
	uint8_t *w = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, s->fd, off);
	if (w == MAP_FAILED)
		return NULL;
	struct head h = {.magic = "CPREVT1", .sequence = s->sequence++, .thread = s->thread};
	memcpy(w, &h, sizeof h);
	return w;
}

static void seal(uint8_t *w, size_t used)
{
	struct head *h = (struct head *)w;
	h->length = (uint32_t)used;
	h->crc = crc32c(w + HEAD, used - HEAD);
}

static void close_window(uint8_t *w, size_t used)
{
	seal(w, used);
	munmap(w, WINDOW);
}

/* help keeps a window ready for every stream and closes the full ones. */
static void *help(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&cr.lock);
	while (!cr.leaving) {
		pthread_mutex_unlock(&cr.lock);
		int busy = 0;
		for (struct stream *s = atomic_load(&cr.streams); s; s = s->following) {
			uint8_t *full = atomic_load(&s->full);
			if (full) {
				close_window(full, s->closed);
				atomic_store(&s->full, NULL);
				busy = 1;
			}
			if (!atomic_load(&s->next)) {
				uint8_t *w = new_window(s);
				atomic_store(&s->next, w ? w : (uint8_t *)(intptr_t)-errno);
				busy = 1;
			}
		}
		pthread_mutex_lock(&cr.lock);
		if (!busy && !cr.leaving)
			pthread_cond_wait(&cr.work, &cr.lock);
	}
	pthread_mutex_unlock(&cr.lock);
	return NULL;
}

static void wake(void)
{
	pthread_mutex_lock(&cr.lock);
	pthread_cond_signal(&cr.work);
	pthread_mutex_unlock(&cr.lock);
}

static int failed(uint8_t *w) { return (intptr_t)w < 0 && (intptr_t)w > -4096; }

static void enter_window(struct stream *s, uint8_t *w)
{
	s->window = w;
	s->at = w + HEAD;
	s->end = w + WINDOW - ROOM;
	((struct head *)w)->first = s->last;
}

/* turn goes on in the next window. Without one the recording of this process ends. */
static int turn(struct stream *s)
{
	uint8_t *w;
	uint64_t since = 0;
	while (!(w = atomic_load(&s->next)) || atomic_load(&s->full)) {
		if (!atomic_load(&cr.active)) /* another thread ended the recording */
			return 0;
		if (!since)
			since = now();
		wake();
		sched_yield();
	}
	if (since)
		s->stalled += now() - since;
	if (failed(w)) {
		errno = (int)-(intptr_t)w;
		int reason = errno == E_BUDGET ? END_BUDGET : END_DISK;
		if (reason == END_DISK)
			complain("no more room for events");
		s->end += ROOM / 2; /* the last event finds room */
		uint64_t r = (uint64_t)reason;
		cr_event(EV_STOPPED, 1, &r);
		cr_stop(reason);
		return 0;
	}
	pthread_mutex_lock(&cr.lock);
	int stopped = cr.stopped;
	if (!stopped) {
		s->closed = (uint64_t)(s->at - s->window);
		atomic_store(&s->full, s->window);
		atomic_store(&s->next, NULL);
		enter_window(s, w);
		pthread_cond_signal(&cr.work);
	}
	pthread_mutex_unlock(&cr.lock);
	return !stopped;
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

/* put writes an event: its kind last, so that a process that is killed leaves whole events. */
static inline void put(struct stream *s, uint64_t t, int kind, int n, const uint64_t *args)
{
	uint8_t *at = atomic_load_explicit(&s->at, memory_order_relaxed);
	if (at >= s->end) {
		if (!turn(s))
			return;
		at = atomic_load_explicit(&s->at, memory_order_relaxed);
	}
	uint8_t *p = varint(at + 1, t - s->last);
	for (int i = 0; i < n; i++)
		p = varint(p, args[i]);
	atomic_store_explicit((_Atomic(uint8_t) *)at, (uint8_t)kind, memory_order_release);
	atomic_store_explicit(&s->at, p, memory_order_release);
	s->last = t;
	s->events++;
}

static struct stream *open_stream(uint64_t first)
{
	char name[sizeof cr.folder + 64];
	struct stream *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->thread = atomic_fetch_add(&cr.threads, 1);
	if (s->thread == 0)
		snprintf(name, sizeof name, "%s/%d.evt", cr.folder, cr.rank);
	else
		snprintf(name, sizeof name, "%s/%d.%u.evt", cr.folder, cr.rank, s->thread);
	s->last = first;
	s->fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	uint8_t *w = s->fd < 0 ? NULL : new_window(s);
	if (!w) {
		complain(name);
		free(s);
		return NULL;
	}
	enter_window(s, w);
	struct stream *head = atomic_load(&cr.streams);
	do
		s->following = head;
	while (!atomic_compare_exchange_weak(&cr.streams, &head, s));
	return s;
}

HIDDEN int cr_enter(unsigned function)
{
	int active = atomic_load_explicit(&cr.active, memory_order_relaxed);
	if (!active && !lg_on) /* the receive log may be there for longer */
		return 0;
	if (!mine && !active)
		lg_second_thread();
	if (!mine && (!active || !(mine = open_stream(now()))))
		return 0;
	if (mine->depth++ > 0 || mine->quiet) {
		mine->depth--;
		return 0;
	}
	if (cr_vector_on)
		cr_vector_enter(function);
	if (!active)
		return 1;
	uint64_t f = function;
	mine->stamp = now();
	put(mine, mine->stamp, EV_ENTER, 1, &f);
	return 1;
}

HIDDEN int cr_outermost(void) { return mine && mine->depth == 0 && !mine->quiet; }

HIDDEN void cr_returned(void) { mine->stamp = now(); }

HIDDEN void cr_leave(unsigned function)
{
	uint64_t f = function;
	if (atomic_load_explicit(&cr.active, memory_order_relaxed))
		put(mine, mine->stamp, EV_LEAVE, 1, &f);
	mine->depth--;
	if (cr_vector_on)
		cr_vector_leave();
}

/* cr_event writes an event of the call in hand, at the time of its enter or, after cr_returned, of its leave. */
HIDDEN void cr_event(int kind, int n, const uint64_t *args)
{
	if (atomic_load_explicit(&cr.active, memory_order_relaxed))
		put(mine, mine->stamp, kind, n, args);
}

/* Names of the regions that this thread is in, 0 for those left out. Regions beyond REGIONS are left out too. */
#define REGIONS 1024
static _Thread_local uint32_t regions[REGIONS];
static _Thread_local unsigned region_depth;

HIDDEN int cr_recording(void) { return atomic_load_explicit(&cr.active, memory_order_relaxed); }

HIDDEN void cr_region_begin(uint64_t name)
{
	int use = name && region_depth < REGIONS && cr_recording() && (mine || (mine = open_stream(now()))) && !mine->depth && !mine->quiet;
	if (region_depth < REGIONS)
		regions[region_depth] = use ? (uint32_t)name : 0;
	region_depth++;
	if (use)
		put(mine, now(), EV_REGION_ENTER, 1, &name);
}

HIDDEN void cr_region_end(void)
{
	if (!region_depth || --region_depth >= REGIONS || !regions[region_depth] || !cr_recording())
		return;
	uint64_t name = regions[region_depth];
	put(mine, now(), EV_REGION_LEAVE, 1, &name);
}

HIDDEN void cr_define(int kind, const void *body, size_t bytes)
{
	uint8_t head[5] = {(uint8_t)kind};
	uint32_t n = (uint32_t)bytes;
	memcpy(head + 1, &n, 4);
	pthread_mutex_lock(&cr.lock);
	if (cr.def >= 0 && (write(cr.def, head, 5) != 5 || write(cr.def, body, bytes) != (ssize_t)bytes))
		complain("definitions cannot be written");
	pthread_mutex_unlock(&cr.lock);
}

__attribute__((constructor)) static void loaded(void) { cr.begin = now(); }

static uint64_t budget(void)
{
	const char *b = getenv("COPPICE_RECORD_BYTES");
	uint64_t n = b ? strtoull(b, NULL, 10) : 0;
	return n ? n : UINT64_MAX;
}

static void define_process(void)
{
	char text[4096] = "", boot[64] = "", host[256] = "", command[2048] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t n = read(fd, boot, sizeof boot - 1);
		boot[n > 0 ? strcspn(boot, "\n") : 0] = 0;
		close(fd);
	}
	gethostname(host, sizeof host - 1);
	fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t n = read(fd, command, sizeof command - 1);
		for (ssize_t i = 0; i + 1 < n; i++)
			if (!command[i])
				command[i] = ' ';
		close(fd);
	}
	struct timespec wall;
	clock_gettime(CLOCK_REALTIME, &wall);
	uint64_t real = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
	int n = snprintf(text, sizeof text, "rank=%d\nsize=%d\npid=%ld\nbegin=%llu\nnow=%llu\nreal=%llu\nhost=%s\nboot=%s\ncommand=%s\n", cr.rank,
		cr.size, (long)getpid(), (unsigned long long)cr.begin, (unsigned long long)now(), (unsigned long long)real, host, boot, command);
	cr_define(DEF_PROCESS, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* A child that the program forks records nothing: the files are its parent's. */
static void forked(void) { atomic_store(&cr.active, 0); }

/* cr_start begins the recording once MPI is there. The event stream begins when the library was loaded. */
HIDDEN void cr_start(uint64_t entered, unsigned function)
{
	static atomic_int begun; /* Fortran's initialisation may call that of C, whose wrapper comes first */
	const char *folder = getenv("COPPICE_RECORD_DIR");
	if (atomic_exchange(&begun, 1) || !folder || !*folder || strlen(folder) >= sizeof cr.folder)
		return;
	strcpy(cr.folder, folder);
	PMPI_Comm_rank(MPI_COMM_WORLD, &cr.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &cr.size);
	cr.budget = budget();
	char name[sizeof cr.folder + 64];
	const char *vectors = getenv("COPPICE_RECORD_VECTORS");
	if (vectors && snprintf(name, sizeof name, "%s/%d.vec", vectors, cr.rank) < (int)sizeof name && !cr_vector_open(name, cr_functions))
		complain(name);
	snprintf(name, sizeof name, "%s/%d.def", folder, cr.rank);
	cr.def = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (cr.def < 0) {
		complain(name);
		return;
	}
	define_process();
	if (!(mine = open_stream(cr.begin)))
		return;
	if (pthread_create(&cr.helper, NULL, help, NULL) != 0) {
		complain("no thread for the recording");
		return;
	}
	uint64_t f = function, none = 0;
	put(mine, cr.begin, EV_REGION_ENTER, 1, &none); /* name 0 is the program */
	put(mine, entered, EV_ENTER, 1, &f);
	mine->stamp = entered;
	mine->depth = 1;
	pthread_atfork(NULL, NULL, forked);
	atomic_store(&cr.active, 1);
	if (cr.rank == 0)
		cr_define(DEF_FUNCTIONS, cr_functions, strlen(cr_functions));
	cr_comm_start();
	cr_clock();
	cr_returned();
	cr_leave(function);
}

HIDDEN uint64_t cr_thread(void) { return mine->thread; }

HIDDEN void cr_quiet(int on)
{
	if (mine)
		mine->quiet = on;
}

/*
 * end_stream closes the last window of a stream and adds the stream to the sums of the end. Other threads may be about to
 * write: their windows stay mapped and in their files, where nobody reads what comes behind the length.
 */
static void end_stream(struct stream *s, uint64_t *end)
{
	uint8_t *full = atomic_load(&s->full), *next = atomic_load(&s->next);
	struct head *h = (struct head *)s->window;
	size_t used = (size_t)(atomic_load(&s->at) - s->window);
	off_t start = (off_t)(h->sequence * WINDOW);
	if (full)
		close_window(full, s->closed);
	seal(s->window, used);
	if (next && !failed(next))
		munmap(next, WINDOW);
	if (s == mine)
		munmap(s->window, WINDOW);
	if (ftruncate(s->fd, start + (off_t)(s == mine ? used : WINDOW)) != 0)
		complain("the end of the event file");
	close(s->fd);
	end[1] += s->events;
	end[2] += s->stalled;
	end[3]++;
	if (s->last > end[4])
		end[4] = s->last;
}

/* cr_stop ends the recording of this process: windows get their checksums, files their true length. */
HIDDEN void cr_stop(int reason)
{
	if (!atomic_exchange(&cr.active, 0))
		return;
	if (mine && reason != END_BUDGET && reason != END_DISK && mine->at < mine->end) {
		uint64_t none = 0;
		while (region_depth > 0 && mine->at < mine->end)
			if (--region_depth < REGIONS && regions[region_depth]) {
				uint64_t name = regions[region_depth];
				put(mine, now(), EV_REGION_LEAVE, 1, &name);
			}
		put(mine, now(), EV_REGION_LEAVE, 1, &none);
	}
	pthread_mutex_lock(&cr.lock);
	cr.leaving = 1;
	pthread_cond_signal(&cr.work);
	pthread_mutex_unlock(&cr.lock);
	if (!pthread_equal(pthread_self(), cr.helper))
		pthread_join(cr.helper, NULL);
	uint64_t end[5] = {(uint64_t)reason};
	pthread_mutex_lock(&cr.lock); /* no thread turns to another window now */
	cr.stopped = 1;
	for (struct stream *s = atomic_load(&cr.streams); s; s = s->following)
		end_stream(s, end);
	pthread_mutex_unlock(&cr.lock);
	cr_define(DEF_END, end, sizeof end);
	close(cr.def);
	cr.def = -1;
}

__attribute__((destructor)) static void unloaded(void) { cr_stop(END_EXIT); }
