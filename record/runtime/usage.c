#define _GNU_SOURCE
#include "stream.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Processor use of the first thread outside of MPI_Init and MPI_Finalize. */

static struct {
	int on, known;
	uint64_t sums[USAGE];
	int schedstat; /* file with the time that the thread waited for a processor; 0: none */
	unsigned long long run, delay, slices; /* last values read, in ns */
	uint64_t at; /* when they were read */
} u;

enum { YIELDS = 50000 }; /* ns; if time slices are shorter on average, the thread yields by itself */

/* look returns for how many ns the thread was ready to run without a processor since the last look. It closes the file if the kernel
 * does not count (it writes zeros). It returns 0 for a thread that does little but yield, as OpenMP runtimes do while they wait. */
static uint64_t look(uint64_t t)
{
	char text[96];
	unsigned long long run = u.run, delay = u.delay, slices = u.slices;
	ssize_t n = pread(u.schedstat, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%llu %llu %llu", &u.run, &u.delay, &u.slices) != 3 || u.run == 0) {
		close(u.schedstat);
		u.schedstat = 0;
		return 0;
	}
	u.at = t;
	run = u.run - run, delay = u.delay - delay, slices = u.slices - slices;
	return run < delay / 8 && run / YIELDS < slices && slices > 8 ? 0 : delay;
}

/* cr_computed is called at the end of a piece of computation. It adds the delay since the last look, at most the length of the piece:
 * that look was less than PIECE before its begin. Pieces shorter than PIECE are shorter than a time slice, and ignored. */
HIDDEN void cr_computed(uint64_t from, uint64_t to)
{
	if (!u.on || !u.schedstat || to - from < PIECE)
		return;
	uint64_t d = look(to);
	u.sums[USAGE_DELAY] += d < to - from ? d : to - from;
}

/* cr_computes is called at the begin of a piece. */
HIDDEN void cr_computes(uint64_t t)
{
	if (u.schedstat && t - u.at >= PIECE)
		look(t);
}

/* cr_usage begins and ends the measurement. It does nothing on other threads than the first. */
HIDDEN void cr_usage(int on)
{
	struct timespec t;
	struct rusage r;
	if (u.on == on)
		return;
	u.on = on;
	u.known = pthread_equal(pthread_self(), cr.first) && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 && getrusage(RUSAGE_THREAD, &r) == 0 && (on || u.known);
	if (!u.known)
		return;
	uint64_t sign = on ? UINT64_MAX : 1; /* sum of end values less begin values */
	u.sums[USAGE_CPU] += sign * ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
	u.sums[USAGE_SWITCHES] += sign * (uint64_t)r.ru_nivcsw;
	if (on && !u.schedstat && cr.def.fd >= 0) { /* not in a process without a recording */
		char name[64];
		snprintf(name, sizeof name, "/proc/self/task/%ld/schedstat", (long)syscall(SYS_gettid));
		int fd = open(name, O_RDONLY | O_CLOEXEC);
		u.schedstat = fd > 0 ? fd : 0;
	}
	if (on && u.schedstat)
		look(now());
}

/* cr_define_usage writes DEF_USAGE. */
HIDDEN void cr_define_usage(void)
{
	if (!u.known) /* else the first thread may be in look */
		return;
	if (u.schedstat)
		close(u.schedstat);
	else
		u.sums[USAGE_DELAY] = UINT64_MAX;
	u.schedstat = 0;
	cr_define(DEF_USAGE, u.sums, sizeof u.sums);
}

/* cr_processors writes the list of processors that the thread may use, such as 0-3,8; "" if it is not known. */
HIDDEN void cr_processors(char *text, size_t size)
{
	size_t used = 0;
	*text = 0;
	for (int n = 1024; n <= 1 << 16; n *= 2) {
		cpu_set_t *set = CPU_ALLOC((size_t)n);
		size_t bytes = CPU_ALLOC_SIZE((size_t)n);
		if (!set)
			return;
		int ok = sched_getaffinity(0, bytes, set) == 0;
		for (int i = 0; ok && i < n; i++) {
			int first = i;
			if (!CPU_ISSET_S((size_t)i, bytes, set))
				continue;
			while (i + 1 < n && CPU_ISSET_S((size_t)i + 1, bytes, set))
				i++;
			int m = snprintf(text + used, size - used, i > first ? "%s%d-%d" : "%s%d", used ? "," : "", first, i);
			if (m < 0 || (size_t)m >= size - used) {
				*text = 0;
				break;
			}
			used += (size_t)m;
		}
		CPU_FREE(set);
		if (ok)
			return;
	}
}
