#define _GNU_SOURCE
#include "replayer.h"

#include "vector.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Begin and end of the replay, and functions that are not generated. */

static int active, ended;
static pthread_t program;
static pid_t process; /* process that began the replay: a fork does not take part */
static _Thread_local int depth;
static _Thread_local unsigned fortran; /* function + 1 of the outermost Fortran binding */
static const char **names;

enum { F_INIT, F_INIT_THREAD, F_FINALIZE, F_ABORT, F_PCONTROL, F_WTIME, SPECIAL };
static const char *const special[SPECIAL] = {"Init", "Init_thread", "Finalize", "Abort", "Pcontrol", "Wtime"};

#define FIRST (rp_function_count - SPECIAL)

HIDDEN const char *rp_function(unsigned function)
{
	if (!names) {
		const char **list = calloc(rp_function_count, sizeof *list);
		char *text = strdup(rp_functions), *rest = text;
		for (unsigned i = 0; i < FIRST; i++)
			list[i] = strsep(&rest, "\n");
		for (unsigned i = 0; i < SPECIAL; i++)
			list[FIRST + i] = special[i];
		names = list;
	}
	return function < rp_function_count ? names[function] : "(unknown)";
}

/* in_vector returns a function's number in the vector, which is that of the recorder. */
static unsigned in_vector(unsigned function) { return function < FIRST ? function : (1 << 12) + function - FIRST; }

HIDDEN int rp_enter(unsigned function)
{
	if (!active || depth > 0)
		return RP_NESTED;
	if (fortran && fortran != function + 1)
		return RP_HELPER;
	int class = rp_class(function);
	if (!pthread_equal(pthread_self(), program)) {
		if (class == 'L')
			return RP_NESTED;
		rp_stop(STOP_REFUSED, "a second thread calls MPI_%s: only programs whose MPI calls come from one thread can be replayed", rp_function(function));
	}
	if (!fortran)
		cr_vector_enter(in_vector(function));
	depth = 1;
	return class == 'L' ? RP_LOCAL : RP_ANSWER;
}

HIDDEN int rp_leave(int rc)
{
	depth = 0;
	if (!fortran)
		cr_vector_leave();
	return rc;
}

HIDDEN unsigned rp_fortran(unsigned function)
{
	unsigned before = fortran;
	if (active && depth == 0 && !fortran) {
		cr_vector_enter(in_vector(function));
		fortran = function + 1;
	}
	return before;
}

HIDDEN void rp_fortran_done(unsigned before)
{
	int outermost = fortran && !before && depth == 0;
	fortran = before;
	if (outermost)
		cr_vector_leave();
}

/* finished writes how the replay ended, and flushes the vector, for the process that started it. */
static void finished(const char *end, const char *message)
{
	const char *path = getenv("COPPICE_REPLAY_END");
	cr_vector_close();
	if (ended++)
		return;
	rp_linger();
	if (!path)
		return;
	FILE *f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "end=%s\ncalls=%llu\nmessage=%s\n", end, (unsigned long long)rp_log_call() + 1, message);
	fclose(f);
}

HIDDEN void rp_stop(int why, const char *format, ...)
{
	static const char *const ends[] = {"differs", "refused", "damaged", "cut", "broken"};
	char text[1024];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	active = 0;
	fflush(NULL);
	if (rp_log_call() == UINT64_MAX) /* none yet */
		fprintf(stderr, "coppice replay: %s\n", text);
	else
		fprintf(stderr, "coppice replay: call %llu: %s\n", (unsigned long long)rp_log_call(), text);
	finished(ends[why], text);
	_exit(1);
}

/* rp_finish ends a replay where the recorded process ended. */
HIDDEN void rp_finish(const char *end)
{
	if (ended)
		return;
	active = 0;
	int kind = rp_log_next();
	if (kind == LOG_CALL) {
		unsigned next = rp_from_log(rp_log_v());
		rp_stop(STOP_DIFFERS, "the program ended (%s), the log goes on with MPI_%s", end, rp_function(next));
	}
	if (kind == LOG_END && rp_log_v() > 3)
		rp_stop(STOP_CUT, "the log ends before the program");
	if (kind == 0)
		rp_stop(STOP_CUT, "the log is cut");
	finished(end, "");
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))cr_library(#name)

static void start(unsigned function, int *provided)
{
	const char *log = getenv("COPPICE_REPLAY_LOG"), *vector = getenv("COPPICE_REPLAY_VECTOR");
	if (!log)
		return;
	unsetenv("LD_PRELOAD"); /* programs that this one starts are not replayed */
	program = pthread_self();
	process = getpid();
	depth = 1;
	rp_yields = getenv("COPPICE_REPLAY_YIELD") != NULL;
	const char *wrong = rp_log_open(log);
	if (wrong)
		rp_stop(STOP_DAMAGED, "%s: %s", log, wrong);
	active = 1;
	rp_begin(FIRST + function);
	int required = 0;
	void *at[4] = {&required, &required, &required, provided};
	static const unsigned char forms[4] = {0, 0, 0, FORM_INT};
	struct data d = {0};
	struct arguments a = {.function = FIRST + function, .n = provided ? 4 : 2, .at = at, .forms = forms, .data = &d, .later = MPI_COMM_NULL};
	rp_answer(&a);
	rp_together();
	if (vector && !cr_vector_open(vector, rp_functions))
		rp_stop(STOP_BROKEN, "%s cannot be written", vector);
	rp_leave(MPI_SUCCESS);
}

int PMPI_Init(int *argc, char ***argv)
{
	REAL(PMPI_Init);
	depth++;
	int rc = real(argc, argv);
	depth--;
	if (rc == MPI_SUCCESS)
		start(F_INIT, NULL);
	return rc;
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	REAL(PMPI_Init_thread);
	depth++;
	int rc = real(argc, argv, required, provided);
	depth--;
	if (rc == MPI_SUCCESS)
		start(F_INIT_THREAD, provided);
	return rc;
}

/* plain answers a call without outputs. */
static int plain(unsigned function)
{
	struct data d = {0};
	struct arguments a = {.function = function, .data = &d, .later = MPI_COMM_NULL};
	rp_begin(function);
	return rp_answer(&a);
}

int PMPI_Finalize(void)
{
	REAL(PMPI_Finalize);
	int how = rp_enter(FIRST + F_FINALIZE), rc = MPI_SUCCESS;
	if (how == RP_ANSWER) {
		plain(FIRST + F_FINALIZE);
		rp_finish("finalize");
	}
	rc = real();
	if (how == RP_ANSWER)
		depth = 0;
	return rc;
}

int PMPI_Abort(MPI_Comm comm, int code)
{
	REAL(PMPI_Abort);
	if (rp_enter(FIRST + F_ABORT) != RP_ANSWER)
		return real(comm, code);
	plain(FIRST + F_ABORT);
	rp_finish("abort");
	fflush(NULL);
	_exit(code & 0xff);
}

int PMPI_Pcontrol(const int level, ...)
{
	(void)level;
	if (rp_enter(FIRST + F_PCONTROL) == RP_NESTED)
		return MPI_SUCCESS;
	if (rp_class(FIRST + F_PCONTROL) == 'C')
		plain(FIRST + F_PCONTROL);
	return rp_leave(MPI_SUCCESS);
}

double PMPI_Wtime(void)
{
	REAL(PMPI_Wtime);
	if (!active || depth > 0 || !rp_wtime_logged())
		return real();
	depth = 1;
	rp_begin(FIRST + F_WTIME);
	double t = 0;
	if (rp_log_more()) {
		rp_log_v();
		rp_log_v();
		t = rp_log_real();
	}
	depth = 0;
	return t;
}

int MPI_Init(int *argc, char ***argv) __attribute__((alias("PMPI_Init")));
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) __attribute__((alias("PMPI_Init_thread")));
int MPI_Finalize(void) __attribute__((alias("PMPI_Finalize")));
int MPI_Abort(MPI_Comm comm, int code) __attribute__((alias("PMPI_Abort")));
int MPI_Pcontrol(const int level, ...) __attribute__((alias("PMPI_Pcontrol")));
double MPI_Wtime(void) __attribute__((alias("PMPI_Wtime")));

__attribute__((destructor)) static void unloaded(void)
{
	if (active && getpid() == process)
		rp_finish("exit");
}
