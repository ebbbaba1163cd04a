#define _GNU_SOURCE
#include "stream.h"
#include "threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The file of definitions, and definitions of the process and its counters. */

#define DEFINITION 96 /* bytes of a definition in the archive (a string and one or two records), without its text and members */

/* cr_define_now appends a definition with one writev(2), so other threads can write at the same time. */
HIDDEN void cr_define_now(int kind, const void *body, size_t bytes)
{
	uint8_t head[5] = {(uint8_t)kind};
	uint32_t n = (uint32_t)bytes;
	memcpy(head + 1, &n, 4);
	struct iovec parts[2] = {{head, sizeof head}, {(void *)body, bytes}};
	if (cr.def.fd >= 0 && writev(cr_held(&cr.def), parts, 2) != (ssize_t)(sizeof head + bytes))
		cr_complain("definitions cannot be written");
}

HIDDEN void cr_define(int kind, const void *body, size_t bytes)
{
	int counts = kind == DEF_COMM || kind == DEF_WIN || kind == DEF_FILE || kind == DEF_NAME || kind == DEF_COMM_NAME; /* the others are reserved from the start */
	if (counts && !cr_take((int64_t)bytes + DEFINITION))
		cr_stop(END_BUDGET);
	struct own own = cr_own_begin();
	pthread_mutex_lock(&cr.lock);
	cr_define_now(kind, body, bytes);
	pthread_mutex_unlock(&cr.lock);
	cr_own_end(own);
}

HIDDEN void cr_define_process(void)
{
	char text[16384] = "", boot[64] = "", host[256] = "", command[2048] = "", processors[8192];
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
	cr_processors(processors, sizeof processors);
	int n = snprintf(text, sizeof text, "rank=%d\nsize=%d\npid=%ld\nbegin=%llu\nnow=%llu\nreal=%llu\nhost=%s\nboot=%s\nonline=%ld\nprocessors=%s\nthreads=%s\ncommand=%s\n",
		cr.rank, cr.size, (long)getpid(), (unsigned long long)cr.begin, (unsigned long long)now(), (unsigned long long)real, host, boot,
		sysconf(_SC_NPROCESSORS_ONLN), processors, cr_threads() ? getenv("COPPICE_RECORD_THREADS") : "", command);
	cr_define(DEF_PROCESS, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* cr_uncounted defines why a thread does not count. One process writes it to stderr too. */
HIDDEN void cr_uncounted(void)
{
	const char *wrong = cr_counters_wrong();
	cr_define(DEF_UNCOUNTED, wrong, strlen(wrong));
	if (cr.rank == 0)
		fprintf(stderr, "coppice record: not counted: %s; the recording goes on without\n", wrong);
}

HIDDEN void cr_define_counters(void)
{
	char text[COUNTERS * 80] = "";
	if (*cr_counters_wrong()) {
		cr_uncounted();
		return;
	}
	cr_counters_names(text, sizeof text);
	for (const char *p = text; *p; p++)
		cr.counters_n += p == text || p[-1] == '\n';
	if (*text)
		cr_define(DEF_COUNTERS, text, strlen(text));
}
