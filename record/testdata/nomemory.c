/*
 * With SHIM: a library to load in front of the recorder, whose requests for memory fail from number NOMEMORY_FROM on, counted
 * from 0; those of the program and of MPI do not. Without: a program that makes the recorder ask for memory in all its ways.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SHIM
#include <link.h>
#include <stdatomic.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static uintptr_t low, high; /* where the recorder lies */
static atomic_long asked;
static long from = -1;

static int look(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	if (!strstr(info->dlpi_name, "coppice-record-"))
		return 0;
	low = high = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz > high)
			high = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1;
}

__attribute__((constructor)) static void loaded(void)
{
	const char *text = getenv("NOMEMORY_FROM");
	from = text ? atol(text) : -1;
	dl_iterate_phdr(look, NULL);
}

static int fails(void *caller)
{
	uintptr_t at = (uintptr_t)caller;
	if (from < 0 || at < low || at >= high || atomic_fetch_add(&asked, 1) < from)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n); }

#else
#include "../include/coppice.h"
#include <mpi.h>

#define MANY 300

static void *other(void *unused)
{
	int n;
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	return unused;
}

int main(int argc, char **argv)
{
	int rank, size, provided, sum = 0, a[MANY], b[MANY] = {0}, outcount, list[2 * MANY];
	MPI_Comm comms[40];
	MPI_Request r[2 * MANY], persistent[2];
	MPI_Message message;
	MPI_Status status;
	pthread_t thread;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	COPPICE_BEGIN("region");
	for (int i = 0; i < MANY; i++)
		a[i] = rank + i;
	for (int k = 0; k < 2; k++) { /* more requests than a wrapper has room for on the stack, ended in two ways */
		for (int i = 0; i < MANY; i++) {
			MPI_Irecv(&b[i], 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &r[i]);
			MPI_Isend(&a[i], 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, &r[MANY + i]);
		}
		if (k == 0)
			MPI_Waitall(2 * MANY, r, MPI_STATUSES_IGNORE);
		for (int left = k ? 2 * MANY : 0; left > 0; left -= outcount) {
			MPI_Waitsome(2 * MANY, r, &outcount, list, MPI_STATUSES_IGNORE);
			if (outcount == MPI_UNDEFINED)
				break;
		}
	}
	for (int i = 0; i < MANY; i++)
		sum += b[i] - (rank + 1) % size;
	MPI_Pcontrol(1, "name");
	MPI_Isend(a, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, r);
	MPI_Mprobe(rank, 1, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(b, 1, MPI_INT, &message, &status);
	MPI_Wait(r, &status);
	MPI_Recv_init(b, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &persistent[0]);
	MPI_Send_init(a, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &persistent[1]);
	MPI_Startall(2, persistent);
	MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
	MPI_Request_free(&persistent[0]);
	MPI_Request_free(&persistent[1]);
	for (int i = 0; i < 40; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (int i = 0; i < 40; i++)
		MPI_Comm_free(&comms[i]);
	if (provided == MPI_THREAD_MULTIPLE && pthread_create(&thread, NULL, other, NULL) == 0)
		pthread_join(thread, NULL);
	COPPICE_END("region");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	fprintf(stderr, "sum %d\n", sum);
	return 0;
}
#endif
