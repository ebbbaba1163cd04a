/*
 * Heat in a plate: five-point stencil on a square grid, rows dealt out over the processes, halo rows exchanged with
 * Irecv, Isend and Waitall, a residual with Allreduce every few steps.
 *
 *   mpicc -O2 -I../include stencil.c -o stencil
 *   mpirun -n 4 ./stencil --size 512 --steps 100 --imbalance 50
 *
 * --compute=busy sweeps the grid; --compute=sleep sleeps instead, one microsecond for each 1000 points, so that runs
 * with more processes than cores are fair. --imbalance P gives the last process P per cent more work, --slow F all
 * processes F times the work, and --delay-us D is a sleep before each send, and before each round of the Allreduce.
 */
#include "coppice_intervals.h"
#include "options.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOLVE = 1, EXCHANGE = 2 };

static double sweep(double *to, const double *from, int rows, int n)
{
	double change = 0;
	for (int i = 1; i <= rows; i++)
		for (int j = 1; j < n - 1; j++) {
			long at = (long)i * n + j;
			to[at] = 0.25 * (from[at - 1] + from[at + 1] + from[at - n] + from[at + n]);
			double d = to[at] - from[at];
			change += d * d;
		}
	return change;
}

static void exchange(double *u, int rows, int n, int rank, int size, const struct options *o)
{
	MPI_Request r[4];
	int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
	MPI_Irecv(u, n, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(u + (long)(rows + 1) * n, n, MPI_DOUBLE, below, 2, MPI_COMM_WORLD, &r[1]);
	before_send(o, above, MPI_PROC_NULL);
	MPI_Isend(u + n, n, MPI_DOUBLE, above, 2, MPI_COMM_WORLD, &r[2]);
	before_send(o, below, MPI_PROC_NULL);
	MPI_Isend(u + (long)rows * n, n, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	struct options o = {.size = 512, .steps = 100};
	int rank, size;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!read_options(&o, argc, argv)) {
		MPI_Finalize();
		return 2;
	}
	int n = o.size, rows = n / size + (rank < n % size);
	size_t points = (size_t)(rows + 2) * (size_t)n;
	double *u = calloc(points, sizeof *u), *v = calloc(points, sizeof *v), change = 0;
	if (!u || !v)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int j = 0; rank == 0 && j < n; j++)
		u[j] = v[j] = 1;
	coppice_begin(SOLVE);
	for (int step = 0; step < o.steps; step++) {
		coppice_begin(EXCHANGE);
		exchange(u, rows, n, rank, size, &o);
		coppice_end(EXCHANGE);
		double work = (double)rows * n * o.slow * (rank == size - 1 ? 1 + o.imbalance / 100.0 : 1), own = 0;
		if (o.sleep)
			sleep_for(work / 1000);
		else {
			for (double left = work; left >= n; left -= (double)rows * n)
				own = sweep(v, u, left < (double)rows * n ? (int)(left / n) : rows, n);
			double *t = u;
			u = v;
			v = t;
		}
		if (step % 10 == 9) {
			before_all(&o, size);
			MPI_Allreduce(&own, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		}
	}
	coppice_end(SOLVE);
	if (rank == 0)
		printf("%d steps of %d x %d, last change %g\n", o.steps, n, n, change);
	free(u);
	free(v);
	MPI_Finalize();
	return 0;
}
