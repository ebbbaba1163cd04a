/*
 * Reads receive logs as a replay does, every value and byte of them, and says how each ended: "end N", "stop N", N calls. What a
 * call means is left out, and so is MPI.
 */
#include "../replayer/stream.c"

#include <stdarg.h>
#include <sys/wait.h>

#define CALLS 2000 /* a log may say that a call came 2^64 times */

const unsigned rp_function_count = 3;
HIDDEN const char *rp_function(unsigned f) { return f == 0 ? "Recv" : f == 1 ? "Waitall" : "Init"; }
HIDDEN void rp_comms_start(int rank, int size)
{
	if (rank < 0 || rank >= size)
		abort();
}

HIDDEN void rp_stop(int why, const char *format, ...)
{
	(void)why, (void)format;
	printf("stop %llu\n", (unsigned long long)rp_log_call() + 1);
	fflush(stdout);
	_exit(0);
}

static unsigned sum;

static void bytes(uint64_t at, uint64_t n)
{
	const unsigned char *p = rp_log_bytes(at, n);
	for (uint64_t i = 0; i < n; i++)
		sum += p[i];
}

static void payload(int stored)
{
	uint64_t n = rp_log_v(), where = stored ? rp_log_v() : 0, at = where ? where : rp_log_at();
	if (!where)
		rp_log_skip(n);
	bytes(at, n);
}

static void numbers(uint64_t n)
{
	while (n--)
		sum += (unsigned)rp_log_z();
}

static void output(void)
{
	static const int plain[] = {[1] = 1, [3] = 4, [4] = 1, [5] = 1, [6] = 6, [9] = 1}; /* Done has no parameter: it is read as one */
	uint64_t kind = rp_log_v();
	rp_log_v();
	if (kind == 2)
		numbers(rp_log_v());
	else if (kind == 7 || kind == 8)
		payload(kind == 7);
	else if (kind == 10)
		sum += rp_log_real() > 0;
	else if (kind < sizeof plain / sizeof plain[0] && plain[kind])
		numbers((uint64_t)plain[kind]);
	else
		rp_stop(STOP_DAMAGED, "an output of unknown kind");
}

static void read_log(const char *path)
{
	const char *wrong = rp_log_open(path);
	unsigned long long calls = 0;
	if (wrong) {
		printf("stop 0\n");
		return;
	}
	while (calls < CALLS && rp_log_next() == LOG_CALL) {
		calls++;
		rp_from_log(rp_log_v());
		rp_log_z();
		unsigned bits = (unsigned)rp_log_v();
		numbers((uint64_t)__builtin_popcount(bits & 0x7f));
		while (rp_log_more())
			output();
	}
	printf("end %llu\n", calls);
}

/* Each log is read in a process of its own. */
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		pid_t child = fork();
		if (child == 0) {
			read_log(argv[i]);
			fflush(stdout);
			_exit((int)(sum & 0)); /* the thread that reads ahead may be at work */
		}
		int status = 1;
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
			fprintf(stderr, "%s: status %d\n", argv[i], status);
			return 1;
		}
	}
	return 0;
}
