#define _GNU_SOURCE
#include "stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The part of a run that is recorded: between two instants, or nothing of a process. Outside of it, calls update requests and communicators
 * but no events are written.
 *
 * The reader matches messages by their order. So a process counts the sends, receives and collectives before its part, or those in windows
 * that are dropped when only the latest are kept. The counts are in a table that is mapped from a file, R.left, so they survive if the
 * process is killed. trace/recording ignores events whose other side is outside of a part.
 */

enum { BEFORE, WITHIN, AFTER };
#define NEVER UINT64_MAX

/* An instant: ns since the end of MPI_Init, or the n-th time that a region or a level of MPI_Pcontrol occurs. */
struct instant {
	enum { NONE, TIME, REGION, LEVEL } kind;
	uint64_t n, count, name;
	int level;
	const char *region;
};
static struct instant from, until;
static _Atomic(uint64_t) opens = NEVER, closes = NEVER; /* times of the instants, NEVER until they are known */
static uint64_t start; /* when MPI_Init ended */

/* The table of counts. A key is a kind, a tag, the local number of a communicator, and the other process. */
enum { SENT = 1, RECEIVED, COLLECTIVE };
#define SLOTS (1u << 16)
struct counted {
	uint32_t kind, tag;
	uint64_t comm, peer, count;
};
static struct {
	uint32_t lost, dropping; /* lost: it was full; dropping: events of a window are being counted */
	uint64_t used, zero[2];
	struct counted slots[SLOTS];
} *table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count_one(uint32_t kind, uint64_t peer, uint64_t comm, uint32_t tag)
{
	uint64_t h = ((peer * 0x9E3779B97F4A7C15u ^ comm) * 0xff51afd7ed558ccdu ^ tag) * 0x9E3779B97F4A7C15u ^ kind;
	if (!table)
		return;
	pthread_mutex_lock(&lock);
	for (uint32_t i = (uint32_t)(h >> 32) % SLOTS;; i = (i + 1) % SLOTS) {
		struct counted *c = &table->slots[i];
		if (!c->kind && table->used >= SLOTS / 4 * 3) {
			table->lost = 1;
			break;
		}
		if (!c->kind) {
			c->tag = tag;
			c->comm = comm;
			c->peer = peer;
			c->kind = kind;
			table->used++;
		}
		if (c->kind == kind && c->tag == tag && c->comm == comm && c->peer == peer) {
			c->count++;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

static void count_event(int kind, const uint64_t *a)
{
	switch (kind) {
	case EV_SEND:
	case EV_ISEND:
		count_one(SENT, a[0], a[1], (uint32_t)a[2]);
		break;
	case EV_RECV:
	case EV_IRECV:
		count_one(RECEIVED, a[0], a[1], (uint32_t)a[2]);
		break;
	case EV_COLL_END:
	case EV_NBC_END:
		count_one(COLLECTIVE, 0, a[1], 0);
	}
}

HIDDEN void cr_part_dropping(int on) { table->dropping = (uint32_t)on; }

/* How many numbers follow the time of each kind of event. */
static const uint8_t numbers[] = {
	[EV_ENTER] = 1, [EV_LEAVE] = 1, [EV_SEND] = 4, [EV_ISEND] = 5, [EV_ISEND_DONE] = 1, [EV_RECV] = 4, [EV_IRECV_REQ] = 1, [EV_IRECV] = 5,
	[EV_CANCELLED] = 1, [EV_COLL_END] = 5, [EV_NBC_REQ] = 1, [EV_NBC_END] = 6, [EV_REGION_ENTER] = 1, [EV_REGION_LEAVE] = 1, [EV_PCONTROL] = 2,
	[EV_STOPPED] = 1, [EV_METRIC] = 1, [EV_RMA] = 6, [EV_FILE] = 5, [EV_SAMPLE] = 1, [EV_THREAD] = 3, [EV_PART] = 1,
};

HIDDEN void cr_part_dropped(const uint8_t *p, const uint8_t *end)
{
	while (p < end && *p != EV_END && *p < sizeof numbers) {
		uint64_t a[1 + 1 + COUNTERS] = {0};
		int kind = *p++, n = 1 + numbers[kind];
		for (int i = 0; i < n && p < end; i++) {
			for (int shift = 0; p < end; shift += 7) {
				a[i] |= (uint64_t)(*p & 0x7f) << shift;
				if (!(*p++ & 0x80) || shift > 56)
					break;
			}
			if (kind == EV_METRIC && i == 1)
				n += a[1] < COUNTERS ? (int)a[1] : COUNTERS;
		}
		count_event(kind, a + 1);
	}
}

HIDDEN void cr_left_out(struct stream *s, uint64_t t, int kind, int n, const uint64_t *a)
{
	if (s->part == BEFORE)
		count_event(kind, a);
	/* Completions of requests from within the part are recorded after it: they give the order in which its messages were received. */
	if (s->part == AFTER && (kind == EV_IRECV || kind == EV_NBC_END) && a[n - 1] <= s->requests) {
		s->off = 0;
		put(s, t, kind, n, a);
		s->off = 1;
	}
}

/* told writes DEF_PART with ns since the end of MPI_Init. */
static void told(uint64_t what, uint64_t t)
{
	uint64_t body[2] = {what, t - start};
	cr_define(DEF_PART, body, sizeof body);
}

/* cr_part begins or ends the part for this thread, which is not in a call. t is the current time; the thread has written nothing since. */
HIDDEN void cr_part(struct stream *s, uint64_t t)
{
	uint64_t on = 1, begin = atomic_load(&opens), end = atomic_load(&closes);
	if (!atomic_load(&cr.active))
		return;
	if (s->part == BEFORE && t >= begin) {
		s->part = WITHIN;
		s->off = 0;
		uint64_t at = begin > s->stamp ? begin : s->stamp;
		if (at < s->last) /* the thread began later */
			at = s->last;
		cr_begin_stream(s, at);
		put(s, at, EV_PART, 1, &on);
		if (s->thread == 0) {
			told(PART_BEGINS, at);
			cr_usage(1);
		}
		cr_reopen(s, at);
	}
	if (s->part == WITHIN && t >= end) {
		t = end > s->last ? end : s->last;
		cr_reclose(s, t);
		on = 0;
		put(s, t, EV_PART, 1, &on);
		s->requests = cr_requests_newest();
		s->part = AFTER;
		s->off = 1;
		if (s->thread == 0) {
			told(PART_ENDS, t);
			cr_usage(0);
		}
	}
}

HIDDEN int cr_part_over(uint64_t t) { return t >= atomic_load(&closes); }

/* happens counts an occurrence and returns whether it is the instant. Only those on the first thread count. */
static int happens(struct instant *i, uint64_t name, int level)
{
	int is = i->kind == REGION ? name && name == i->name : i->kind == LEVEL && !name && level == i->level;
	return is && cr_mine && cr_mine->thread == 0 && ++i->count == i->n;
}

HIDDEN void cr_part_begins(uint64_t name, int level)
{
	if (happens(&from, name, level))
		atomic_store(&opens, now());
}

HIDDEN void cr_part_ends(uint64_t name, int level)
{
	if (!happens(&until, name, level))
		return;
	atomic_store(&closes, now());
	cr_part(cr_mine, now());
}

HIDDEN void cr_part_named(const char *text, uint64_t number)
{
	for (struct instant *i = &from;; i = &until) {
		if (i->kind == REGION && strncmp(i->region, text, 255) == 0)
			i->name = number;
		if (i == &until)
			break;
	}
}

/* read_instant parses time=NS, level=LEVEL:N or region=N:NAME. */
static void read_instant(const char *variable, struct instant *i)
{
	const char *text = getenv(variable);
	char *rest;
	if (!text)
		return;
	if (strncmp(text, "time=", 5) == 0) {
		i->kind = TIME;
		i->n = strtoull(text + 5, NULL, 10);
	} else if (strncmp(text, "level=", 6) == 0) {
		i->kind = LEVEL;
		i->level = (int)strtol(text + 6, &rest, 10);
		i->n = *rest ? strtoull(rest + 1, NULL, 10) : 1;
	} else if (strncmp(text, "region=", 7) == 0) {
		i->kind = REGION;
		i->n = strtoull(text + 7, &rest, 10);
		i->region = *rest ? rest + 1 : rest;
	}
}

/* wanted returns whether a list such as 0-15,20 has this rank. */
static int wanted(const char *list)
{
	for (char *p = (char *)(uintptr_t)list; p && *p;) {
		long low = strtol(p, &p, 10), high = *p == '-' ? strtol(p + 1, &p, 10) : low;
		if (cr.rank >= low && cr.rank <= high)
			return 1;
		if (*p++ != ',')
			break;
	}
	return !list;
}

HIDDEN int cr_part_open(void)
{
	const char *hang = getenv("COPPICE_RECORD_HANG");
	cr.hang = hang ? strtoull(hang, NULL, 10) : 0;
	read_instant("COPPICE_RECORD_FROM", &from);
	read_instant("COPPICE_RECORD_UNTIL", &until);
	if (!wanted(getenv("COPPICE_RECORD_RANKS"))) {
		uint64_t body[2] = {PART_NOTHING};
		cr_define(DEF_PART, body, sizeof body);
		from = until = (struct instant){0};
		return cr.parted = 1;
	}
	cr.parted = from.kind || until.kind;
	const char *keep = getenv("COPPICE_RECORD_KEEP");
	cr.keep = keep ? strtoull(keep, NULL, 10) >> 20 : 0;
	if (!from.kind)
		atomic_store(&opens, 0);
	if (!from.kind && !cr.keep)
		return 1;
	char name[sizeof cr.folder + 64];
	snprintf(name, sizeof name, "%s/%d.left", cr.folder, cr.rank);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int holes = fd >= 0 && (!cr.keep || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20) == 0);
	if (fd >= 0 && holes && posix_fallocate(fd, 0, sizeof *table) == 0)
		table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (table && table != MAP_FAILED && holes)
		return 1;
	table = NULL;
	cr_complain(name);
	return 0;
}

HIDDEN void cr_part_starts(uint64_t t)
{
	start = t;
	if (from.kind)
		told(PART_WAITS, t);
	if (cr.keep)
		told(PART_LATEST, t + t);
	if (from.kind == TIME)
		atomic_store(&opens, t + from.n);
	if (until.kind == TIME)
		atomic_store(&closes, t + until.n);
}

HIDDEN void cr_part_stream(struct stream *s)
{
	s->part = !cr.parted || atomic_load(&opens) == 0 ? WITHIN : s->last >= atomic_load(&closes) ? AFTER : BEFORE;
	s->off = s->part != WITHIN;
}
