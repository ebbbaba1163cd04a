//go:build cgo && !nompi

// What a job has to have before Go's runtime and the constructors of libraries begin.
//
// SIGUSR1 asks a job to stop, and batch systems send it when they like. Until the job listens, the system's default would end the
// process, and later Go's runtime would drop the signal. So it waits: Go takes it out of the mask when os/signal asks for it.
//
// Timers of a rank may be late: a thread of Go's runtime that looks after the others sleeps for 20 us at a time, which takes more time
// than the analysis of a small trace where ranks share processors. cop_init and cop_doze are more punctual.
//
// Programs that a process starts inherit both, so only jobs that start none have it.
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#ifdef __GLIBC__ // others give no arguments here
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
		if (!strncmp(argv[i], "--run", 5)) // of predict: it starts the program
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
