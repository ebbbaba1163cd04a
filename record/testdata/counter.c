/*
 * Counts the calls of MPI functions, independently of the recorder: it is loaded before it and jumps to what comes after.
 * calls.h lists the symbols, CALL(name) each. The counts of a process go to COPPICE_COUNTS/RANK when it ends.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Every function gets its arguments as words, more than any has, and hands them on: integers and pointers are all there are. */
#define WORDS(x) x a, x b, x c, x d, x e, x f, x g, x h, x i, x j, x k, x l, x m, x n, x o, x p
#define NOTHING
typedef uintptr_t any(WORDS(uintptr_t));
#define CALL(name) \
	static unsigned long count_##name; \
	static any *real_##name; \
	uintptr_t counted_##name(WORDS(uintptr_t)) __asm__(#name); \
	uintptr_t counted_##name(WORDS(uintptr_t)) \
	{ \
		__atomic_fetch_add(&count_##name, 1, __ATOMIC_RELAXED); \
		return real_##name(WORDS(NOTHING)); \
	}
#include "calls.h"
#undef CALL

#ifdef BYTES /* sends of C count their bytes too */
static unsigned long bytes;
static int size_of(int count, MPI_Datatype type, int dest)
{
	int size = 0;
	if (dest != MPI_PROC_NULL)
		PMPI_Type_size(type, &size);
	return count * size;
}
#define SEND(name, more, pass) \
	static unsigned long calls_##name; \
	int name(const void *b, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm more) \
	{ \
		int (*real)(const void *, int, MPI_Datatype, int, int, MPI_Comm more) = dlsym(RTLD_NEXT, #name); \
		__atomic_fetch_add(&calls_##name, 1, __ATOMIC_RELAXED); \
		__atomic_fetch_add(&bytes, (unsigned long)size_of(count, type, dest), __ATOMIC_RELAXED); \
		return real(b, count, type, dest, tag, comm pass); \
	}
#define COMMA ,
SEND(MPI_Send, , )
SEND(MPI_Ssend, , )
SEND(MPI_Isend, COMMA MPI_Request *request, COMMA request)
#endif

__attribute__((constructor)) static void loaded(void)
{
#define CALL(name) real_##name = (any *)dlsym(RTLD_NEXT, #name);
#include "calls.h"
#undef CALL
}

__attribute__((destructor)) static void unloaded(void)
{
	char path[4096];
	const char *folder = getenv("COPPICE_COUNTS"), *rank = getenv("OMPI_COMM_WORLD_RANK");
	if (!rank)
		rank = getenv("PMI_RANK");
	if (!folder || !rank)
		return;
	snprintf(path, sizeof path, "%s/%s", folder, rank);
	FILE *f = fopen(path, "w");
	if (!f)
		return;
#define CALL(name) \
	if (count_##name) \
		fprintf(f, "%s %lu\n", #name, count_##name);
#include "calls.h"
#ifdef BYTES
	fprintf(f, "MPI_Send %lu\nMPI_Ssend %lu\nMPI_Isend %lu\nbytes %lu\n", calls_MPI_Send, calls_MPI_Ssend, calls_MPI_Isend, bytes);
#endif
	fclose(f);
}
