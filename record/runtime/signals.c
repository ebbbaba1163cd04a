#define _GNU_SOURCE
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
 * Signals that end the process because of what it did. The handler writes which one it is, and where the thread was, and puts the handler
 * that was there before in its place, the default one or that of a library or of the program. Then it sends the signal again, as it came:
 * when it returns, the thread gets it in the state in which it was interrupted. So the process ends, or not, as it does without the
 * recorder, with the same status, and a core file has the stack of the program.
 *
 * A handler that the program installs later is in the place of this one.
 */

static const int fatal[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
#define KINDS (sizeof fatal / sizeof *fatal)
#define MOST_FRAMES 32
#define STACK (64 << 10)

static struct sigaction before[KINDS];
static char program[PATH_MAX];
static atomic_flag seen = ATOMIC_FLAG_INIT;

/* note defines the signal. Addresses are told by the paths of their files: their numbers may not be known, and take locks. */
static void note(int number, const ucontext_t *context)
{
	static char text[MOST_FRAMES * 512];
	uintptr_t address[MOST_FRAMES];
	const struct stream *s = cr_mine;
	size_t used = (size_t)snprintf(text, sizeof text, "%d %ld %llu\n", number, s ? (long)s->thread : -1L, (unsigned long long)now());
	int limited;
	unsigned n = cr_unwind(context, UINTPTR_MAX, address, MOST_FRAMES, &limited);
	for (unsigned i = 0; i < n; i++) {
		const struct link_map *map = cr_tables(address[i] - 1);
		const char *path = !map ? "?" : *map->l_name ? map->l_name : program;
		int took = snprintf(text + used, sizeof text - used, "%llx %s\n", (unsigned long long)(address[i] - (map ? map->l_addr : 0)), path);
		if (took < 0 || (size_t)took >= sizeof text - used)
			break;
		used += (size_t)took;
	}
	cr_define_now(DEF_SIGNAL, text, used);
}

static void came(int number, siginfo_t *info, void *context)
{
	int error = errno;
	if (atomic_load(&cr.active) && !atomic_flag_test_and_set(&seen))
		note(number, context);
	for (size_t i = 0; i < KINDS; i++)
		if (fatal[i] == number)
			sigaction(number, &before[i], NULL);
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info) != 0 && info->si_code <= 0)
		raise(number);
	errno = error;
}

/* cr_signals_open begins to look for them. Those that the program ignores stay so. */
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

/* cr_signals_thread gives the calling thread a stack for the handler, if it has none: its own may be what is used up. */
HIDDEN void cr_signals_thread(void)
{
	stack_t old, own = {.ss_size = STACK};
	if (sigaltstack(NULL, &old) == 0 && (old.ss_flags & SS_DISABLE) && (own.ss_sp = cr_alloc(STACK)))
		sigaltstack(&own, NULL);
}
