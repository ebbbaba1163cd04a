#define _GNU_SOURCE
#include "fortran.h"
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Signals that end the process. The handler writes which signal it is and the stack of the thread. Then it restores the handler that was
 * there before (the default, a library's or the program's) and sends the same signal again. When it returns, that handler runs with the
 * state of the thread at the first signal. So the process ends, or goes on, as it would without the recorder, with the same status and core
 * file.
 *
 * A handler that the program installs later replaces this one.
 */

static const int fatal[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
#define KINDS (sizeof fatal / sizeof *fatal)
#define MOST_FRAMES 32
#define STACK (64 << 10)
#define ROOM ((size_t)MOST_FRAMES * 512)

static struct sigaction before[KINDS];
static char program[PATH_MAX];
static atomic_flag seen = ATOMIC_FLAG_INIT;

/* note defines a signal, or (number 0) an error, as a text made in room. It writes addresses with the paths of their files: to number
 * those would take locks. */
static void note(int number, const char *error, const uintptr_t *address, unsigned n, char *room)
{
	const struct stream *s = cr_mine;
	size_t used = (size_t)snprintf(room, ROOM, "%d %ld %llu %s\n", number, s ? (long)s->thread : -1L, (unsigned long long)now(), error);
	for (unsigned i = 0; i < n; i++) {
		const struct link_map *map = cr_tables(address[i] - 1);
		const char *path = !map ? "?" : *map->l_name ? map->l_name : program;
		int took = snprintf(room + used, ROOM - used, "%llx %s\n", (unsigned long long)(address[i] - (map ? map->l_addr : 0)), path);
		if (took < 0 || (size_t)took >= ROOM - used)
			break;
		used += (size_t)took;
	}
	cr_define_now(DEF_SIGNAL, room, used);
}

static void came(int number, siginfo_t *info, void *context)
{
	static char room[ROOM];
	uintptr_t address[MOST_FRAMES];
	int error = errno, limited;
	if (atomic_load(&cr.active) && !atomic_flag_test_and_set(&seen))
		note(number, "", address, cr_unwind(context, UINTPTR_MAX, address, MOST_FRAMES, &limited), room);
	for (size_t i = 0; i < KINDS; i++)
		if (fatal[i] == number)
			sigaction(number, &before[i], NULL);
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info) != 0 && info->si_code <= 0)
		raise(number);
	errno = error;
}

/* cr_signals_open installs the handlers. Signals that the program ignores stay ignored. */
HIDDEN void cr_signals_open(void)
{
	struct sigaction own = {.sa_sigaction = came, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	program[n > 0 ? n : 0] = 0;
	sigemptyset(&own.sa_mask);
	for (size_t i = 0; i < KINDS; i++)
		if (sigaction(fatal[i], NULL, &before[i]) == 0 && ((before[i].sa_flags & SA_SIGINFO) || before[i].sa_handler != SIG_IGN))
			sigaction(fatal[i], &own, NULL);
}

/* cr_signals_thread gives the calling thread a stack for signal handlers, if it has none: its own stack may have overflowed. */
HIDDEN void cr_signals_thread(void)
{
	stack_t old, own = {.ss_size = STACK};
	if (sigaltstack(NULL, &old) == 0 && (old.ss_flags & SS_DISABLE) && (own.ss_sp = cr_alloc(STACK)))
		sigaltstack(&own, NULL);
}

/*
 * Errors of MPI that end the process, as with MPI_ERRORS_ARE_FATAL. A library calls its error handlers by an internal function, which the
 * recorder wraps without changing anything. Whether the process will end is not known then, but events that follow show that it did not. At
 * most the first MOST_ERRORS errors are noted.
 */

#define MOST_ERRORS 64

/* failed notes an error; from is the return address of the library's internal function. */
static void failed(int code, uintptr_t from)
{
	static atomic_int errors;
	static _Thread_local int inside;
	char text[MPI_MAX_ERROR_STRING + 1] = "", room[ROOM];
	uintptr_t address[MOST_FRAMES];
	int class = code, length = 0;
	if (code == MPI_SUCCESS || inside || !cr_mine || !atomic_load(&cr.active) || atomic_fetch_add(&errors, 1) >= MOST_ERRORS)
		return;
	inside = 1;
	PMPI_Error_class(code, &class);
	if (PMPI_Error_string(class, text, &length) != MPI_SUCCESS)
		*text = 0;
	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '"')
			*c = ' ';
	note(0, text, address, cr_unwind_call(from, address, MOST_FRAMES), room);
	inside = 0;
}

#define FAILED(code) failed(code, (uintptr_t)__builtin_return_address(0))
#define NEXT(function) \
	static __typeof__(function) *next; \
	if (!next) \
		next = (__typeof__(function) *)cr_library(#function)

#if defined OPEN_MPI
int ompi_errhandler_invoke(void *handler, void *object, int type, int code, const char *message);
int ompi_errhandler_invoke(void *handler, void *object, int type, int code, const char *message)
{
	NEXT(ompi_errhandler_invoke);
	if (handler == (void *)MPI_ERRORS_ARE_FATAL)
		FAILED(code);
	return next(handler, object, type, code, message);
}
#elif defined MPICH_NUMVERSION
#define RETURNS(function) \
	int function(void *object, const char *name, int code); \
	int function(void *object, const char *name, int code) \
	{ \
		NEXT(function); \
		FAILED(code); \
		return next(object, name, code); \
	}
RETURNS(MPIR_Err_return_comm)
RETURNS(MPIR_Err_return_win)
#endif
