#define _GNU_SOURCE
#include "log.h"

#include "crc.h"
#include "fortran.h"
#include "held.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (1u << 20)
#define HEAD 32
#define HASHES 65536
#define SHORTEST 64 /* bytes of the shortest payload that is stored only once */
#define END_ROOM 128

HIDDEN int lg_on, lg_times;
HIDDEN uint64_t lg_unseen;

enum { REC_HEADER = 1, REC_CALL, REC_REPEAT, REC_END };

struct bytes {
	uint8_t *p;
	size_t n, room;
};

/* A payload of the current record, and one that is in the file. */
struct fresh {
	uint64_t hash[2];
	size_t at, n;
};
struct known {
	uint64_t hash[2], offset, n;
};

static struct {
	struct held file;
	int lost;
	pthread_mutex_t lock;
	pthread_t owner;
	uint8_t *block;
	size_t used; /* of the block, head included */
	uint64_t sequence, budget;
	uint64_t calls, before; /* calls so far; calls before this block */
	uint64_t repeats, payload, again;
	struct bytes now, last;
	struct fresh *fresh;
	size_t fresh_n, fresh_room;
	struct known *known;
} lg = {.file.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static void complain(const char *what)
{
	fprintf(stderr, "coppice record: receive log: %s: %s; the log ends here, the program goes on\n", what, strerror(errno));
}

/* close_log closes the file; the current block is lost. */
static void close_log(void)
{
	lg_on = lg_times = 0;
	cr_release(&lg.file);
}

/* flush writes the current block as it is and keeps it open. */
static void flush(void)
{
	struct {
		char magic[8];
		uint32_t length, crc;
		uint64_t sequence, calls;
	} h = {"CPRLOG1", (uint32_t)(lg.used - HEAD), 0, lg.sequence, lg.before};
	memcpy(lg.block, &h, HEAD);
	h.crc = crc32c(lg.block + 16, lg.used - 16);
	memcpy(lg.block + 12, &h.crc, 4);
	size_t done = 0;
	while (done < lg.used) {
		ssize_t n = pwrite(cr_held(&lg.file), lg.block + done, lg.used - done, (off_t)(lg.sequence * BLOCK + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			complain("a block cannot be written");
			if (ftruncate(cr_held(&lg.file), (off_t)(lg.sequence * BLOCK)) != 0)
				complain("the file cannot be cut");
			close_log();
			return;
		}
		done += (size_t)n;
	}
}

static void write_block(void)
{
	flush();
	lg.sequence++;
	lg.used = HEAD;
	lg.before = lg.calls;
}

static void stream(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	while (n && lg.file.fd >= 0) {
		size_t part = n < BLOCK - lg.used ? n : BLOCK - lg.used;
		memcpy(lg.block + lg.used, p, part);
		lg.used += part;
		p += part;
		n -= part;
		if (lg.used == BLOCK)
			write_block();
	}
}

static uint64_t offset(void) { return lg.sequence * (BLOCK - HEAD) + lg.used - HEAD; }

static size_t varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;
	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)v | 0x80;
	p[n++] = (uint8_t)v;
	return n;
}

static void record(int kind, const uint8_t *body, size_t n)
{
	uint8_t head[16] = {(uint8_t)kind};
	size_t h = 1 + varint(head + 1, n);
	stream(head, h);
	stream(body, n);
}

/* The current record. */

HIDDEN void lg_lost(void) { lg.lost = 1; }

HIDDEN uint8_t *lg_room(size_t n)
{
	if (lg.now.room - lg.now.n < n) {
		size_t room = 2 * lg.now.room + n + 4096;
		uint8_t *p = realloc(lg.now.p, room);
		if (!p) {
			lg.lost = 1;
			return NULL;
		}
		lg.now.p = p;
		lg.now.room = room;
	}
	return lg.now.p + lg.now.n;
}

HIDDEN void lg_put(const void *bytes, size_t n)
{
	uint8_t *p = lg_room(n);
	if (p && n) {
		memcpy(p, bytes, n);
		lg.now.n += n;
	}
}

HIDDEN void lg_varint(uint64_t v)
{
	uint8_t *p = lg_room(10);
	if (p)
		lg.now.n += varint(p, v);
}

static uint64_t rotate(uint64_t v, int n) { return v << n | v >> (64 - n); }

static uint64_t finish(uint64_t h)
{
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
	return h ^ h >> 33;
}

/* digest is a hash of 128 bits: two sums of 64 bits that mix each other, as in MurmurHash3 (Appleby). */
static void digest(const uint8_t *p, size_t n, uint64_t out[2])
{
	uint64_t a = n, b = n ^ 0x9E3779B97F4A7C15u, word[2];
	for (; n; n -= n < 16 ? n : 16, p += 16) {
		word[0] = word[1] = 0;
		memcpy(word, p, n < 16 ? n : 16);
		a = (rotate(a ^ rotate(word[0] * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu, 27) + b) * 5 + 0x52dce729u;
		b = (rotate(b ^ rotate(word[1] * 0x4cf5ad432745937fu, 33) * 0x87c37b91114253d5u, 31) + a) * 5 + 0x38495ab5u;
	}
	a += b;
	b += a;
	out[0] = finish(a);
	out[1] = finish(b) + out[0];
}

/* lg_payload ends the record with a payload of n bytes. The caller has put the payload 11 bytes after the end of the record; the gap
 * gets the length and a 0. If the file has the same payload already, the record gets its length and place instead. */
HIDDEN void lg_payload(size_t n)
{
	uint8_t *start = lg.now.p + lg.now.n; /* 11 unused bytes, then the payload */
	uint64_t hash[2];
	lg.payload += n;
	if (n >= SHORTEST) {
		digest(start + 11, n, hash);
		struct known *k = &lg.known[hash[0] % HASHES];
		if (k->n == n && k->hash[0] == hash[0] && k->hash[1] == hash[1]) {
			lg.again += n;
			lg_varint(n);
			lg_varint(k->offset);
			return;
		}
	}
	uint8_t head[11];
	size_t h = varint(head, n);
	head[h++] = 0;
	memcpy(start, head, h);
	memmove(start + h, start + 11, n);
	if (n >= SHORTEST && lg.fresh_n == lg.fresh_room) {
		struct fresh *f = realloc(lg.fresh, (2 * lg.fresh_room + 64) * sizeof *f);
		if (f) {
			lg.fresh = f;
			lg.fresh_room = 2 * lg.fresh_room + 64;
		}
	}
	if (n >= SHORTEST && lg.fresh_n < lg.fresh_room) /* without memory a repetition is stored again */
		lg.fresh[lg.fresh_n++] = (struct fresh){{hash[0], hash[1]}, lg.now.n + h, n};
	lg.now.n += h + n;
}

static void repeats(void)
{
	uint8_t b[10];
	if (!lg.repeats)
		return;
	uint64_t n = lg.repeats;
	lg.repeats = 0;
	record(REC_REPEAT, b, varint(b, n));
}

/* finish_log writes the end of the log. The lock is held. */
static void finish_log(int reason)
{
	if (lg.file.fd < 0)
		return;
	repeats();
	lg.now.n = 0;
	lg.lost = 0;
	uint64_t end[5] = {(uint64_t)reason, lg.calls, lg.payload, lg.again, lg_unseen};
	uint8_t b[50];
	size_t n = 0;
	for (int i = 0; i < 5; i++)
		n += varint(b + n, end[i]);
	record(REC_END, b, n);
	if (lg.file.fd >= 0 && lg.used > HEAD)
		write_block();
	close_log();
}

HIDDEN void lg_stop(int reason)
{
	if (!lg_on)
		return;
	pthread_mutex_lock(&lg.lock);
	finish_log(reason);
	pthread_mutex_unlock(&lg.lock);
}

HIDDEN void lg_second_thread(void)
{
	if (!lg_on)
		return;
	fprintf(stderr, "coppice record: receive log: a second thread calls MPI, which no replay follows; the log ends here, the program goes on\n");
	lg_stop(LG_THREADS);
}

HIDDEN int lg_call(unsigned function, int code)
{
	if (!pthread_equal(pthread_self(), lg.owner)) {
		lg_second_thread();
		return 0;
	}
	pthread_mutex_lock(&lg.lock);
	if (lg.file.fd < 0) {
		pthread_mutex_unlock(&lg.lock);
		return 0;
	}
	lg.now.n = lg.fresh_n = 0;
	lg_varint(function);
	lg_varint(lg_zigzag(code));
	return 1;
}

HIDDEN void lg_end(void)
{
	if (lg.lost || lg.sequence * BLOCK + lg.used + lg.now.n + lg.now.n / 1024 + END_ROOM > lg.budget) {
		if (lg.lost)
			fprintf(stderr, "coppice record: receive log: no memory; the log ends here, the program goes on\n");
		finish_log(lg.lost ? LG_MEMORY : LG_BUDGET);
	} else if (lg.now.n == lg.last.n && memcmp(lg.now.p, lg.last.p, lg.now.n) == 0) {
		lg.calls++;
		lg.repeats++;
	} else {
		repeats();
		lg.calls++;
		uint8_t head[10];
		uint64_t base = offset() + 1 + varint(head, lg.now.n);
		record(REC_CALL, lg.now.p, lg.now.n);
		for (size_t i = 0; i < lg.fresh_n; i++) {
			struct fresh *f = &lg.fresh[i];
			lg.known[f->hash[0] % HASHES] = (struct known){{f->hash[0], f->hash[1]}, base + f->at, f->n};
		}
		struct bytes b = lg.last;
		lg.last = lg.now;
		lg.now = b;
	}
	pthread_mutex_unlock(&lg.lock);
}

HIDDEN void lg_checks(int mask, const int64_t *values)
{
	uint8_t m = (uint8_t)mask;
	lg_put(&m, 1);
	for (int bit = 1; bit <= LG_REQUEST; bit <<= 1)
		if (mask & bit) {
			lg_varint(bit & (LG_BYTES | LG_COMM | LG_REQUEST) ? (uint64_t)*values : lg_zigzag(*values));
			values++;
		}
}

/* lg_open makes the file. The caller builds the header as current record; lg_opened writes it. */
HIDDEN int lg_open(const char *name, uint64_t budget, int times)
{
	lg.budget = budget;
	lg.block = malloc(BLOCK);
	lg.known = calloc(HASHES, sizeof *lg.known);
	if (!lg.block || !lg.known || cr_hold(&lg.file, name, O_WRONLY | O_CREAT | O_TRUNC) < 0) {
		complain(name);
		close_log();
		return 0;
	}
	lg.used = HEAD;
	lg.owner = pthread_self();
	lg_times = times;
	return 1;
}

HIDDEN void lg_opened(void)
{
	record(REC_HEADER, lg.now.p, lg.now.n);
	if (lg.file.fd >= 0 && lg.used > HEAD)
		flush(); /* to identify the process even if it is killed */
	lg_on = lg.file.fd >= 0;
}

__attribute__((destructor)) static void unloaded(void) { lg_stop(LG_EXIT); }
