/* Process 1 computes 70 % of its time in heavy and 30 % in light, by its processor time; process 0 waits for it. Prints both in s. With an argument
 * it blocks SIGTRAP for a tenth of the time, takes it for itself at half the time, and gives it back to the system later. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static volatile double x;
static volatile int traps;

static void trap(int number) { traps += number == SIGTRAP; }

static double spent(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) static void spin(double until)
{
	while (spent() < until)
		for (int i = 0; i < 10000; i++)
			x += 1e-9;
}

__attribute__((noinline)) static double heavy(double from) /* heavy */
{
	spin(from + 0.140);
	return x + spent() - from - x;
}

__attribute__((noinline)) static double light(double from) /* light */
{
	spin(from + 0.060);
	return x + spent() - from - x;
}

int main(int argc, char **argv)
{
	int rank;
	double h = 0, l = 0;
	const struct sigaction none = {.sa_handler = SIG_DFL};
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTRAP);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 10; i++) {
		if (argc > 1 && (i == 3 || i == 4))
			sigprocmask(i == 3 ? SIG_BLOCK : SIG_UNBLOCK, &blocked, NULL);
		if (argc > 1 && i == 5) {
			signal(SIGTRAP, trap);
			raise(SIGTRAP);
		}
		if (argc > 1 && i == 7)
			sigaction(SIGTRAP, &none, NULL);
		if (rank == 1) {
			h += heavy(spent());
			l += light(spent());
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (rank == 1)
		printf("%.6f %.6f\n", h, l);
	MPI_Finalize();
	return traps != (argc > 1);
}
