// C++ threads that wait for a mutex, for a condition and for each other's end, next to MPI calls of the first thread. Prints a sum that has one right value, and the
// seconds that a thread waited for the mutex by its own clock.
#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex guard, gate;
static std::condition_variable opened;
static bool open_now;
static int sum;
static double waited;

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

static void adds(int n)
{
	for (int i = 0; i < 1000; i++) {
		std::lock_guard<std::mutex> hold(guard);
		sum += n;
	}
	std::unique_lock<std::mutex> passes(gate);
	opened.wait(passes, [] { return open_now; });
}

static void blocked()
{
	double begin = now();
	guard.lock(); // the waiting line
	waited = now() - begin;
	sum++;
	guard.unlock();
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	std::vector<std::thread> team;
	for (int i = 1; i <= 3; i++)
		team.emplace_back(adds, i);
	std::this_thread::sleep_for(std::chrono::milliseconds(100));
	{
		std::lock_guard<std::mutex> hold(gate);
		open_now = true;
	}
	opened.notify_all();
	for (std::thread &t : team)
		t.join();
	guard.lock();
	std::thread late(blocked);
	std::this_thread::sleep_for(std::chrono::milliseconds(400));
	guard.unlock();
	late.join();
	MPI_Barrier(MPI_COMM_WORLD);
	std::printf("%d %.6f\n", sum, waited);
	MPI_Finalize();
	return 0;
}
