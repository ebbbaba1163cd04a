/*
 * Programs with a change that is made or not: what coppice levers says of a change can be held against what it does.
 *
 *   mpicc -O1 -finstrument-functions -rdynamic changes.c -o changes
 *   mpirun -n 4 ./changes function       as it is
 *   mpirun -n 4 ./changes function 1     with the change
 *
 * It prints the seconds from a barrier after MPI_Init to the last process that is done. Work is sleeping, but in compute,
 * so that there may be more processes than cores.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HELPER static inline __attribute__((no_instrument_function))

static int rank, size, changed;
static const MPI_Comm world = MPI_COMM_WORLD;

/* Libraries that wait give up the processor, where there are more processes: for some time, so that it is free for those that work. */
__attribute__((no_instrument_function)) int sched_yield(void)
{
	struct timespec t = {0, 20000};
	return nanosleep(&t, NULL);
}

/* work sleeps some milliseconds, to an instant. */
HELPER void work(double ms)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	long ns = t.tv_nsec + (long)(ms * 1e6);
	t.tv_sec += ns / 1000000000;
	t.tv_nsec = ns % 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

/* vary is a number from 0 to n - 1 that looks random, of a step on this process. */
HELPER int vary(int step, int n)
{
	unsigned x = (unsigned)(step * 131 + rank * 31 + 7);
	x ^= x >> 4;
	x *= 0x9E3779B1U;
	x ^= x >> 15;
	return (int)(x % (unsigned)n);
}

HELPER void sum(void)
{
	double mine = 1, all;
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, world);
}

void assemble(int step)
{
	work(5 + vary(step, 10));
}

void solve(int step)
{
	work((20 + vary(step + 1000, 20)) / (changed ? 2.0 : 1));
}

/* A function is twice as fast. */
void function(void)
{
	for (int i = 0; i < 30; i++) {
		assemble(i);
		solve(i);
		sum();
	}
}

void relax(int step)
{
	static const int ms[] = {10, 15, 20, 55};
	work((changed ? 25 : ms[rank % 4]) + step % 2);
}

/* Process 3 of four has more to do than the others, and then no longer. */
void balance(void)
{
	for (int i = 0; i < 25; i++) {
		int left = (rank + size - 1) % size, right = (rank + 1) % size, got;
		relax(i);
		MPI_Sendrecv(&i, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, world, MPI_STATUS_IGNORE);
		assemble(i);
	}
}

/* A barrier in each step, which nobody needs. */
void barrier(void)
{
	for (int i = 0; i < 40; i++) {
		work(10 + vary(i, 40));
		if (!changed)
			MPI_Barrier(world);
	}
}

/* Many small messages, or one with all of them. */
void messages(void)
{
	enum { MANY = 500 };
	static int to[MANY], from[MANY];
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	for (int i = 0; i < 20; i++) {
		work(40);
		MPI_Request r;
		for (int k = 0; k < MANY; k += changed ? MANY : 1) {
			int n = changed ? MANY : 1;
			MPI_Irecv(from + k, n, MPI_INT, left, 0, world, &r);
			MPI_Send(to + k, n, MPI_INT, right, 0, world);
			MPI_Wait(&r, MPI_STATUS_IGNORE);
		}
	}
}

static char large[1 << 16]; /* more than libraries send before a receive is posted */

/* progress works, and lets the library go on every 2 milliseconds. */
HELPER void progress(double ms, MPI_Request *r)
{
	for (double done = 0; done < ms; done += 2) {
		int flag;
		work(2);
		MPI_Test(r, &flag, MPI_STATUS_IGNORE);
	}
}

/* Process 0 sends a large message to process 1, which receives after its work; or it posts the receive before, and tests meanwhile if asked. */
HELPER void receives(int tests)
{
	for (int i = 0; i < 30; i++) {
		MPI_Request r = MPI_REQUEST_NULL;
		if (rank % 2 == 0) {
			work(5);
			MPI_Send(large, sizeof large, MPI_BYTE, rank + 1, 0, world);
			work(30);
		} else {
			if (changed)
				MPI_Irecv(large, sizeof large, MPI_BYTE, rank - 1, 0, world, &r);
			if (tests)
				progress(24, &r);
			else
				work(25);
			if (changed)
				MPI_Wait(&r, MPI_STATUS_IGNORE);
			else
				MPI_Recv(large, sizeof large, MPI_BYTE, rank - 1, 0, world, MPI_STATUS_IGNORE);
			work(10);
		}
		MPI_Barrier(world);
	}
}

void receive(void)
{
	receives(1);
}

void unprogressed(void)
{
	receives(0);
}

/* Synchronous sends to a process that now and then is slower; or sends that do not wait. */
void synchronous(void)
{
	enum { STEPS = 40 };
	MPI_Request r[STEPS];
	for (int i = 0; i < STEPS; i++) {
		work(i % 2 == rank % 2 ? 30 : 10);
		if (rank % 2)
			MPI_Recv(large, 100, MPI_BYTE, rank - 1, 0, world, MPI_STATUS_IGNORE);
		else if (changed)
			MPI_Isend(large, 100, MPI_BYTE, rank + 1, 0, world, &r[i]);
		else
			MPI_Ssend(large, 100, MPI_BYTE, rank + 1, 0, world);
	}
	if (rank % 2 == 0 && changed)
		MPI_Waitall(STEPS, r, MPI_STATUSES_IGNORE);
}

void prepare(void)
{
	work(changed ? 20 : 40);
}

/* The root of a broadcast prepares longer than others need for what they do meanwhile. */
void root(void)
{
	for (int i = 0; i < 25; i++) {
		if (rank == 0)
			prepare();
		else
			assemble(i);
		MPI_Bcast(large, 1000, MPI_BYTE, 0, world);
		work(10);
	}
}

void slowest(void)
{
	work(changed ? 15 : 30);
}

/* Items pass from process to process; the third is the slowest. */
void pipeline(void)
{
	int item = 0;
	for (int i = 0; i < 40; i++) {
		if (rank > 0)
			MPI_Recv(&item, 1, MPI_INT, rank - 1, 0, world, MPI_STATUS_IGNORE);
		if (rank == 2)
			slowest();
		else
			work(10 + vary(i, 10));
		if (rank < size - 1)
			MPI_Send(&item, 1, MPI_INT, rank + 1, 0, world);
	}
}

void hand_out(void)
{
	work(changed ? 5 : 10);
}

/* Process 0 hands out tasks; it is what others wait for, and with the change it is them who take longest. */
void master(void)
{
	enum { TASKS = 90 };
	int task = 0;
	if (rank == 0) {
		for (int left = size - 1; left > 0;) {
			MPI_Status s;
			MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, world, &s);
			if (task < TASKS) {
				hand_out();
				task++;
			} else {
				task = TASKS + 1;
				left--;
			}
			MPI_Send(&task, 1, MPI_INT, s.MPI_SOURCE, 0, world);
		}
		return;
	}
	for (;;) {
		MPI_Send(NULL, 0, MPI_BYTE, 0, 0, world);
		MPI_Recv(&task, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
		if (task > TASKS)
			return;
		work(18);
	}
}

void print_state(FILE *f)
{
	for (int n = 0; n < (changed ? 200 : 400); n++) {
		fprintf(f, "%d %.9f\n", n, 1.0 / (n + 1));
		if (n % 100 == 99) {
			fflush(f);
			work(10); /* a slow disk */
		}
	}
}

/* Process 0 writes what all have computed; with the change half as much. */
void output(void)
{
	FILE *f = rank == 0 ? tmpfile() : NULL;
	if (rank == 0 && !f)
		MPI_Abort(world, 3);
	for (int i = 0; i < 20; i++) {
		assemble(i);
		MPI_Gather(&i, 1, MPI_INT, large, 1, MPI_INT, 0, world);
		if (rank == 0)
			print_state(f);
	}
	if (f)
		fclose(f);
}

/* add_up keeps a processor busy. */
double add_up(long n)
{
	double x = 0;
	for (long i = 1; i < n; i++)
		x += 1.0 / (double)i;
	return x;
}

/* Process 0 computes half as much, while the others wait for it. This takes the time that the processor has. */
void compute(void)
{
	for (int i = 0; i < 20; i++) {
		if (rank == 0)
			large[0] = (char)add_up(changed ? 10000000 : 20000000);
		assemble(i);
		MPI_Gather(&i, 1, MPI_INT, large, 1, MPI_INT, 0, world);
	}
}

/* Process 0 finishes what the other needs, does more work and sends then; or sends at once. */
void sooner(void)
{
	int other = rank ^ 1, item = 0;
	for (int i = 0; i < 40; i++) {
		if (rank % 2 == 0) {
			work(10);
			if (changed)
				MPI_Send(&item, 1, MPI_INT, other, 0, world);
			work(15);
			if (!changed)
				MPI_Send(&item, 1, MPI_INT, other, 0, world);
			MPI_Recv(&item, 1, MPI_INT, other, 1, world, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(&item, 1, MPI_INT, other, 0, world, MPI_STATUS_IGNORE);
			work(12);
			MPI_Send(&item, 1, MPI_INT, other, 1, world);
		}
	}
}

/* Messages that take long: with the change half of the bytes. */
void bytes(void)
{
	int n = (1 << 23) / (changed ? 2 : 1);
	char *b = calloc(1 << 23, 1);
	if (!b)
		MPI_Abort(world, 3);
	for (int i = 0; i < 20; i++) {
		work(10);
		if (rank % 2)
			MPI_Recv(b, n, MPI_BYTE, rank - 1, 0, world, MPI_STATUS_IGNORE);
		else
			MPI_Send(b, n, MPI_BYTE, rank + 1, 0, world);
	}
	free(b);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{"function", function}, {"balance", balance}, {"barrier", barrier}, {"messages", messages}, {"receive", receive}, {"unprogressed", unprogressed},
		{"synchronous", synchronous}, {"root", root}, {"pipeline", pipeline}, {"master", master}, {"output", output}, {"compute", compute}, {"sooner", sooner}, {"bytes", bytes},
	};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &size);
	changed = argc > 2;
	for (size_t i = 0; size >= 4 && size % 2 == 0 && argc > 1 && i < sizeof cases / sizeof *cases; i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		MPI_Barrier(world);
		double begin = MPI_Wtime(), mine, all;
		cases[i].run();
		mine = MPI_Wtime() - begin;
		MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, 0, world);
		if (rank == 0)
			printf("%.6f\n", all);
		MPI_Finalize();
		return 0;
	}
	if (rank == 0)
		fprintf(stderr, "%s: the name of a case, on an even number of processes from 4 on\n", argv[0]);
	MPI_Abort(world, 2);
	return 2;
}
