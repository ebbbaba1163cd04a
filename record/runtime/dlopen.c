#define _GNU_SOURCE
#include "fortran.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/*
 * MPI libraries that the program loads at run time. The recorder was loaded earlier, together with the MPI library that it was made for. A
 * symbol looked up in all libraries is therefore the recorder's, but dlsym with a handle of the MPI library would pass the recorder. So
 * dlopen returns the recorder's handle instead: dlsym then searches the recorder and, after it, the libraries that it needs, including the
 * MPI library. Neither is ever unloaded.
 */

typedef void *opener(const char *, int);

static opener *original(void)
{
	static _Atomic(opener *) found;
	if (!found)
		found = (opener *)dlsym(RTLD_NEXT, "dlopen");
	return found;
}

/* named reports whether a file's name could be that of an MPI library. */
static int named(const char *path)
{
	const char *name = strrchr(path, '/');
	return strncmp(name ? name + 1 : path, "libmp", 5) == 0;
}

/* loaded returns a handle of a library that is loaded already, NULL for others. */
static void *loaded(const char *path) { return original()(path, RTLD_LAZY | RTLD_NOLOAD); }

/* ours returns the recorder's handle if file is the recorder's MPI library, else NULL. */
static __attribute__((noinline)) void *ours(const char *file, int mode)
{
	Dl_info library, recorder;
	struct link_map *map = NULL, *known = NULL;
	void *mpi = dlsym(RTLD_NEXT, "PMPI_Init"), *h = mpi ? loaded(file) : NULL;
	if (!h)
		return NULL;
	int same = dlinfo(h, RTLD_DI_LINKMAP, &map) == 0 && dladdr1(mpi, &library, (void **)&known, RTLD_DL_LINKMAP) && map == known;
	dlclose(h);
	return same && dladdr((void *)ours, &recorder) ? original()(recorder.dli_fname, mode) : NULL;
}

void *dlopen(const char *file, int mode)
{
	void *h;
	if (file && named(file) && (h = ours(file, mode)))
		return h;
	return original()(file, mode); /* compiled to a jump, because dlopen searches folders relative to its caller */
}

HIDDEN void *cr_symbol(const char *symbol)
{
	void *f = dlsym(RTLD_NEXT, symbol);
	for (const struct link_map *m = _r_debug.r_map; m && !f; m = m->l_next) {
		void *h = named(m->l_name) ? loaded(m->l_name) : NULL;
		if (h) {
			f = dlsym(h, symbol);
			dlclose(h);
		}
	}
	return f;
}

HIDDEN int cr_other_library(char *path, size_t size)
{
	void *mpi = dlsym(RTLD_NEXT, "PMPI_Init"), *other = NULL;
	for (const struct link_map *m = _r_debug.r_map; m && !other; m = m->l_next) {
		void *h = named(m->l_name) ? loaded(m->l_name) : NULL;
		if (!h)
			continue;
		other = dlsym(h, "PMPI_Init");
		dlclose(h);
		if (other == mpi)
			other = NULL;
		else
			snprintf(path, size, "%s", m->l_name);
	}
	return other != NULL;
}
