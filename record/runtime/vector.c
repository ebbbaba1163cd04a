#define _GNU_SOURCE
#include "vector.h"

#include "held.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROWS 4096

HIDDEN int cr_vector_on;

static struct {
	struct held file;
	pid_t process; /* process that opened it: a fork does not write */
	unsigned used;
	uint64_t cpu, wall; /* at the end of the previous call */
	int schedstat;	    /* file with the time that the thread waited for a processor; -1: none */
	uint64_t delay, off; /* delay: its last value; off: elapsed minus processor time until then */
	struct row {
		uint32_t function, delay;
		uint64_t cpu, wall;
	} rows[ROWS];
} v = {.file.fd = -1, .schedstat = -1};

/* ns by which elapsed and processor time must diverge before the kernel is asked for the delay: a context switch takes a few us. */
#define APART 20000

static _Thread_local int mine;

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* delayed reads for how many ns the thread was ready to run without a processor since the last time. It returns 0 if it did not read,
 * because the clocks have not diverged or the kernel does not count (it writes zeros). */
static int delayed(uint64_t cpu, uint64_t wall, uint64_t *ns)
{
	char text[96];
	unsigned long long run, wait;
	*ns = 0;
	if (v.schedstat < 0 || wall - cpu < v.off + APART)
		return 0;
	ssize_t n = pread(v.schedstat, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%llu %llu", &run, &wait) == 2 && wait >= v.delay) {
		*ns = wait - v.delay;
		v.delay = wait;
	}
	v.off = wall - cpu;
	return 1;
}

HIDDEN int cr_vector_open(const char *path, const char *names)
{
	int fd = cr_hold(&v.file, path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
	uint32_t n = (uint32_t)strlen(names);
	if (fd < 0 || write(fd, "CPRVEC1", 8) != 8 || write(fd, &n, sizeof n) != sizeof n || write(fd, names, n) != (ssize_t)n)
		return 0;
	memset(v.rows, 0, sizeof v.rows); /* touch the memory before it is needed */
	v.process = getpid();
	v.schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	mine = cr_vector_on = 1;
	return 1;
}

static void flush(void)
{
	size_t bytes = v.used * sizeof v.rows[0];
	if (bytes && write(cr_held(&v.file), v.rows, bytes) != (ssize_t)bytes)
		cr_vector_on = 0;
	v.used = 0;
}

HIDDEN void cr_vector_enter(unsigned function)
{
	if (!cr_vector_on || !mine)
		return;
	uint64_t cpu = read_clock(CLOCK_THREAD_CPUTIME_ID), wall = read_clock(CLOCK_MONOTONIC), delay;
	delayed(cpu, wall, &delay);
	if (v.cpu) {
		cpu -= v.cpu;
		wall -= v.wall;
		uint64_t off = wall > cpu ? wall - cpu : 0;
		delay = (delay < off ? delay : off) / 1000;
		v.rows[v.used++] = (struct row){.function = function, .delay = delay < UINT32_MAX ? (uint32_t)delay : UINT32_MAX, .cpu = cpu, .wall = wall};
	}
	if (v.used == ROWS)
		flush();
}

HIDDEN void cr_vector_leave(void)
{
	if (!cr_vector_on || !mine)
		return;
	uint64_t before;
	do {
		v.wall = read_clock(CLOCK_MONOTONIC);
		v.cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
	} while (delayed(v.cpu, v.wall, &before)); /* reading takes time */
}

HIDDEN void cr_vector_close(void)
{
	if (v.file.fd < 0)
		return;
	if (cr_vector_on && getpid() == v.process)
		flush();
	cr_release(&v.file);
	if (v.schedstat >= 0)
		close(v.schedstat);
	v.schedstat = -1;
	cr_vector_on = 0;
}

__attribute__((destructor)) static void unloaded(void) { cr_vector_close(); }
