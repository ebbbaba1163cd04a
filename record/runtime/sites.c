#define _GNU_SOURCE
#include "fortran.h"
#include "stream.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

/*
 * Call sites: where in the program an MPI function is called, as return addresses, innermost first. The first one is cheap. Others come
 * from the compiler's unwinder, which uses the tables for exceptions (.eh_frame) and takes about 1 us for each. So a stream remembers the
 * sites of its latest calls, and where on the stack their return addresses were. If the same addresses are there again, relative to the
 * wrapper's frame, it is the same site.
 *
 * Frames of the MPI library are left out, for example those of its Fortran bindings. Frames in code without debug lines, such as a system's
 * library or one that is linked statically, do not show where in the source a call is: more frames are taken until one has lines. If none
 * has, the site keeps the frames without.
 *
 * A site consists of addresses in files. Their names are looked up after the run.
 */

#define SITE_FIRST (1 << 13) /* functions have smaller numbers */
#define MOST_SITES (1 << 16) /* of a process; further calls are recorded without a site */
#define MOST_FRAMES 32
#define MOST_MOVES 8
#define SITE_BYTES 400  /* bytes of a site in the archive, with the name of its file */
#define FRAME_BYTES 200 /* bytes of each further frame */

#ifdef __x86_64__ /* the return address is at a fixed place below the end of the callee's frame */
#define FIXED 1
#else
#define FIXED 0
#endif

struct frame {
	uintptr_t address;
	ptrdiff_t above; /* distance of the return address from the wrapper's frame on the stack */
	struct module *module; /* NULL if not known */
};

struct site {
	struct site *following;
	uint32_t number, function, frames;
	int fixed; /* every return address is at its place (above) */
	unsigned moves; /* how often the same path had other places */
	struct frame frame[];
};

struct module {
	struct module *following;
	const struct link_map *map;
	ElfW(Addr) bias;
	uint64_t number;
	int mpi; /* part of the MPI library, or the recorder */
	int lines; /* it has debug lines */
	const uint8_t *ranges, *ranges_end; /* .debug_aranges: code with lines; NULL: all, or not known */
	char path[];
};

static unsigned depth; /* most frames of a site; 0: no sites */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct site *buckets[1 << 12];
static uint32_t sites;
static struct module *modules;

HIDDEN void cr_sites_open(void)
{
	const char *text = getenv("COPPICE_RECORD_CALL_SITES");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;
	depth = n < MOST_FRAMES ? (unsigned)n : MOST_FRAMES;
}

/* Input and result of find_id: the build id of the module at bias. */
struct wanted {
	ElfW(Addr) bias;
	const char *name;
	char id[2 * 64 + 1];
};

static int find_id(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wanted *w = data;
	(void)size;
	if (info->dlpi_addr != w->bias || strcmp(info->dlpi_name ? info->dlpi_name : "", w->name) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_NOTE)
			continue;
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
		while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			ElfW(Nhdr) n;
			memcpy(&n, at, sizeof n);
			const char *name = at + sizeof n, *text = name + ((n.n_namesz + 3) & ~3u);
			if (text > end || n.n_descsz > (size_t)(end - text))
				break;
			if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && memcmp(name, "GNU", 4) == 0 && n.n_descsz <= 64) {
				for (unsigned k = 0; k < n.n_descsz; k++)
					snprintf(w->id + 2 * k, 3, "%02x", (unsigned char)text[k]);
				return 1;
			}
			at = text + ((n.n_descsz + 3) & ~3u);
		}
	}
	return 1;
}

/* map_ranges maps the section with the code that has lines: code of libraries that are linked statically may have none. */
static void map_ranges(struct module *m, int fd, const ElfW(Shdr) *s)
{
	uint64_t skip = s->sh_offset % (uint64_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	if (s->sh_flags & SHF_COMPRESSED || fstat(fd, &st) != 0 || s->sh_offset > (uint64_t)st.st_size || s->sh_size > (uint64_t)st.st_size - s->sh_offset)
		return;
	uint8_t *p = mmap(NULL, s->sh_size + skip, PROT_READ, MAP_PRIVATE, fd, (off_t)(s->sh_offset - skip));
	if (p != MAP_FAILED) {
		m->ranges = p + skip;
		m->ranges_end = m->ranges + s->sh_size;
	}
}

/* covered returns whether an address in a file is in code with lines. If the section cannot be read, it is. */
static int covered(const struct module *m, uintptr_t address)
{
	for (const uint8_t *p = m->ranges, *next; m->ranges_end - p > 4; p = next) {
		uint32_t bytes;
		uint64_t range[2];
		memcpy(&bytes, p, sizeof bytes);
		if (bytes > (uint64_t)(m->ranges_end - p - 4) || bytes < 12 || p[10] != sizeof address) /* unknown form */
			return 1;
		next = p + 4 + bytes;
		for (p += 16; next - p >= (ptrdiff_t)sizeof range; p += sizeof range) { /* after the header */
			memcpy(range, p, sizeof range);
			if (address - range[0] < range[1])
				return 1;
		}
	}
	return 0;
}

/* lined returns whether a return address is in code with lines. Frames come again, and a large program has many ranges. The lock is held. */
static int lined(const struct module *m, uintptr_t address)
{
	static struct {
		const struct module *module;
		uintptr_t address;
		int lined;
	} latest[1 << 10];
	if (!m || !m->lines || !m->ranges)
		return m && m->lines;
	size_t at = (address * 0x9E3779B97F4A7C15u >> 32) % (sizeof latest / sizeof *latest);
	if (latest[at].module != m || latest[at].address != address) {
		latest[at].module = m;
		latest[at].address = address;
		latest[at].lined = covered(m, address - m->bias - 1);
	}
	return latest[at].lined;
}

/* has_lines returns whether a file has debug lines, or there is a separate debug file for its build id. */
static int has_lines(struct module *m, const char *id)
{
	const char *path = m->path;
	char name[PATH_MAX];
	ElfW(Ehdr) h;
	ElfW(Shdr) s, names;
	int found = *id && snprintf(name, sizeof name, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2) < (int)sizeof name && access(name, R_OK) == 0;
	int fd = found ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return found;
	if (pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_shentsize == sizeof s &&
		pread(fd, &names, sizeof names, (off_t)(h.e_shoff + (uint64_t)h.e_shstrndx * sizeof names)) == (ssize_t)sizeof names)
		for (unsigned i = 0; i < h.e_shnum; i++) {
			char text[16] = "";
			if (pread(fd, &s, sizeof s, (off_t)(h.e_shoff + (uint64_t)i * sizeof s)) != (ssize_t)sizeof s ||
				pread(fd, text, sizeof text - 1, (off_t)(names.sh_offset + s.sh_name)) <= 0)
				break;
			found |= strcmp(text, ".debug_line") == 0 || strcmp(text, ".zdebug_line") == 0;
			if (strcmp(text, ".debug_aranges") == 0)
				map_ranges(m, fd, &s);
		}
	close(fd);
	return found;
}

/* map_of returns the program or library of an address, NULL for none. dladdr1 goes through all symbols of a library each time. */
static const struct link_map *map_of(uintptr_t address)
{
	const struct link_map *known = cr_tables(address);
	struct link_map *map = NULL;
	Dl_info info;
	return known ? known : dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

/* module_of returns the program or library of a return address, NULL if there is none. The lock is held. */
static struct module *module_of(uintptr_t address)
{
	const struct link_map *map = map_of(address - 1);
	char path[PATH_MAX] = "";
	if (!map)
		return NULL;
	for (struct module *m = modules; m; m = m->following)
		if (m->map == map && m->bias == map->l_addr)
			return m;
	if (!*map->l_name) { /* the program */
		ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
		path[n > 0 ? n : 0] = 0;
	} else if (!realpath(map->l_name, path))
		snprintf(path, sizeof path, "%s", map->l_name);
	struct wanted w = {.bias = map->l_addr, .name = map->l_name};
	dl_iterate_phdr(find_id, &w);
	size_t length = strlen(path);
	struct module *m = cr_alloc(sizeof *m + length + 1);
	if (!m)
		return NULL;
	*m = (struct module){.following = modules, .map = map, .bias = map->l_addr, .number = modules ? modules->number + 1 : 0};
	memcpy(m->path, path, length + 1);
	const char *name = strrchr(m->path, '/');
	m->mpi = (name && strncmp(name, "/libmpi", 7) == 0) || map == map_of((uintptr_t)cr_functions);
	int system = map == map_of((uintptr_t)qsort); /* the C library, which calls main */
	m->lines = !m->mpi && !system && has_lines(m, w.id);
	modules = m;
	char body[8 + sizeof w.id + sizeof path + 1];
	memcpy(body, &m->number, 8);
	int n = snprintf(body + 8, sizeof body - 8, "%s %s", *w.id ? w.id : "-", path);
	cr_define(DEF_MODULE, body, 8 + (size_t)n);
	return m;
}

HIDDEN const char *cr_module(uintptr_t address, uint64_t *number, uint64_t *offset)
{
	pthread_mutex_lock(&lock);
	struct module *m = module_of(address);
	if (m) {
		*number = m->number;
		*offset = address - m->bias;
	}
	pthread_mutex_unlock(&lock);
	return m ? m->path : NULL;
}

/* define writes the definition of a site. The lock is held. */
static void define(const struct site *x)
{
	uint64_t body[2 + 2 * MOST_FRAMES] = {x->number, x->function};
	size_t n = 2;
	for (unsigned i = 0; i < x->frames; i++) {
		const struct module *m = x->frame[i].module;
		if (m && m->mpi && (i + 1 < x->frames || n > 2))
			continue;
		body[n++] = m ? m->number : UINT64_MAX;
		body[n++] = x->frame[i].address - (m ? m->bias : 0);
	}
	cr_define(DEF_SITE, body, 8 * n);
}

struct walk {
	struct cr_place from;
	unsigned n, left, wanted; /* frames found; to find: in the program, and with lines */
	unsigned plain, lined;    /* frames up to the last that counted for left, and up to the last with lines */
	unsigned fixed; /* how many of the innermost have their return address at its place */
	struct frame frame[MOST_FRAMES];
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
	struct walk *w = data;
	uintptr_t address = _Unwind_GetIP(context), end = _Unwind_GetCFA(context);
	if (!address)
		return _URC_END_OF_STACK;
	if (w->n == 0 && address != (uintptr_t)w->from.address) /* frames of the recorder */
		return _URC_NO_REASON;
	uintptr_t at = end - sizeof at;
	w->fixed += FIXED && w->fixed == w->n && *(uintptr_t *)at == address;
	struct module *m = module_of(address);
	w->frame[w->n++] = (struct frame){address, (ptrdiff_t)(at - (uintptr_t)w->from.frame), m};
	if (w->left > 0) {
		w->left -= !m || !m->mpi;
		w->plain = w->n;
	}
	if (lined(m, address)) {
		w->wanted--;
		w->lined = w->n;
	}
	return (FIXED ? w->wanted : w->left) > 0 && w->n < MOST_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* alone takes only the call's own return address, which is cheap to compare. */
static void alone(struct walk *w)
{
	w->n = w->fixed = 1;
	w->frame[0] = (struct frame){(uintptr_t)w->from.address, 0, module_of((uintptr_t)w->from.address)};
}

/* unwind finds the return addresses of a call; only the first if the caller has no tables. The lock is held. */
static void unwind(struct walk *w)
{
	const struct module *m = module_of((uintptr_t)w->from.address);
	int one = depth == 1 && !(m && m->mpi);
	w->n = w->fixed = 0;
	if (!one || (FIXED && m && !lined(m, (uintptr_t)w->from.address)))
		_Unwind_Backtrace(step, w);
	w->n = w->lined > w->plain ? w->lined : w->plain;
	if (w->n == 0 || (one && (w->n == 1 || w->fixed < w->n)))
		alone(w);
}

static uint64_t hash(const struct walk *w, unsigned function)
{
	uint64_t h = function;
	for (unsigned i = 0; i < w->n; i++)
		h = (h ^ w->frame[i].address) * 0x9E3779B97F4A7C15u;
	return h >> 32;
}

static struct site **bucket_of(const struct walk *w, unsigned function)
{
	return &buckets[hash(w, function) % (sizeof buckets / sizeof *buckets)];
}

/* known returns the site with these addresses, or NULL. The lock is held. */
static struct site *known(const struct walk *w, unsigned function)
{
	for (struct site *x = *bucket_of(w, function); x; x = x->following) {
		unsigned i = 0;
		if (x->function == function && x->frames == w->n)
			while (i < w->n && x->frame[i].address == w->frame[i].address)
				i++;
		if (i == w->n)
			return x;
	}
	return NULL;
}

/* made returns a new site, NULL if there are too many. The lock is held. */
static struct site *made(const struct walk *w, unsigned function)
{
	size_t bytes = w->n * sizeof w->frame[0];
	struct site **bucket = bucket_of(w, function), *x = NULL;
	if (sites < MOST_SITES && cr_take(SITE_BYTES + FRAME_BYTES * (int64_t)w->n) && (x = cr_alloc(sizeof *x + bytes))) {
		*x = (struct site){.following = *bucket, .number = sites++, .function = function, .frames = w->n, .fixed = w->fixed >= w->n};
		memcpy(x->frame, w->frame, bytes);
		define(x);
		*bucket = x;
	}
	return x;
}

/* moved returns whether the return addresses of a site are at other places than before. */
static int moved(const struct site *x, const struct walk *w)
{
	for (unsigned i = 1; i < x->frames; i++)
		if (x->frame[i].above != w->frame[i].above)
			return 1;
	return 0;
}

/* site_of returns the site of a call. With depth 1, a site whose further frames (up to one with lines) change their places gets only its
 * own frame, so that it stays cheap. The lock is held. */
static struct site *site_of(struct walk *w, unsigned function)
{
	struct site *x = NULL;
	if (depth == 1) {
		alone(w);
		x = known(w, function);
	}
	if (x)
		return x;
	unwind(w);
	x = known(w, function);
	if (x && depth == 1 && !(w->frame[0].module && w->frame[0].module->mpi) && moved(x, w) && ++x->moves >= MOST_MOVES) {
		alone(w);
		x = NULL;
	}
	return x ? x : made(w, function);
}

/* same returns whether a call is from this site, without unwinding. */
static inline int same(const struct site *x, unsigned function, struct cr_place from)
{
	if (!x || x->function != function || x->frame[0].address != (uintptr_t)from.address || !x->fixed)
		return 0;
	for (unsigned i = 1; i < x->frames; i++)
		if (*(const uintptr_t *)(from.frame + x->frame[i].above) != x->frame[i].address)
			return 0;
	return 1;
}

/* site is cr_site; without callers it is cr_site_alone. */
static uint64_t site(struct stream *s, unsigned function, struct cr_place from, int callers)
{
	if (!depth)
		return function;
	/* Similar paths are next to each other. */
	size_t home = (((uintptr_t)from.address ^ function) * 0x9E3779B97F4A7C15u >> 32) % SITES;
	for (size_t i = home; i < home + SITE_WAYS; i++)
		if (same(s->sites[i % SITES], function, from))
			return SITE_FIRST + s->sites[i % SITES]->number;
	struct walk w = {.from = from, .left = depth, .wanted = depth};
	struct own own = cr_own_begin(); /* files read here are not the program's */
	pthread_mutex_lock(&lock);
	struct site *x = callers ? site_of(&w, function) : NULL;
	if (!callers) {
		alone(&w);
		if (!(x = known(&w, function)))
			x = made(&w, function);
	}
	pthread_mutex_unlock(&lock);
	cr_own_end(own);
	if (!x)
		return function;
	size_t way = s->newest++ % SITE_WAYS;
	s->sites[(home + way) % SITES] = x;
	return SITE_FIRST + x->number;
}

HIDDEN uint64_t cr_site(struct stream *s, unsigned function, struct cr_place from) { return site(s, function, from, 1); }

HIDDEN uint64_t cr_site_alone(struct stream *s, unsigned function, const void *address)
{
	return address ? site(s, function, (struct cr_place){address, NULL}, 0) : function;
}
