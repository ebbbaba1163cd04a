/* Process 2 comes 600 ms late to the third of five MPI_File_write_at_all. */
#include "planted.h"

#include <unistd.h>

enum { ROUNDS = 5 };

static char block[1 << 10];

void prepare(int round)
{
	work(round == 2 && rank == 2 ? 610 : 10);
}

int main(int argc, char **argv)
{
	MPI_File file;
	char name[64];
	snprintf(name, sizeof name, "/tmp/io_late_rank.%d", (int)getppid()); /* all have the same parent */
	begin(&argc, &argv, 4);
	note();
	MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
	for (int i = 0; i < ROUNDS; i++) {
		prepare(i);
		note();
		MPI_File_write_at_all(file, (i * size + rank) * (MPI_Offset)sizeof block, block, sizeof block, MPI_BYTE, MPI_STATUS_IGNORE); /* waits, late */
	}
	note();
	MPI_File_close(&file);
	finish();
	struct waits w = meetings(ROUNDS + 2);
	result("imbalance", 2, "prepare", w.most, "wait_barrier", w.all);
	return 0;
}
