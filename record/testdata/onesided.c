/*
 * One-sided communication of all kinds. Process 1 comes late to each fence, which is an interval of its own, for which process 0
 * prints, as a line of JSON, what the others waited by the program's own clock. Run with 4 processes.
 */
#include "../examples/planted/planted.h"

enum { LATE = 50, FENCES = 6 };

static int wrong;

static void fences(MPI_Win win, int *mine)
{
	int value = 100 + rank;
	MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	for (int i = 0; i < FENCES; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		coppice_begin(i + 2);
		MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
		work(rank == 1 ? LATE : 5);
		note();
		MPI_Win_fence(i + 1 < FENCES ? 0 : MPI_MODE_NOSUCCEED, win);
		coppice_end(i + 2);
		wrong += mine[0] != 100 + (rank + size - 1) % size;
	}
}

static void locks(MPI_Win win, int *mine)
{
	int one = 1, got = -1, zero = 0, sum = 0;
	mine[1] = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
	MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
	MPI_Win_unlock(0, win);
	MPI_Win_lock_all(0, win);
	MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 1, MPI_SUM, win);
	MPI_Win_flush(0, win);
	wrong += got < 1 || got >= 2 * size;
	MPI_Compare_and_swap(&one, &zero, &got, MPI_INT, rank, 2, win);
	MPI_Get_accumulate(&one, 1, MPI_INT, &got, 1, MPI_INT, rank, 3, 1, MPI_INT, MPI_SUM, win);
	MPI_Win_flush_all(win);
	MPI_Request r[2];
	MPI_Rput(&one, 1, MPI_INT, rank, 4, 1, MPI_INT, win, &r[0]);
	MPI_Rget(&sum, 1, MPI_INT, 0, 1, 1, MPI_INT, win, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	MPI_Put(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	wrong += rank == 0 && mine[1] != 2 * size;
}

static void epochs(MPI_Win win, int *mine)
{
	MPI_Group all, next, before;
	int right = (rank + 1) % size, left = (rank + size - 1) % size, value = rank;
	MPI_Win_get_group(win, &all);
	MPI_Group_incl(all, 1, &right, &next);
	MPI_Group_incl(all, 1, &left, &before);
	MPI_Win_post(before, 0, win);
	MPI_Win_start(next, 0, win);
	MPI_Put(&value, 1, MPI_INT, right, 5, 1, MPI_INT, win);
	MPI_Win_complete(win);
	MPI_Win_wait(win);
	wrong += mine[5] != left;
	MPI_Group_free(&next);
	MPI_Group_free(&before);
	MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
	int *mine;
	MPI_Win win;
	begin(&argc, &argv, 4);
	MPI_Win_allocate(64 * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	for (int i = 0; i < 64; i++)
		mine[i] = 0;
	fences(win, mine);
	locks(win, mine);
	epochs(win, mine);
	MPI_Win_free(&win);
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	finish();
	for (int i = 0; rank == 0 && i < FENCES; i++) {
		double waits = 0;
		for (int p = 0; p < size; p++)
			waits += late(noted[p][i], last(i));
		printf("{\"interval\":%d,\"call\":\"MPI_Win_fence\",\"pattern\":\"wait_barrier\",\"waits\":%.6f,\"wrong\":%d}\n", i + 2, waits, wrong);
	}
	MPI_Finalize();
	return 0;
}
