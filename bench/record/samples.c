/*
 * What samples cost a program: segments of equal work, 20 ms of processor time, by turns with all counters off and all real-time signals blocked, and not, at the bottom of so many calls. It prints
 * the medians of their processor time, and the median of how much more those with samples take, with the 95 % range of that median.
 *
 *	mpicc -O1 -g -o samples samples.c -lm
 *	coppice record -o run --sample 1ms -- mpirun -n 1 ./samples 400 20
 *	mpirun -n 1 ./samples 400 20 kernel
 *
 * The second one is not recorded: the kernel itself notes an address each ms in a ring that nobody reads, without any signal. No way to take
 * a sample costs less than that.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile double x;

/* spent is the processor time of the thread in us. */
static double spent(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

__attribute__((noinline)) static void work(int depth, long n)
{
	if (depth > 0) {
		work(depth - 1, n);
		x += 1e-9;
		return;
	}
	for (long i = 0; i < n; i++)
		x += 1e-9;
}

static int ascending(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;
	return d < 0 ? -1 : d > 0;
}

/* notes makes a counter of the thread's processor time note the address each ms. */
static void notes(void)
{
	struct perf_event_attr a = {.size = sizeof a, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .sample_period = 1000000,
		.sample_type = PERF_SAMPLE_IP, .exclude_kernel = 1, .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	if (fd < 0 || mmap(NULL, 65 * (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) {
		perror("perf_event_open");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int pairs = atoi(argv[1]), depth = atoi(argv[2]);
	double *without = calloc((size_t)pairs, sizeof *without), *with = calloc((size_t)pairs, sizeof *with), *more = calloc((size_t)pairs, sizeof *more);
	if (argc > 3)
		notes();
	sigset_t signals;
	sigemptyset(&signals);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		sigaddset(&signals, i);
	long n = 1000000;
	double t = spent();
	work(depth, n);
	n = (long)((double)n * 20000 / (spent() - t));
	for (int i = 0; i < pairs; i++) {
		double took[2];
		for (int k = 0; k < 2; k++) {
			int on = (i + k) & 1;
			prctl(on ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE);
			sigprocmask(on ? SIG_UNBLOCK : SIG_BLOCK, &signals, NULL);
			t = spent();
			work(depth, n);
			took[on] = spent() - t;
		}
		prctl(PR_TASK_PERF_EVENTS_ENABLE);
		sigprocmask(SIG_UNBLOCK, &signals, NULL);
		without[i] = took[0];
		with[i] = took[1];
		more[i] = (took[1] - took[0]) / took[0] * 100;
	}
	qsort(without, (size_t)pairs, sizeof *without, ascending);
	qsort(with, (size_t)pairs, sizeof *with, ascending);
	qsort(more, (size_t)pairs, sizeof *more, ascending);
	int range = (int)(0.98 * sqrt(pairs));
	printf("depth %d: %.0f us without, %.0f with; %.2f %% more (95 %%: %.2f to %.2f)\n", depth, without[pairs / 2], with[pairs / 2], more[pairs / 2],
		more[pairs / 2 - range], more[pairs / 2 + range]);
	MPI_Finalize();
	return 0;
}
