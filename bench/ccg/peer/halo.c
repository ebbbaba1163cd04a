/* A halo exchange on a periodic grid of processes: four Irecv, four Isend and a Waitall in each step, an Allreduce every ten.
 *
 *   halo STEPS [varying]
 *
 * With "varying" the size of the messages changes with each step. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int size, dims[2] = {0, 0}, periodic[2] = {1, 1}, peers[4];
	int steps = argc > 1 ? atoi(argv[1]) : 1000, varying = argc > 2 && !strcmp(argv[2], "varying");
	static double out[4][1024], in[4][1024];
	double sum = 0, all = 0;
	MPI_Comm grid;
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Dims_create(size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &grid);
	MPI_Cart_shift(grid, 0, 1, &peers[0], &peers[1]);
	MPI_Cart_shift(grid, 1, 1, &peers[2], &peers[3]);
	for (int s = 0; s < steps; s++) {
		int n = varying ? 512 + s % 512 : 512;
		MPI_Request r[8];
		for (int i = 0; i < 4; i++)
			MPI_Irecv(in[i], n, MPI_DOUBLE, peers[i ^ 1], i, grid, &r[i]);
		for (int i = 0; i < 4; i++)
			MPI_Isend(out[i], n, MPI_DOUBLE, peers[i], i, grid, &r[4 + i]);
		MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
		for (int i = 0; i < 1024; i++)
			sum += out[i % 4][i] = 0.5 * in[i % 4][i] + s;
		if (s % 10 == 9)
			MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
	}
	MPI_Comm_free(&grid);
	MPI_Finalize();
	return 0;
}
