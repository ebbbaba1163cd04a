/* Processes 0 and 1 are in MPI_Allreduce, process 2 receives what nobody sends. After a second a signal ends the job. */
#include "planted.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int mine = 1, all;
	begin(&argc, &argv, 3);
	if (rank == 0) {
		printf("{\"kind\":\"hang\",\"process\":2,\"function\":\"MPI_Recv\",\"seconds\":1,\"runtime\":1,\"pattern\":\"\",\"waits\":0}\n");
		fflush(stdout);
	}
	if (rank == 2) {
		work(100);
		signal(SIGALRM, SIG_DFL);
		alarm(1);
		MPI_Recv(&all, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
	}
	MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* waits */
	MPI_Finalize();
	return 0;
}
