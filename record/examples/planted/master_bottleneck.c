/* Three workers ask process 0 for each task of 10 ms; it takes 15 ms to hand one out. */
#include "planted.h"

enum { TASKS = 7, ASK = 1, TASK = 2, ANSWERS = 32, FROM = 64 }; /* tasks of a worker; where process 0 notes what */

int hand_out(int task)
{
	work(15);
	return task + 1;
}

int main(int argc, char **argv)
{
	int task = 0, answered[4] = {0};
	begin(&argc, &argv, 4);
	if (rank == 0) {
		for (int i = 0; i < TASKS * (size - 1); i++) {
			MPI_Status s;
			noted_here[i] = now();
			MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, ASK, MPI_COMM_WORLD, &s);
			noted_here[FROM + i] = s.MPI_SOURCE;
			task = hand_out(task);
			noted_here[ANSWERS + s.MPI_SOURCE * TASKS + answered[s.MPI_SOURCE]++] = now();
			MPI_Send(&task, 1, MPI_INT, s.MPI_SOURCE, TASK, MPI_COMM_WORLD); /* late */
		}
	} else {
		for (int i = 0; i < TASKS; i++) {
			note();
			MPI_Send(NULL, 0, MPI_BYTE, 0, ASK, MPI_COMM_WORLD);
			MPI_Recv(&task, 1, MPI_INT, 0, TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
			work(10);
		}
	}
	finish();
	double most = 0, all = 0;
	for (int p = 1; rank == 0 && p < size; p++) {
		double waits = 0;
		for (int i = 0; i < TASKS; i++)
			waits += late(noted[p][i], noted[0][ANSWERS + p * TASKS + i]);
		most = waits > most ? waits : most;
		all += waits;
	}
	int asked[4] = {0};
	for (int i = 0; rank == 0 && i < TASKS * (size - 1); i++) { /* process 0 waits for work when all are busy */
		int p = (int)noted[0][FROM + i];
		all += late(noted[0][i], noted[p][asked[p]++]);
	}
	result("late_sender", 0, "hand_out", most, "late_sender", all);
	return 0;
}
