/*
 * Bookkeeping that the planted programs share: what they cost by their own clock.
 *
 * A program notes instants of MPI_Wtime (note), all of which process 0 gets at the end (finish, noted). From these it
 * computes what the planted cause cost, and prints it as one line of JSON (result). The processes of one host read one clock,
 * but MPI_Wtime may count from another instant in each: begin finds out by how much.
 *
 * What is measured lies in interval 1, between a barrier after MPI_Init and finish. Work is sleeping, so that the times
 * do not depend on how many processors there are.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include "coppice_intervals.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HELPER static inline __attribute__((no_instrument_function, unused))

enum { NOTES = 256 }; /* most instants of a process */

static int rank, size;
static double offset;                   /* seconds from MPI_Wtime to the clock of the host */
static double noted_here[NOTES + 3];    /* instants; then begin, end, and the seconds from MPI_Init to there that are not work */
static double (*noted)[NOTES + 3];      /* of all processes, on process 0 after finish */
static int notes;
static double initialised;              /* when MPI_Init had ended */
static _Thread_local double worked;     /* seconds */
static double planted;                  /* seconds of all processes that are what is planted, besides waits and work */

HELPER double monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* now is MPI_Wtime as all processes of the host read it, in seconds. */
HELPER double now(void)
{
	return MPI_Wtime() + offset;
}

/* without_processor is for how long the first thread was ready to run and had no processor, in seconds; 0 where the kernel does not say. */
HELPER double without_processor(void)
{
	unsigned long long ns = 0;
	FILE *f = fopen("/proc/self/schedstat", "r");
	if (f && fscanf(f, "%*u %llu", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return 1e-9 * (double)ns;
}

/* note keeps the present instant and returns its number. */
HELPER int note(void)
{
	if (notes == NOTES)
		MPI_Abort(MPI_COMM_WORLD, 3);
	noted_here[notes] = now();
	return notes++;
}

/* work sleeps some milliseconds; a signal does not cut it short. */
HELPER void work(double ms)
{
	struct timespec t = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000L};
	double begun = monotonic();
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) != 0)
		;
	worked += monotonic() - begun;
}

/* begin starts MPI on a number of processes and the measured part. */
HELPER void begin(int *argc, char ***argv, int processes)
{
	MPI_Init(argc, argv);
	initialised = monotonic();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != processes) {
		fprintf(stderr, "%s: %d processes; it is made for %d\n", (*argv)[0], size, processes);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	double least = 1;
	for (int i = 0; i < 10; i++) { /* of ten readings the one between the closest two of the other clock */
		double a = monotonic(), w = MPI_Wtime(), b = monotonic();
		if (b - a < least) {
			least = b - a;
			offset = (a + b) / 2 - w;
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	coppice_begin(1);
	noted_here[NOTES] = now();
}

/* finish ends the measured part, and gives process 0 what all have noted. */
HELPER void finish(void)
{
	noted_here[NOTES + 1] = now();
	noted_here[NOTES + 2] = monotonic() - initialised - worked;
	if (size == 1) /* one that polls for others has no processor for them anyway */
		noted_here[NOTES + 2] += without_processor();
	coppice_end(1);
	if (rank == 0 && !(noted = calloc((size_t)size, sizeof *noted)))
		MPI_Abort(MPI_COMM_WORLD, 3);
	MPI_Gather(noted_here, NOTES + 3, MPI_DOUBLE, noted, NOTES + 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* late is how much later than a the instant b is: how long who came at a waits for who comes at b. */
HELPER double late(double a, double b)
{
	return b > a ? b - a : 0;
}

/* last is the latest of the instants i of all processes. */
HELPER double last(int i)
{
	double t = noted[0][i];
	for (int p = 1; p < size; p++)
		t = noted[p][i] > t ? noted[p][i] : t;
	return t;
}

/* What processes wait for each other: the one that waits most, and all together. */
struct waits {
	double most, all;
};

/* meetings are the waits where all meet n times, each noting when it comes. */
HELPER struct waits meetings(int n)
{
	struct waits w = {0, 0};
	for (int p = 0; rank == 0 && p < size; p++) {
		double mine = 0;
		for (int i = 0; i < n; i++)
			mine += last(i) - noted[p][i];
		w.most = mine > w.most ? mine : w.most;
		w.all += mine;
	}
	return w;
}

/*
 * result prints on process 0 the cause: its kind; the process that has it, -1 for none in particular; the function, NULL for
 * none in particular; the seconds that the run would be shorter by at most without it, which is what the process waits that waits
 * longest for it; the wait state that shows it, NULL for none, and the seconds of that, summed over the processes that wait. What else
 * the processes spent is printed too, which the library or other programs on the machine may have cost. It ends MPI.
 */
HELPER void result(const char *kind, int process, const char *function, double seconds, const char *pattern, double waits)
{
	if (rank == 0) {
		double first = noted[0][NOTES], end = noted[0][NOTES + 1], besides = -waits - planted;
		for (int p = 0; p < size; p++) {
			besides += noted[p][NOTES + 2];
			first = noted[p][NOTES] < first ? noted[p][NOTES] : first;
			end = noted[p][NOTES + 1] > end ? noted[p][NOTES + 1] : end;
		}
		printf("{\"kind\":\"%s\",\"process\":%d,\"function\":\"%s\",\"seconds\":%.6f,\"runtime\":%.6f,\"pattern\":\"%s\",\"waits\":%.6f,\"besides\":%.6f}\n",
			kind, process, function ? function : "", seconds, end - first, pattern ? pattern : "", waits, besides);
	}
	MPI_Finalize();
}

#endif
