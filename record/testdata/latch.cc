// A thread that waits at a latch of C++20, which calls the kernel itself, after it gave its processor away some times. Prints a number, the seconds that it waited by
// its own clock, and those of them in which it did not want a processor, by the kernel's.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <latch>
#include <thread>

static std::latch gate(1);
static double waited, asleep;

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// wanted is for how long this thread has run, or could have with a processor; 0 where the kernel does not say.
static double wanted()
{
	unsigned long long run = 0, delay = 0;
	if (FILE *f = std::fopen("/proc/thread-self/schedstat", "r")) {
		if (std::fscanf(f, "%llu %llu", &run, &delay) != 2)
			run = delay = 0;
		std::fclose(f);
	}
	return 1e-9 * double(run + delay);
}

static void waits()
{
	double before = wanted(), begin = now();
	gate.wait(); // the waiting line
	waited = now() - begin;
	asleep = waited - (wanted() - before);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	std::thread other(waits);
	std::this_thread::sleep_for(std::chrono::milliseconds(400));
	gate.count_down();
	other.join();
	std::printf("%d %.6f %.6f\n", 1, waited, asleep);
	MPI_Finalize();
	return 0;
}
