/* Calls on files of all kinds. Each process prints, for each operation that MPI says is done, what it did: the call, the bytes by
 * MPI_Get_count, and the offset in the file if the call had one. Arguments: the folder. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000
static int rank, size;
static int buffer[4 * N];

static void did(const char *call, const MPI_Status *status, long offset)
{
	int n = 0;
	MPI_Get_elements(status, MPI_BYTE, &n);
	printf("{\"Rank\":%d,\"Call\":\"MPI_File_%s\",\"Bytes\":%d,\"Offset\":%ld}\n", rank, call, n, offset);
}

static void failed(const char *call)
{
	printf("failed: %s\n", call);
	MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(x) ((x) == MPI_SUCCESS ? (void)0 : failed(#x))

int main(int argc, char **argv)
{
	MPI_File fh, own, none;
	MPI_Status s, both[2];
	MPI_Request r, two[2];
	MPI_Datatype pair, holes;
	char name[4096], mine[4200];
	int flag = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(name, sizeof name, "%s/all", argv[1]);
	snprintf(mine, sizeof mine, "%s.%d", name, rank);
	const int base = rank * N * 4;
	/* a file that is not there: nothing happened */
	if (MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &none) == MPI_SUCCESS)
		return 1;
	if (MPI_File_delete("/nowhere/at/all", MPI_INFO_NULL) == MPI_SUCCESS)
		return 1;
	for (int again = 0; again < 2; again++) {
		CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
		CHECK(MPI_File_set_size(fh, 0));
		CHECK(MPI_File_open(MPI_COMM_SELF, mine, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &own));
		CHECK(MPI_File_write(own, buffer, rank + 1, MPI_INT, &s)), did("write", &s, -1);
		CHECK(MPI_File_close(&own));
		CHECK(MPI_File_write_at(fh, base, buffer, N, MPI_INT, &s)), did("write_at", &s, base);
		CHECK(MPI_File_write_at_all(fh, base, buffer, N - rank, MPI_INT, &s)), did("write_at_all", &s, base);
		CHECK(MPI_File_seek(fh, base, MPI_SEEK_SET));
		CHECK(MPI_File_write_all(fh, buffer, N, MPI_INT, &s)), did("write_all", &s, -1);
		CHECK(MPI_File_sync(fh));
		MPI_Barrier(MPI_COMM_WORLD);
		CHECK(MPI_File_seek(fh, -4 * N, MPI_SEEK_CUR));
		CHECK(MPI_File_read(fh, buffer, N, MPI_INT, &s)), did("read", &s, -1);
		CHECK(MPI_File_seek(fh, -100, MPI_SEEK_END));
		CHECK(MPI_File_read(fh, buffer, N, MPI_INT, &s)), did("read", &s, -1); /* the file ends after 100 bytes */
		CHECK(MPI_File_read(fh, buffer, N, MPI_INT, &s)), did("read", &s, -1); /* and here */
		CHECK(MPI_File_read(fh, buffer, N, MPI_INT, MPI_STATUS_IGNORE));
		MPI_Status nothing;
		memset(&nothing, 0, sizeof nothing);
		did("read", &nothing, -1);
		CHECK(MPI_File_read_at_all(fh, base, buffer, N, MPI_INT, &s)), did("read_at_all", &s, base);
		/* that end later */
		CHECK(MPI_File_iwrite_at(fh, base, buffer, N / 2, MPI_INT, &two[0]));
		CHECK(MPI_File_iread_at(fh, base + 2 * N, buffer + N, N / 2, MPI_INT, &two[1]));
		CHECK(MPI_Waitall(2, two, both)), did("iwrite_at", &both[0], base), did("iread_at", &both[1], base + 2 * N);
		CHECK(MPI_File_seek(fh, base, MPI_SEEK_SET));
		CHECK(MPI_File_iread(fh, buffer, 7, MPI_INT, &r));
		for (flag = 0; !flag;)
			CHECK(MPI_Test(&r, &flag, &s));
		did("iread", &s, -1);
#ifndef OPEN_MPI /* it waits for the rest forever */
		CHECK(MPI_File_iread_at(fh, (MPI_Offset)size * N * 4 - 12, buffer, N, MPI_INT, &r));
		CHECK(MPI_Wait(&r, &s)), did("iread_at", &s, (long)size * N * 4 - 12);
#endif
		CHECK(MPI_File_iwrite_at_all(fh, base, buffer, N, MPI_INT, &r));
		CHECK(MPI_Wait(&r, &s)), did("iwrite_at_all", &s, base);
		CHECK(MPI_File_write_at_all_begin(fh, base, buffer, N, MPI_INT));
		CHECK(MPI_File_write_at_all_end(fh, buffer, &s)), did("write_at_all_begin", &s, base);
		CHECK(MPI_File_read_at_all_begin(fh, base, buffer, N, MPI_INT));
		CHECK(MPI_File_read_at_all_end(fh, buffer, &s)), did("read_at_all_begin", &s, base);
		/* in the order of the ranks, or of time */
		CHECK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
		CHECK(MPI_File_write_ordered(fh, buffer, 10 * (rank + 1), MPI_INT, &s)), did("write_ordered", &s, -1);
		CHECK(MPI_File_write_shared(fh, buffer, 5, MPI_INT, &s)), did("write_shared", &s, -1);
		MPI_Barrier(MPI_COMM_WORLD);
		/* a view: offsets in pairs of integers, of which every other is left out */
		CHECK(MPI_Type_contiguous(2, MPI_INT, &pair));
		CHECK(MPI_Type_create_resized(pair, 0, 16, &holes));
		CHECK(MPI_Type_commit(&pair));
		CHECK(MPI_Type_commit(&holes));
		CHECK(MPI_File_set_view(fh, base, pair, holes, "native", MPI_INFO_NULL));
		CHECK(MPI_File_read_at(fh, 3, buffer, 4, pair, &s)), did("read_at", &s, base + 3 * 16);
		CHECK(MPI_File_seek(fh, 2, MPI_SEEK_SET));
		CHECK(MPI_File_seek(fh, 1, MPI_SEEK_CUR));
		CHECK(MPI_File_read_at(fh, 0, buffer, 0, pair, &s)), did("read_at", &s, base);
		MPI_Type_free(&pair);
		MPI_Type_free(&holes);
		CHECK(MPI_File_close(&fh));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		CHECK(MPI_File_delete(name, MPI_INFO_NULL));
	MPI_Finalize();
	return 0;
}
