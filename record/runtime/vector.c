#define _GNU_SOURCE
#include "vector.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROWS 4096

HIDDEN int cr_vector_on;

static struct {
	int fd;
	pid_t process; /* not a child that it forked */
	unsigned used;
	uint64_t cpu, wall; /* at the end of the call before */
	struct row {
		uint32_t function, zero;
		uint64_t cpu, wall;
	} rows[ROWS];
} v = {.fd = -1};

static _Thread_local int mine;

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

HIDDEN int cr_vector_open(const char *path, const char *names)
{
	v.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	uint32_t n = (uint32_t)strlen(names);
	if (v.fd < 0 || write(v.fd, "CPRVEC1", 8) != 8 || write(v.fd, &n, sizeof n) != sizeof n || write(v.fd, names, n) != (ssize_t)n)
		return 0;
	memset(v.rows, 0, sizeof v.rows); /* in memory before it is needed */
	v.process = getpid();
	mine = cr_vector_on = 1;
	return 1;
}

static void flush(void)
{
	size_t bytes = v.used * sizeof v.rows[0];
	if (bytes && write(v.fd, v.rows, bytes) != (ssize_t)bytes)
		cr_vector_on = 0;
	v.used = 0;
}

HIDDEN void cr_vector_enter(unsigned function)
{
	if (!cr_vector_on || !mine)
		return;
	uint64_t cpu = read_clock(CLOCK_THREAD_CPUTIME_ID), wall = read_clock(CLOCK_MONOTONIC);
	if (v.cpu)
		v.rows[v.used++] = (struct row){.function = function, .cpu = cpu - v.cpu, .wall = wall - v.wall};
	if (v.used == ROWS)
		flush();
}

HIDDEN void cr_vector_leave(void)
{
	if (!cr_vector_on || !mine)
		return;
	v.wall = read_clock(CLOCK_MONOTONIC);
	v.cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
}

HIDDEN void cr_vector_close(void)
{
	if (v.fd < 0)
		return;
	if (cr_vector_on && getpid() == v.process)
		flush();
	close(v.fd);
	v.fd = -1;
	cr_vector_on = 0;
}

__attribute__((destructor)) static void unloaded(void) { cr_vector_close(); }
