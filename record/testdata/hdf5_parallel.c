/* All processes write a dataset of HDF5 together, in one file in a folder, and read it back: each has its own rows. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define N 256
static double a[N][N], b[N][N];

int main(int argc, char **argv)
{
	char name[4096];
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(name, sizeof name, "%s/all.h5", argv[1]);
	for (int i = 0; i < N * N; i++)
		a[i / N][i % N] = rank + i;
	hsize_t all[2] = {(hsize_t)size * N, N}, own[2] = {N, N}, from[2] = {(hsize_t)rank * N, 0};
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), together = H5Pcreate(H5P_DATASET_XFER);
	H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
	H5Pset_dxpl_mpio(together, H5FD_MPIO_COLLECTIVE);
	hid_t f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access), space = H5Screate_simple(2, all, NULL), rows = H5Screate_simple(2, own, NULL);
	hid_t data = H5Dcreate2(f, "grid", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, own, NULL);
	H5Dwrite(data, H5T_NATIVE_DOUBLE, rows, space, together, a);
	H5Dread(data, H5T_NATIVE_DOUBLE, rows, space, together, b);
	H5Dclose(data), H5Sclose(rows), H5Sclose(space), H5Fclose(f), H5Pclose(together), H5Pclose(access);
	if (memcmp(a, b, sizeof a) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Finalize();
	return 0;
}
