#define _GNU_SOURCE
#include "recorder.h"

#include "hashtable.h"
#include "stream.h"
#include <dlfcn.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Regions of the program: those that it marks with coppice.h, and functions compiled with -finstrument-functions. */

void coppice_region_begin(const char *name) { cr_region_begin(cr_recording() ? cr_name(name) : 0, (char *)__builtin_dwarf_cfa() - 1); }

void coppice_region_end(void) { cr_region_end(); }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table functions;

/* wanted returns whether a function is recorded: it matches a pattern, or all patterns begin with ! and it matches none. */
static int wanted(const char *function)
{
	const char *list = getenv("COPPICE_RECORD_FUNCTIONS");
	int positive = 0, matches = 0;
	char pattern[256];
	while (list && *list) {
		size_t n = strcspn(list, ",");
		int not = *list == '!';
		snprintf(pattern, sizeof pattern, "%.*s", (int)n - not, list + not);
		int hit = fnmatch(pattern, function, 0) == 0;
		if (not && hit)
			return 0;
		positive |= !not;
		matches |= !not && hit;
		list += n + (list[n] == ',');
	}
	return matches || !positive;
}

#define LEFT_OUT UINT64_MAX

/* named returns the number of a function's name. If the dynamic linker does not know the symbol, or it is mangled, the name is its file
   and offset; the symbol is looked up after the run. */
static uint64_t named(void *function)
{
	Dl_info info;
	char text[256];
	uint64_t module, offset;
	const char *path;
	const char *known = dladdr(function, &info) && info.dli_saddr == function ? info.dli_sname : NULL;
	if (known && *known != '_')
		snprintf(text, sizeof text, "%s", known);
	else if ((path = cr_module((uintptr_t)function + 1, &module, &offset))) {
		const char *file = strrchr(path, '/');
		snprintf(text, sizeof text, "%.200s+0x%lx", file ? file + 1 : path, (unsigned long)offset - 1);
	} else
		snprintf(text, sizeof text, "%p", function);
	return wanted(known ? known : text) ? cr_name(text) : LEFT_OUT;
}

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	if (!cr_recording()) {
		cr_region_begin(0, NULL);
		return;
	}
	pthread_mutex_lock(&lock);
	struct slot *s = find(&functions, HANDLE(function));
	uint64_t name = s ? s->number : named(function);
	if (!s && name && (s = insert(&functions, HANDLE(function))))
		s->number = name;
	pthread_mutex_unlock(&lock);
	cr_region_begin(name == LEFT_OUT ? 0 : name, (char *)__builtin_dwarf_cfa() - 1);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)function, (void)site;
	cr_region_end();
}
