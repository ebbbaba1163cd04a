#define _GNU_SOURCE
#include "log.h"

#include "fortran.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The begin of a log. */

static void text(const char *s, size_t n)
{
	lg_varint(n);
	lg_put(s, n);
}

static void pair(const char *name, const char *value)
{
	text(name, strlen(name));
	text(value, strlen(value));
}

static void number(const char *name, long long value)
{
	char b[32];
	snprintf(b, sizeof b, "%lld", value);
	pair(name, b);
}

extern char **environ;

static void environment(void)
{
	static const char *const wanted[] = {"OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "MALLOC_", "GLIBC_TUNABLES=",
		"LD_LIBRARY_PATH=", "LANG=", "LC_"};
	for (char **e = environ; *e; e++)
		for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
			if (strncmp(*e, wanted[i], strlen(wanted[i])) == 0)
				pair("env", *e);
}

/* arguments reads the command line in parts, because it may be long. */
static void arguments(void)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	size_t room = 0, n = 0;
	char *b = NULL;
	ssize_t got = 1;
	while (fd >= 0 && got > 0) {
		if (n + 4096 > room) {
			char *more = realloc(b, room = 2 * room + 8192);
			if (!more) {
				lg_lost();
				break;
			}
			b = more;
		}
		got = read(fd, b + n, room - n - 1);
		n += got > 0 ? (size_t)got : 0;
	}
	for (size_t i = 0; i < n; i += strlen(b + i) + 1) {
		b[n] = 0;
		pair("arg", b + i);
	}
	free(b);
	if (fd >= 0)
		close(fd);
}

static void functions(void)
{
	static const char *const special[] = {"C Init", "C Init_thread", "C Finalize", "L Abort", "L Pcontrol"};
	char b[256];
	int i = 0;
	for (const char *line = cr_functions; *line; i++) { /* cr_classes has their classes */
		line += strncmp(line, "MPI_", 4) == 0 ? 4 : 0;
		size_t n = strcspn(line, "\n");
		snprintf(b, sizeof b, "%d %c %.*s", i, cr_classes[i], (int)n, line);
		pair("function", b);
		line += n + (line[n] != 0);
	}
	for (i = 0; i < F_WTIME - F_INIT; i++) {
		snprintf(b, sizeof b, "%d %s", F_INIT + i, special[i]);
		pair("function", b);
	}
	snprintf(b, sizeof b, "%d %c Wtime", F_WTIME, lg_times ? 'C' : 'L');
	pair("function", b);
}

static void header(int rank, int size)
{
	char b[MPI_MAX_LIBRARY_VERSION_STRING + 4096] = "";
	int n = 0;
	PMPI_Get_library_version(b, &n);
	b[strcspn(b, "\n")] = 0;
	pair("library", b);
#ifdef MPICH_VERSION
	pair("mpi", "mpich");
#else
	pair("mpi", "openmpi");
#endif
	number("rank", rank);
	number("size", size);
	b[0] = 0;
	gethostname(b, sizeof b - 1);
	pair("host", b);
	number("pid", getpid());
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	number("begin", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	ssize_t length = readlink("/proc/self/exe", b, sizeof b - 1);
	b[length > 0 ? length : 0] = 0;
	pair("program", b);
	pair("cwd", getcwd(b, sizeof b) ? b : "");
	arguments();
	environment();
	number("wtime", lg_times);
	functions();
}

/* chosen returns whether a list such as 0,3 has a rank. */
static int chosen(const char *list, int rank)
{
	char *end;
	for (; list && *list; list = end + (*end == ','))
		if (strtol(list, &end, 10) == rank && end != list)
			return 1;
		else if (end == list)
			break;
	return 0;
}

/* start opens the log if this process was chosen. It returns whether there is one now. */
static int start(void)
{
	static int begun; /* Fortran's MPI_INIT may call that of C: both wrappers come here */
	int rank = 0, size = 0;
	const char *folder = getenv("COPPICE_LOG_DIR"), *bytes = getenv("COPPICE_LOG_BYTES"), *times = getenv("COPPICE_LOG_WTIME");
	uint64_t budget = bytes ? strtoull(bytes, NULL, 10) : 0;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	if (begun || !folder || cr_spawned() || !chosen(getenv("COPPICE_LOG_RANKS"), rank))
		return 0;
	begun = 1;
	char name[4096];
	snprintf(name, sizeof name, "%s/%d.log", folder, rank);
	if (!lg_open(name, budget ? budget : UINT64_MAX, times && *times == '1'))
		return 0;
	header(rank, size);
	lg_opened();
	return lg_on;
}

HIDDEN void lg_begin(unsigned function, int provided)
{
	if (!start() || !lg_call(function, MPI_SUCCESS))
		return;
	lg_checks(0, NULL);
	if (function == F_INIT_THREAD)
		lg_int(3, provided);
	lg_end();
}

HIDDEN void lg_finalize(int code)
{
	if (lg_on && lg_call(F_FINALIZE, code)) {
		lg_checks(0, NULL);
		lg_end();
	}
	lg_stop(LG_FINALIZE);
}

/* MPI_Wtime. Its results are logged if that was asked for. */

static double wtime(void)
{
	double t = PMPI_Wtime();
	if (lg_times && cr_outermost() && lg_call(F_WTIME, MPI_SUCCESS)) {
		lg_checks(0, NULL);
		lg_real(0, t);
		lg_end();
	}
	return t;
}

double MPI_Wtime(void) { return wtime(); }
double mpi_wtime_(void) { return wtime(); }
double mpi_wtime(void) { return wtime(); }
double mpi_wtime__(void) { return wtime(); }
double MPI_WTIME(void) { return wtime(); }
double mpi_wtime_f08_(void) { return wtime(); }
