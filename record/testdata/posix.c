/* Reads and writes a file of its own in a folder in each way, some of it short or failing, after MPI_Init and with its results checked. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

int close_range(unsigned, unsigned, int);

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

int main(int argc, char **argv)
{
	char name[4096], b[5000] = "";
	struct iovec v[2] = {{b, 700}, {b + 700, 33}};
	int ends[2];
	MPI_Init(&argc, &argv);
	snprintf(name, sizeof name, "%s/file", argv[1]);
	int f = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(f >= 0);
	for (int i = 1; i <= 100; i++)
		CHECK(write(f, b, (size_t)i) == i);
	CHECK(pwrite(f, b, 1234, 9000) == 1234);
	CHECK(writev(f, v, 2) == 733);
	CHECK(lseek(f, -100, SEEK_END) == 9000 + 1234 - 100);
	CHECK(read(f, b, sizeof b) == 100); /* the file ends */
	CHECK(pread(f, b, 77, 10) == 77);
	CHECK(lseek(f, 0, SEEK_SET) == 0);
	CHECK(readv(f, v, 2) == 733);
	int copy = dup(f);
	CHECK(write(copy, b, 5) == 5);
	CHECK(close(copy) == 0 && fsync(f) == 0 && close(f) == 0);
	errno = 0;
	CHECK(read(f, b, 1) == -1 && errno == EBADF);
	errno = 0;
	CHECK(open("/nowhere/at/all", O_RDONLY) == -1 && errno == ENOENT);
	CHECK(pipe(ends) == 0 && write(ends[1], b, 9) == 9 && read(ends[0], b, 9) == 9); /* no file, with the numbers of closed ones */
	FILE *text = fopen(name, "w+"), *copied;
	char *line = NULL;
	size_t room = 0;
	CHECK(text && fprintf(text, "%d lines\n", 3) == 8 && fputs("of text\n", text) >= 0 && fputs("and an end", text) >= 0 && fseek(text, 0, SEEK_SET) == 0);
	CHECK(fgets(b, 100, text) == b && getline(&line, &room, text) == 8 && getdelim(&line, &room, ' ', text) == 4 && fgets(b, 4, text) == b);
	CHECK(fgets(b, 100, text) == b && fgets(b, 100, text) == NULL && getline(&line, &room, text) == -1 && fclose(text) == 0);
	CHECK((copied = fmemopen(b, sizeof b, "w")) && fprintf(copied, "%s", "memory") == 6 && fclose(copied) == 0);
	int again = open(name, O_RDONLY);
	CHECK(again >= 0 && read(again, b, 3) == 3 && close_range((unsigned)again, (unsigned)again, 0) == 0);
	CHECK(pipe(ends) == 0 && ends[0] == again && write(ends[1], b, 11) == 11 && read(ends[0], b, 11) == 11);
	MPI_Finalize();
	return 0;
}
