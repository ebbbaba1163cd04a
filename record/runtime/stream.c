#define _GNU_SOURCE
#include "stream.h"
#include "threads.h"

#include "crc.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Event files: how windows are made, filled, changed and closed. */

#define WINDOW (1u << 20)
#define PAGE 4096 /* bytes of the smallest page */
#define HEAD 48  /* bytes of a window's head */
#define ROOM 128 /* more than the bytes of any event */
#define GRANT (64 << 10) /* bytes of the archive that a stream takes at once */
#define THREAD_BYTES (9 << 10) /* bytes of a further thread in the archive without events: a location, two files */

/* Head of a window. length and crc are 0 until it is closed. */
struct head {
	char magic[8];
	uint32_t length, crc;
	uint64_t sequence, first, thread, zero;
};

HIDDEN _Thread_local struct stream *cr_mine;
HIDDEN _Thread_local int cr_inside;

/* new_window allocates the next window in the file and maps it. It returns NULL with errno set if it cannot. */
static uint8_t *new_window(struct stream *s)
{
	off_t off = (off_t)(s->sequence * WINDOW);
	struct rlimit most; /* writing beyond it ends the program */
	int fd = cr_held(&s->file), rc = fd < 0 ? errno : getrlimit(RLIMIT_FSIZE, &most) == 0 && (rlim_t)off + WINDOW > most.rlim_cur ? EFBIG : 0;
	/* If the disk were full, a store to the mapping would end the program: allocate first. */
	if (rc == 0)
		rc = posix_fallocate(fd, off, WINDOW);
	if (rc != 0) {
		errno = rc;
		return NULL;
	}
	uint8_t *w = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
	if (w == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < WINDOW; i += PAGE) /* write to each page, so that the program does not have the page faults */
		((volatile uint8_t *)w)[i] = 0;
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

/* drop_oldest drops the oldest full window of all streams: it counts the messages in it and makes a hole in the file. */
static int drop_oldest(void)
{
	struct stream *oldest = NULL;
	struct head h;
	uint64_t first = 0;
	static uint8_t w[WINDOW];
	for (struct stream *s = atomic_load(&cr.streams); s; s = s->following) /* the last two may be in use */
		if (s->dropped + 3 <= s->sequence && pread(cr_held(&s->file), &h, sizeof h, (off_t)(s->dropped * WINDOW)) == sizeof h && h.length && (!oldest || h.first < first)) {
			oldest = s;
			first = h.first;
		}
	if (!oldest)
		return 0;
	off_t at = (off_t)(oldest->dropped * WINDOW);
	cr_part_dropping(1);
	int fd = cr_held(&oldest->file);
	if (pread(fd, w, WINDOW, at) != WINDOW || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, WINDOW) != 0) {
		cr.keep = 0; /* keep everything from now on */
		return 0;
	}
	memcpy(&h, w, sizeof h);
	cr_part_dropped(w + HEAD, w + (h.length < WINDOW ? h.length : HEAD));
	cr_part_dropping(0);
	oldest->dropped++;
	return 1;
}

/* keep_latest drops windows until there are less than cr.keep. */
static void keep_latest(void)
{
	uint64_t n = 1;
	while (cr.keep && n) {
		n = 0;
		for (struct stream *s = atomic_load(&cr.streams); s; s = s->following)
			n += s->sequence - s->dropped;
		n = n >= cr.keep && drop_oldest();
	}
}

/* look_for_hang leaves a note if a thread is in an MPI call, or all threads wait, and no call has returned for cr.hang ns. The windows
 * are written to disk first. */
static void look_for_hang(void)
{
	static uint64_t told;
	char name[sizeof cr.folder + 64];
	uint64_t newest = 0;
	int in = 0, waits = 0, computes = 0;
	for (struct stream *s = atomic_load(&cr.streams); s; s = s->following) {
		int waiting = atomic_load(&s->waits);
		newest = s->stamp > newest ? s->stamp : newest;
		newest = waiting && s->wait_begin > newest ? s->wait_begin : newest;
		in |= s->depth > 0 && !s->frame;
		waits |= waiting;
		computes |= !waiting && !s->ended && !atomic_load(&s->waiting) && s->depth == 0;
	}
	if ((!in && (!waits || computes)) || newest == told || now() - newest < cr.hang)
		return;
	told = newest;
	for (struct stream *s = atomic_load(&cr.streams); s; s = s->following)
		msync(s->window, WINDOW, MS_SYNC);
	snprintf(name, sizeof name, "%s/%d.hang", cr.folder, cr.rank);
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
}

/* cr_help is the helper thread. It prepares a next window for every stream and closes full ones. */
HIDDEN void *cr_help(void *unused)
{
	(void)unused;
	cr_inside = 1;
	pthread_mutex_lock(&cr.lock);
	while (!cr.leaving) {
		pthread_mutex_unlock(&cr.lock);
		int busy = 0;
		cr_samples_define();
		if (cr_threads() > 1)
			cr_write_waits();
		if (cr.hang)
			look_for_hang();
		for (struct stream *s = atomic_load(&cr.streams); s; s = s->following) {
			uint8_t *full = atomic_load(&s->full);
			if (full) {
				close_window(full, s->closed);
				atomic_store(&s->full, NULL);
				busy = 1;
			}
			if (!atomic_load(&s->next)) {
				keep_latest();
				uint8_t *w = new_window(s);
				atomic_store(&s->next, w ? w : (uint8_t *)(intptr_t)-errno);
				busy = 1;
			}
		}
		pthread_mutex_lock(&cr.lock);
		if (!busy && !cr.leaving && (cr_sampling() || cr.hang || cr_threads() > 1)) {
			struct timespec until;
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_sec++;
			pthread_cond_timedwait(&cr.work, &cr.lock, &until);
		} else if (!busy && !cr.leaving)
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
	memset(s->counted, 0, sizeof s->counted);
}

HIDDEN int cr_take(int64_t bytes)
{
	int64_t left = atomic_load(&cr.left);
	while (left >= bytes)
		if (atomic_compare_exchange_weak(&cr.left, &left, left - bytes))
			return 1;
	return 0;
}

/* more takes bytes of the archive for a stream. */
static int more(struct stream *s)
{
	for (int64_t n = GRANT; n >= EVENT; n /= 2)
		if (cr_take(n)) {
			s->room += n;
			return 1;
		}
	return 0;
}

/* give_up ends the recording of this process, and writes a last event that says why. */
static int give_up(struct stream *s, int reason)
{
	uint64_t r = (uint64_t)reason;
	s->end += ROOM / 2;
	s->room += EVENT;
	put(s, s->last, EV_STOPPED, 1, &r);
	cr_stop(reason);
	return 0;
}

/* cr_turn makes room for an event. If there is no room in the archive or no window, the recording of this process ends. */
HIDDEN int cr_turn(struct stream *s)
{
	uint8_t *w;
	uint64_t since = 0;
	if (!atomic_load(&cr.active))
		return 0;
	if (s->room < EVENT && !more(s))
		return give_up(s, END_BUDGET);
	if (s->at < s->end)
		return 1;
	while (!(w = atomic_load(&s->next)) || atomic_load(&s->full)) {
		if (!atomic_load(&cr.active)) /* another thread has ended the recording */
			return 0;
		if (!since)
			since = now();
		wake();
		sched_yield();
	}
	if (since)
		s->stalled += now() - since;
	if (failed(w)) {
		int why = errno = (int)-(intptr_t)w;
		cr_complain("no more room for events");
		return give_up(s, why == ENOMEM ? END_MEMORY : END_DISK);
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
	if (!stopped && cr.keep)
		cr_state(s);
	return !stopped;
}

HIDDEN int cr_free(struct stream *s)
{
	uint8_t *next = atomic_load(&s->next);
	if (s->at < s->end && s->room >= EVENT)
		return 1;
	if (s->at >= s->end && (!next || failed(next) || atomic_load(&s->full)) || atomic_load(&cr.left) < GRANT)
		return 0;
	if (pthread_mutex_trylock(&cr.lock) != 0) /* this thread may hold it */
		return 0;
	pthread_mutex_unlock(&cr.lock);
	return 1;
}

static struct stream *open_stream(uint64_t first)
{
	char name[sizeof cr.folder + 64];
	struct stream *s = calloc(1, sizeof *s);
	if (!s) {
		cr_no_memory();
		return NULL;
	}
	s->thread = atomic_fetch_add(&cr.threads, 1);
	if (s->thread == 0)
		snprintf(name, sizeof name, "%s/%d.evt", cr.folder, cr.rank);
	else
		snprintf(name, sizeof name, "%s/%d.%u.evt", cr.folder, cr.rank, s->thread);
	s->tid = (int)syscall(SYS_gettid);
	s->last = first;
	uint8_t *w = cr_hold(&s->file, name, O_RDWR | O_CREAT | O_TRUNC) < 0 ? NULL : new_window(s);
	if (!w) {
		cr_complain(name);
		cr_stop(END_DISK);
		free(s);
		return NULL;
	}
	if (s->thread > 0 && !cr_take(THREAD_BYTES)) {
		munmap(w, WINDOW);
		cr_release(&s->file);
		cr_stop(END_BUDGET);
		free(s);
		return NULL;
	}
	enter_window(s, w);
	cr_part_stream(s);
	cr_unwind_thread();
	cr_signals_thread();
	s->counters = cr.counters && pthread_equal(pthread_self(), cr.first) ? cr.counters : cr_counters_open();
	if (cr.counters_n && !s->counters)
		cr_uncounted();
	struct stream *head = atomic_load(&cr.streams);
	do
		s->following = head;
	while (!atomic_compare_exchange_weak(&cr.streams, &head, s));
	return s;
}

HIDDEN void cr_begin_stream(struct stream *s, uint64_t first)
{
	s->last = first;
	((struct head *)s->window)->first = first;
}

HIDDEN struct stream *cr_open_stream(uint64_t first)
{
	struct own own = cr_own_begin();
	struct stream *s = open_stream(first);
	cr_own_end(own);
	return s;
}

/*
 * cr_end_stream closes the last window of a stream and adds the stream's numbers to end. Other threads may still write to their windows, so
 * these stay mapped; readers ignore what comes after the length.
 */
HIDDEN void cr_end_stream(struct stream *s, uint64_t *end)
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
	if (s == cr_mine) {
		munmap(s->window, WINDOW);
		s->room = 0; /* nothing is written any more */
	}
	if (ftruncate(cr_held(&s->file), start + (off_t)(s == cr_mine ? used : WINDOW)) != 0)
		cr_complain("the end of the event file");
	cr_release(&s->file);
	end[1] += s->events;
	end[2] += s->stalled;
	end[3]++;
	if (s->last > end[4])
		end[4] = s->last;
}
