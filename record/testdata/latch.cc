// A thread that waits at a latch of C++20, which calls the kernel itself. Prints a number, and the seconds that it waited by its own clock.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <latch>
#include <thread>

static std::latch gate(1);
static double waited;

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

static void waits()
{
	double begin = now();
	gate.wait(); // the waiting line
	waited = now() - begin;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	std::thread other(waits);
	std::this_thread::sleep_for(std::chrono::milliseconds(400));
	gate.count_down();
	other.join();
	std::printf("%d %.6f\n", 1, waited);
	MPI_Finalize();
	return 0;
}
