/* Writes a dataset of HDF5 in chunks, reads it and an attribute back, in a folder; each process has its own file. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define N 512
static double a[N][N], b[N][N];

int main(int argc, char **argv)
{
	char name[4096];
	int rank, answer = 42, got = 0;
	hsize_t size[2] = {N, N}, chunk[2] = {64, N};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof name, "%s/%d.h5", argv[1], rank);
	for (int i = 0; i < N * N; i++)
		a[i / N][i % N] = i;
	hid_t f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(2, size, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_chunk(how, 2, chunk);
	hid_t data = H5Dcreate2(f, "grid", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, how, H5P_DEFAULT);
	hid_t one = H5Screate(H5S_SCALAR), note = H5Acreate2(data, "answer", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
	H5Awrite(note, H5T_NATIVE_INT, &answer);
	H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, a);
	H5Aclose(note), H5Dclose(data), H5Fclose(f);
	f = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT), data = H5Dopen2(f, "grid", H5P_DEFAULT), note = H5Aopen(data, "answer", H5P_DEFAULT);
	H5Aread(note, H5T_NATIVE_INT, &got);
	H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, b);
	H5Aclose(note), H5Dclose(data), H5Fclose(f);
	if (got != answer || memcmp(a, b, sizeof a) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Finalize();
	return 0;
}
