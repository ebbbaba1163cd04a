#define _GNU_SOURCE
#include "fortran.h"
#include "log.h"
#include "vector.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Wrappers of functions that begin and end MPI, and of MPI_Pcontrol. log.h has their numbers. */

int MPI_Init(int *argc, char ***argv)
{
	uint64_t t = cr_begins();
	int rc = PMPI_Init(argc, argv);
	if (rc == MPI_SUCCESS) {
		cr_start(t, F_INIT, CR_PLACE);
		lg_begin(F_INIT, 0);
		cr_vector_leave();
	}
	return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	uint64_t t = cr_begins();
	int rc = PMPI_Init_thread(argc, argv, required, provided);
	if (rc == MPI_SUCCESS) {
		cr_start(t, F_INIT_THREAD, CR_PLACE);
		lg_begin(F_INIT_THREAD, *provided);
		cr_vector_leave();
	}
	return rc;
}

int MPI_Finalize(void)
{
	int outermost = cr_enter(F_FINALIZE, CR_PLACE);
	if (outermost)
		cr_usage(0);
	cr_clock(1);
	int rc = PMPI_Finalize();
	if (outermost) {
		cr_returned();
		cr_leave();
		cr_stop(END_FINALIZE);
		lg_finalize(rc);
	}
	return rc;
}

int MPI_Abort(MPI_Comm comm, int code)
{
	if (cr_enter(F_ABORT, CR_PLACE))
		cr_abort(code);
	lg_stop(LG_ABORT);
	return PMPI_Abort(comm, code);
}

/* readable copies the text at p. It returns 0 if p is not the address of a text: the wrapper cannot know whether the program passed a
 * second argument. */
static int readable(const void *p, char *text, size_t size)
{
	struct iovec to = {text, size - 1}, from = {(void *)(uintptr_t)p, size - 1};
	ssize_t n = -1;
	while (p && from.iov_len > 8 && (n = process_vm_readv(getpid(), &to, 1, &from, 1, 0)) < 0) /* the memory may end within size bytes */
		from.iov_len /= 2;
	if (n <= 0)
		return 0;
	text[n] = 0;
	size_t length = strlen(text);
	for (size_t i = 0; i < length; i++)
		if (!isprint((unsigned char)text[i]))
			return 0;
	return length > 0 && length < size - 1;
}

static void control(int level, const char *name, struct cr_place from)
{
	cr_part_begins(0, level);
	if (!cr_enter(F_PCONTROL, from))
		return;
	uint64_t a[2] = {(uint64_t)((int64_t)level << 1 ^ (int64_t)level >> 63), name ? cr_name(name) + 1 : 0};
	cr_event(EV_PCONTROL, 2, a);
	cr_returned();
	cr_leave();
	cr_part_ends(0, level);
}

int MPI_Pcontrol(const int level, ...)
{
	char text[128];
	const char *name = NULL;
	if (level == 1 || level == -1) {
		va_list list;
		va_start(list, level);
		if (readable(va_arg(list, const void *), text, sizeof text))
			name = text;
		va_end(list);
	}
	control(level, name, CR_PLACE);
	return PMPI_Pcontrol(level);
}

/* Fortran. The library's own functions call PMPI functions, which are not wrapped. */

typedef void fortran_1(void *);
typedef void fortran_3(void *, void *, void *);
static void *real(void **f, const char *symbol) { return *f ? *f : (*f = cr_library(symbol)); }

static void f_init(void *f, void *ierror, struct cr_place from)
{
	uint64_t t = cr_begins();
	((fortran_1 *)f)(ierror);
	cr_start(t, F_INIT, from);
	lg_begin(F_INIT, 0);
	cr_vector_leave();
}

static void f_init_thread(void *f, void *required, void *provided, void *ierror, struct cr_place from)
{
	uint64_t t = cr_begins();
	((fortran_3 *)f)(required, provided, ierror);
	cr_start(t, F_INIT_THREAD, from);
	lg_begin(F_INIT_THREAD, *(MPI_Fint *)provided);
	cr_vector_leave();
}

static void f_finalize(void *f, void *ierror, struct cr_place from)
{
	int outermost = cr_enter(F_FINALIZE, from);
	if (outermost)
		cr_usage(0);
	cr_clock(1);
	((fortran_1 *)f)(ierror);
	if (outermost) {
		cr_returned();
		cr_leave();
		cr_stop(END_FINALIZE);
		lg_finalize(ierror ? *(MPI_Fint *)ierror : MPI_SUCCESS);
	}
}

static void f_abort(void *f, void *comm, void *code, void *ierror, struct cr_place from)
{
	if (cr_enter(F_ABORT, from))
		cr_abort(*(MPI_Fint *)code);
	lg_stop(LG_ABORT);
	((fortran_3 *)f)(comm, code, ierror);
}

#define FORTRAN(symbol_init, symbol_thread, symbol_finalize, symbol_abort, symbol_pcontrol) \
	void symbol_init(void *ierror) { static void *f; f_init(real(&f, #symbol_init), ierror, CR_PLACE); } \
	void symbol_thread(void *a, void *b, void *ierror) { static void *f; f_init_thread(real(&f, #symbol_thread), a, b, ierror, CR_PLACE); } \
	void symbol_finalize(void *ierror) { static void *f; f_finalize(real(&f, #symbol_finalize), ierror, CR_PLACE); } \
	void symbol_abort(void *a, void *b, void *ierror) { static void *f; f_abort(real(&f, #symbol_abort), a, b, ierror, CR_PLACE); } \
	void symbol_pcontrol(void *level) { static void *f; control(*(MPI_Fint *)level, NULL, CR_PLACE); ((fortran_1 *)real(&f, #symbol_pcontrol))(level); }

FORTRAN(mpi_init_, mpi_init_thread_, mpi_finalize_, mpi_abort_, mpi_pcontrol_)
FORTRAN(mpi_init, mpi_init_thread, mpi_finalize, mpi_abort, mpi_pcontrol)
FORTRAN(mpi_init__, mpi_init_thread__, mpi_finalize__, mpi_abort__, mpi_pcontrol__)
FORTRAN(MPI_INIT, MPI_INIT_THREAD, MPI_FINALIZE, MPI_ABORT, MPI_PCONTROL)
FORTRAN(mpi_init_f08_, mpi_init_thread_f08_, mpi_finalize_f08_, mpi_abort_f08_, mpi_pcontrol_f08_)
