//go:build cgo && !nompi

// A job is asked to stop with SIGUSR1, and batch systems send it when they like. Until the job listens, the system's default
// would end the process, and later Go's runtime would drop the signal. So it waits, from before the first constructor of a
// library on: Go takes it out of the mask when os/signal asks for it. Programs that a process starts inherit the mask, so
// only jobs that start none have it.
#include <signal.h>
#include <string.h>

#ifdef __GLIBC__ // others give no arguments here
static void hold(int argc, char **argv, char **envp) {
	(void)envp;
	if (argc < 2 || (strcmp(argv[1], "analyze") && strcmp(argv[1], "predict")))
		return;
	for (int i = 2; i < argc; i++)
		if (!strncmp(argv[i], "--run", 5)) // of predict: it starts the program
			return;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}
__attribute__((section(".preinit_array"), used)) static void (*const holds)(int, char **, char **) = hold;
#endif
