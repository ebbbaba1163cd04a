#define _GNU_SOURCE
#include "recorder.h"

#include <pthread.h>
#include <sys/mman.h>

/* Memory for definitions that a signal handler may make while the program is in malloc. It comes from mmap, in pieces, and is never
 * freed. */

#define PIECE_BYTES (64 << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *piece;
static size_t left;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

HIDDEN void *cr_alloc(size_t bytes)
{
	void *p = NULL;
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > PIECE_BYTES / 4)
		return map(bytes);
	pthread_mutex_lock(&lock);
	if (left < bytes && (piece = map(PIECE_BYTES)))
		left = PIECE_BYTES;
	if (piece && left >= bytes) {
		p = piece;
		piece += bytes;
		left -= bytes;
	}
	pthread_mutex_unlock(&lock);
	return p;
}
