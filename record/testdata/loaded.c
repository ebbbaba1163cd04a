/*
 * Loads the MPI library while it runs, as bindings of other languages do: loaded LIBRARY FLAGS [PLUG-IN]. FLAGS are letters: g for
 * RTLD_GLOBAL, p for names that begin with PMPI. The plug-in is called between MPI_Init and MPI_Finalize.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;
static const char *prefix = "";

static void *find(const char *name)
{
	char text[64];
	snprintf(text, sizeof text, "%s%s", prefix, name);
	void *f = dlsym(library, text);
	if (!f) {
		fprintf(stderr, "%s: %s\n", text, dlerror());
		exit(1);
	}
	return f;
}

int main(int argc, char **argv)
{
	const char *flags = argv[2];
	int flag = 0, sum = 0;
	if (!(library = dlopen(argv[1], RTLD_NOW | (strchr(flags, 'g') ? RTLD_GLOBAL : RTLD_LOCAL)))) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (strchr(flags, 'p'))
		prefix = "P";
	((int (*)(int *, char ***))find("MPI_Init"))(&argc, &argv);
	((int (*)(int *))find("MPI_Initialized"))(&flag);
	if (argc > 3) {
		void *h = dlopen(argv[3], RTLD_NOW), *plugged = h ? dlsym(h, "plugged") : NULL;
		if (!plugged || dlclose(h) != 0 || !(h = dlopen(argv[3], RTLD_NOW))) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		for (int i = 0; i < 3; i++)
			sum += ((int (*)(void))dlsym(h, "plugged"))();
	}
	((int (*)(void))find("MPI_Finalize"))();
	printf("%d %d\n", flag, sum);
	return 0;
}
