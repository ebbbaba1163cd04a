/* Begins MPI by a session, where the library has them, and by MPI_Init too if there is an argument. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4
	MPI_Session s;
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
	if (argc > 1) {
		MPI_Init(&argc, &argv);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Finalize();
	}
	MPI_Session_finalize(&s);
	puts("sessions");
#else
	(void)argc, (void)argv;
#endif
	return 0;
}
