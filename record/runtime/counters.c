#define _GNU_SOURCE
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counters {
	int fd[COUNTERS], user; /* fd[0] leads the group; user: they can be read in user space */
	struct perf_event_mmap_page *page[COUNTERS];
};

/* The counters of COPPICE_RECORD_COUNTERS: NAME=TYPE:CONFIG, separated by commas, with the kernel's numbers. */
static struct {
	pthread_once_t once;
	unsigned n;
	int without_kernel; /* count in user mode only: the kernel forbids more */
	char name[COUNTERS][64], wrong[512];
	uint32_t type[COUNTERS];
	uint64_t config[COUNTERS];
} wanted = {.once = PTHREAD_ONCE_INIT};

static void read_wanted(void)
{
	const char *p = getenv("COPPICE_RECORD_COUNTERS");
	int used = 0;
	unsigned long long config;
	while (p && wanted.n < COUNTERS &&
		sscanf(p, "%63[^=]=%u:%llx%n", wanted.name[wanted.n], &wanted.type[wanted.n], &config, &used) == 3) {
		wanted.config[wanted.n++] = config;
		p += used + (p[used] == ',');
	}
}

static void explain(const char *name, int error)
{
	char level[16] = "unknown";
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	if (f) {
		if (fgets(level, sizeof level, f))
			level[strcspn(level, "\n")] = 0;
		fclose(f);
	}
	const char *why = error == ENOENT || error == EOPNOTSUPP || error == ENODEV ? "this machine does not count it, as virtual ones often do not"
		: error == EACCES || error == EPERM ? "the kernel forbids it, see /proc/sys/kernel/perf_event_paranoid; so do many containers"
		: error == EINVAL || error == ENOSPC ? "the processor does not count so many together"
							    : strerror(error);
	snprintf(wanted.wrong, sizeof wanted.wrong, "%s: %s (perf_event_paranoid is %s)", name, why, level);
}

static int open_one(unsigned i, int leader)
{
	struct perf_event_attr a = {.size = sizeof a, .type = wanted.type[i], .config = wanted.config[i]};
	a.read_format = PERF_FORMAT_GROUP;
	a.pinned = leader < 0;
	a.exclude_hv = 1;
	a.exclude_kernel = wanted.without_kernel != 0;
	return (int)syscall(SYS_perf_event_open, &a, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static void close_all(struct counters *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (c->page[i])
			munmap(c->page[i], (size_t)getpagesize());
		close(c->fd[i]);
	}
	memset(c, 0, sizeof *c);
}

/* group opens all counters of the calling thread. If one cannot be opened it returns its index, with errno set. */
static unsigned group(struct counters *c)
{
	for (unsigned i = 0; i < wanted.n; i++) {
		c->fd[i] = open_one(i, i ? c->fd[0] : -1);
		if (c->fd[i] < 0) {
			int error = errno;
			close_all(c, i);
			errno = error;
			return i;
		}
		void *page = mmap(NULL, (size_t)getpagesize(), PROT_READ, MAP_SHARED, c->fd[i], 0);
		c->page[i] = page == MAP_FAILED ? NULL : page;
	}
	return wanted.n;
}

/* kernel_only reports whether a software counter counts only in the kernel: it would stay 0 in user mode. */
static int kernel_only(void)
{
	for (unsigned i = 0; i < wanted.n; i++)
		if (wanted.type[i] == PERF_TYPE_SOFTWARE &&
			(wanted.config[i] == PERF_COUNT_SW_CONTEXT_SWITCHES || wanted.config[i] == PERF_COUNT_SW_CPU_MIGRATIONS))
			return 1;
	return 0;
}

HIDDEN struct counters *cr_counters_open(void)
{
	pthread_once(&wanted.once, read_wanted);
	if (!wanted.n || wanted.wrong[0])
		return NULL;
	struct counters *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	unsigned opened = group(c);
	if (opened < wanted.n && (errno == EACCES || errno == EPERM) && !wanted.without_kernel && !kernel_only()) {
		wanted.without_kernel = 1;
		opened = group(c);
	}
	if (opened < wanted.n) {
		explain(wanted.name[opened], errno);
		free(c);
		return NULL;
	}
	c->user = 1;
	for (unsigned i = 0; i < wanted.n; i++)
		c->user &= c->page[i] && c->page[i]->cap_user_rdpmc;
	return c;
}

#if defined __x86_64__ || defined __i386__
/* read_user reads a counter as linux/perf_event.h describes. It returns 0 if the counter is not on the processor now. */
static int read_user(const volatile struct perf_event_mmap_page *p, uint64_t *value)
{
	uint32_t lock, index;
	int64_t count;
	do {
		lock = p->lock;
		__asm__ volatile("" ::: "memory");
		index = p->index;
		count = p->offset;
		if (!index)
			return 0;
		uint32_t low, high;
		__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
		int unused = 64 - p->pmc_width;
		count += (int64_t)(((uint64_t)high << 32 | low) << unused) >> unused; /* extends the sign */
		__asm__ volatile("" ::: "memory");
	} while (p->lock != lock);
	*value = (uint64_t)count;
	return 1;
}
#else
static int read_user(const volatile struct perf_event_mmap_page *p, uint64_t *value)
{
	(void)p, (void)value;
	return 0;
}
#endif

HIDDEN unsigned cr_counters_read(struct counters *c, uint64_t *values)
{
	unsigned i = 0;
	while (c->user && i < wanted.n && read_user(c->page[i], &values[i]))
		i++;
	if (i == wanted.n)
		return i;
	uint64_t all[1 + COUNTERS];
	ssize_t n = read(c->fd[0], all, sizeof all);
	if (n != (ssize_t)((1 + wanted.n) * sizeof all[0]) || all[0] != wanted.n) {
		snprintf(wanted.wrong, sizeof wanted.wrong, "the processor has no room for them any more: another program counts too");
		return 0;
	}
	memcpy(values, all + 1, wanted.n * sizeof all[0]);
	return wanted.n;
}

HIDDEN void cr_counters_names(char *text, unsigned size)
{
	unsigned used = 0;
	for (unsigned i = 0; i < wanted.n && used < size; i++)
		used += (unsigned)snprintf(text + used, size - used, "%s%s%s", i ? "\n" : "", wanted.name[i], wanted.without_kernel ? ":u" : "");
}

HIDDEN const char *cr_counters_wrong(void) { return wanted.wrong; }
