//go:build cgo && !nompi

// Settings of a rank that must be made before Go's runtime and constructors of libraries begin.
//
// SIGUSR1 asks a job to stop, and batch systems may send it at any time. Until the job handles it, it would end the process, or later be
// dropped by Go's runtime. So it is blocked: Go unblocks it when os/signal handles it.
//
// Timers of a rank may be late. A thread of Go's runtime (sysmon) sleeps for 20 us at a time; if ranks share processors that takes more
// time than the analysis of a small trace. cop_init and cop_doze set shorter slacks.
//
// Child processes inherit both, so only jobs that do not start programs have them.
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#ifdef __GLIBC__ // other C libraries do not pass arguments here
enum { LATE = 5000000 }; // ns

static int launched(char **envp) {
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE=", "PMIX_RANK=", "PMI_RANK=", "PMI_SIZE="};
	for (; *envp; envp++)
		for (int i = 0; i < 4; i++)
			if (!strncmp(*envp, names[i], strlen(names[i])))
				return 1;
	return 0;
}

static void prepare(int argc, char **argv, char **envp) {
	if (argc < 2 || (strcmp(argv[1], "analyze") && strcmp(argv[1], "predict")))
		return;
	for (int i = 2; i < argc; i++)
		if (!strncmp(argv[i], "--run", 5)) // predict --run starts a program
			return;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (launched(envp))
		prctl(PR_SET_TIMERSLACK, LATE);
}
__attribute__((section(".preinit_array"), used)) static void (*const prepares)(int, char **, char **) = prepare;
#endif
