#define _GNU_SOURCE
#include "replayer.h"

#include "crc.h"
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
#include <unistd.h>

#define BLOCK (1u << 20)
#define HEAD 32
#define ROOM (BLOCK - HEAD)
#define AHEAD 64 /* blocks that are checked ahead */

static struct {
	const unsigned char *map;
	uint64_t blocks;         /* in the file */
	_Atomic(uint64_t) ready; /* blocks checked and in memory */
	_Atomic(uint64_t) good;  /* most blocks that can be read */
	_Atomic(uint64_t) wanted;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	uint64_t at, end;        /* in the stream: cursor, end of the record */
	uint64_t following, body, calls, repeats;
	const unsigned char *p, *limit; /* the cursor in its block */
	unsigned char *scratch;
	size_t room;
	int wtime;
	unsigned *functions;     /* this library's numbers of the log's functions */
	uint64_t functions_room;
	char *classes;
} lg = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static uint32_t get32(const unsigned char *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return v;
}

static size_t length_of(uint64_t block) { return get32(lg.map + block * BLOCK + 8); }

/* sound checks a block, which also brings it into memory. Only the last one may be short. */
static int sound(uint64_t i, uint64_t file)
{
	const unsigned char *b = lg.map + i * BLOCK;
	uint64_t here = file - i * BLOCK, number;
	size_t n = get32(b + 8);
	memcpy(&number, b + 16, 8);
	return memcmp(b, "CPRLOG1", 8) == 0 && n > 0 && n <= ROOM && HEAD + n <= here && number == i && (n == ROOM || i + 1 == lg.blocks) &&
		crc32c(b + 16, 16 + n) == get32(b + 12);
}

static uint64_t file_size;

/* read_ahead checks the blocks, at most AHEAD before the current one. It avoids the program's processor if there is another. */
static void *read_ahead(void *cpu)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1) {
		CPU_CLR((size_t)(intptr_t)cpu, &set);
		sched_setaffinity(0, sizeof set, &set);
	}
	for (uint64_t i = 0; i < lg.blocks; i++) {
		pthread_mutex_lock(&lg.lock);
		while (i > lg.wanted + AHEAD)
			pthread_cond_wait(&lg.work, &lg.lock);
		pthread_mutex_unlock(&lg.lock);
		int ok = sound(i, file_size);
		pthread_mutex_lock(&lg.lock);
		if (ok)
			lg.ready = i + 1;
		else
			lg.good = lg.blocks = i;
		pthread_cond_broadcast(&lg.done);
		pthread_mutex_unlock(&lg.lock);
	}
	return NULL;
}

/* await waits until a block is checked. It returns 0 if the log ends before it. */
static int await(uint64_t block)
{
	if (block < atomic_load(&lg.ready)) {
		if (block > lg.wanted) {
			pthread_mutex_lock(&lg.lock);
			lg.wanted = block;
			pthread_cond_signal(&lg.work);
			pthread_mutex_unlock(&lg.lock);
		}
		return 1;
	}
	pthread_mutex_lock(&lg.lock);
	if (block > lg.wanted)
		lg.wanted = block;
	pthread_cond_signal(&lg.work);
	while (block >= lg.ready && block < lg.good)
		pthread_cond_wait(&lg.done, &lg.lock);
	int ok = block < lg.ready;
	pthread_mutex_unlock(&lg.lock);
	return ok;
}

/* seek moves the cursor; 0: there is no such block. */
static int seek(uint64_t at)
{
	uint64_t block = at / ROOM, off = at % ROOM;
	lg.at = at;
	lg.p = lg.limit = NULL;
	if (!await(block))
		return 0;
	const unsigned char *b = lg.map + block * BLOCK + HEAD;
	lg.limit = b + length_of(block);
	lg.p = b + off;
	return lg.p < lg.limit;
}

static int byte(void)
{
	if (lg.p >= lg.limit && !seek(lg.at))
		return -1;
	lg.at++;
	return *lg.p++;
}

HIDDEN uint64_t rp_log_v(void)
{
	uint64_t v = 0;
	for (int shift = 0; shift < 70; shift += 7) {
		int b = lg.at < lg.end ? byte() : -1;
		if (b < 0)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	rp_stop(STOP_DAMAGED, "a number at byte %llu of the stream does not end", (unsigned long long)lg.at);
}

HIDDEN int64_t rp_log_z(void)
{
	uint64_t v = rp_log_v();
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

HIDDEN uint64_t rp_log_at(void) { return lg.at; }
HIDDEN int rp_log_more(void) { return lg.at < lg.end; }
HIDDEN uint64_t rp_log_call(void) { return lg.calls - 1; }

HIDDEN void rp_log_skip(uint64_t n)
{
	if (n > lg.end - lg.at)
		rp_stop(STOP_DAMAGED, "%llu bytes at byte %llu of the stream are more than their record", (unsigned long long)n, (unsigned long long)lg.at);
	if (n < (uint64_t)(lg.limit - lg.p)) {
		lg.p += n;
		lg.at += n;
	} else
		seek(lg.at + n);
}

/* rp_log_bytes returns bytes of the stream. It copies them if they lie in several blocks. */
HIDDEN const unsigned char *rp_log_bytes(uint64_t at, uint64_t n)
{
	uint64_t block = at / ROOM, off = at % ROOM;
	if (n > file_size || at > file_size || (n && !await((at + n - 1) / ROOM)))
		rp_stop(STOP_DAMAGED, "%llu bytes at byte %llu of the stream are not there", (unsigned long long)n, (unsigned long long)at);
	if (off + n <= ROOM)
		return lg.map + block * BLOCK + HEAD + off;
	if (n > lg.room) {
		free(lg.scratch);
		lg.room = n + n / 2;
		lg.scratch = malloc(lg.room);
		if (!lg.scratch)
			rp_stop(STOP_BROKEN, "no memory for %llu bytes", (unsigned long long)n);
		memset(lg.scratch, 0, lg.room);
	}
	for (uint64_t done = 0; done < n;) {
		uint64_t k = ROOM - off < n - done ? ROOM - off : n - done;
		memcpy(lg.scratch + done, lg.map + block++ * BLOCK + HEAD + off, k);
		done += k;
		off = 0;
	}
	return lg.scratch;
}

HIDDEN double rp_log_real(void)
{
	double v;
	memcpy(&v, rp_log_bytes(lg.at, 8), 8);
	rp_log_skip(8);
	return v;
}

/* record reads the head of the record at this place and returns its kind, 0 if it is not complete. */
static int record(uint64_t at)
{
	if (!seek(at))
		return 0;
	lg.end = UINT64_MAX;
	int kind = byte();
	uint64_t n = 0;
	for (int shift = 0;; shift += 7) {
		int b = shift < 70 ? byte() : -1;
		if (b < 0)
			return 0;
		n |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			break;
	}
	if (n > file_size || (n && !await((lg.at + n - 1) / ROOM)))
		return 0;
	lg.body = lg.at;
	lg.end = lg.following = lg.at + n;
	return kind;
}

HIDDEN int rp_log_next(void)
{
	static uint64_t body, end; /* of the last call */
	if (!lg.repeats) {
		int kind = record(lg.following);
		if (kind == LOG_REPEAT) {
			lg.repeats = rp_log_v();
			if (!lg.repeats || !body)
				rp_stop(STOP_DAMAGED, "a repetition of nothing at byte %llu of the stream", (unsigned long long)lg.at);
		} else {
			if (kind == LOG_CALL) {
				lg.calls++;
				body = lg.body;
				end = lg.end;
			} else if (kind != LOG_END && kind != 0)
				rp_stop(STOP_DAMAGED, "a record of unknown kind %d at byte %llu of the stream", kind, (unsigned long long)lg.at);
			return kind;
		}
	}
	lg.repeats--;
	lg.calls++;
	seek(body);
	lg.end = end;
	return LOG_CALL;
}

/* text reads a text of the header into t. It cuts a longer one. */
static void text(char *t, size_t size)
{
	uint64_t n = rp_log_v(), at = lg.at;
	rp_log_skip(n);
	uint64_t k = n < size - 1 ? n : size - 1;
	memcpy(t, rp_log_bytes(at, k), k);
	t[k] = 0;
	if (lg.at < lg.end)
		seek(lg.at);
}

static void function(const char *value)
{
	unsigned long long number;
	char class, name[128];
	if (sscanf(value, "%llu %c %127s", &number, &class, name) != 3 || number > 1 << 16)
		return;
	if (number >= lg.functions_room) {
		uint64_t room = 2 * number + 64;
		unsigned *bigger = realloc(lg.functions, room * sizeof *bigger);
		if (!bigger)
			return;
		for (uint64_t i = lg.functions_room; i < room; i++)
			bigger[i] = UINT32_MAX;
		lg.functions = bigger;
		lg.functions_room = room;
	}
	for (unsigned i = 0; i < rp_function_count; i++)
		if (strcmp(rp_function(i), name) == 0) {
			lg.functions[number] = i;
			lg.classes[i] = class;
		}
}

HIDDEN unsigned rp_from_log(uint64_t number) { return number < lg.functions_room ? lg.functions[number] : UINT32_MAX; }
HIDDEN int rp_class(unsigned f) { return lg.classes[f]; }
HIDDEN int rp_wtime_logged(void) { return lg.wtime; }

static const char *header(void)
{
	char name[64], value[4096];
	int rank = -1, size = -1;
	if (record(0) != LOG_HEADER)
		return "it does not begin with a header";
	lg.classes = calloc(rp_function_count, 1);
	while (rp_log_more()) {
		text(name, sizeof name);
		text(value, sizeof value);
		if (strcmp(name, "rank") == 0)
			rank = atoi(value);
		else if (strcmp(name, "size") == 0)
			size = atoi(value);
		else if (strcmp(name, "wtime") == 0)
			lg.wtime = value[0] == '1';
		else if (strcmp(name, "function") == 0)
			function(value);
#ifdef OPEN_MPI
		else if (strcmp(name, "mpi") == 0 && strcmp(value, "openmpi") != 0)
#else
		else if (strcmp(name, "mpi") == 0 && strcmp(value, "mpich") != 0)
#endif
			return "it was recorded with another MPI library";
	}
	if (rank < 0 || size <= rank)
		return "its header has no rank";
	rp_comms_start(rank, size);
	return NULL;
}

HIDDEN const char *rp_log_open(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return strerror(errno);
	file_size = (uint64_t)st.st_size;
	if (!file_size)
		return "it is empty";
	lg.map = mmap(NULL, file_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (lg.map == MAP_FAILED)
		return strerror(errno);
	madvise((void *)(uintptr_t)lg.map, file_size, MADV_WILLNEED);
	lg.blocks = (file_size + BLOCK - 1) / BLOCK;
	if (file_size % BLOCK != 0 && file_size % BLOCK <= HEAD)
		lg.blocks--;
	lg.good = lg.blocks;
	pthread_t thread;
	if (pthread_create(&thread, NULL, read_ahead, (void *)(intptr_t)sched_getcpu()) != 0)
		return "no thread to read it";
	pthread_detach(thread);
	if (lg.blocks > 0)
		await(lg.blocks < AHEAD ? lg.blocks - 1 : AHEAD - 1); /* the first blocks are in memory before the program begins */
	return header();
}
