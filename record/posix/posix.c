#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#undef _FORTIFY_SOURCE
#include "stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#undef fread_unlocked /* macros in some headers */
#undef fwrite_unlocked

/*
 * File I/O of the program: wrappers of functions of the C library. They return the library's results and errno. Calls inside of the C
 * library do not come here, so fread is one operation.
 *
 * Regular files and block devices are recorded; fstat decides once for each descriptor. Files of the kernel, such as those in /proc, are
 * not. Signal handlers may do I/O, so nothing here calls malloc or waits for a lock that this thread may hold.
 */

/* The functions, in the order of their numbers. */
#define FUNCTIONS(X) \
	X(open, "POSIX metadata open") X(openat, "POSIX metadata openat") X(creat, "POSIX metadata creat") X(close, "POSIX metadata close") \
	X(dup, "POSIX metadata dup") X(dup2, "POSIX metadata dup2") X(dup3, "POSIX metadata dup3") X(lseek, "POSIX metadata lseek") \
	X(read, "POSIX data read") X(write, "POSIX data write") X(pread, "POSIX data pread") X(pwrite, "POSIX data pwrite") \
	X(readv, "POSIX data readv") X(writev, "POSIX data writev") X(preadv, "POSIX data preadv") X(pwritev, "POSIX data pwritev") \
	X(preadv2, "POSIX data preadv2") X(pwritev2, "POSIX data pwritev2") \
	X(fsync, "POSIX data fsync") X(fdatasync, "POSIX data fdatasync") X(sync_file_range, "POSIX data sync_file_range") \
	X(fopen, "ISOC metadata fopen") X(fdopen, "ISOC metadata fdopen") X(freopen, "ISOC metadata freopen") X(fclose, "ISOC metadata fclose") \
	X(fseek, "ISOC metadata fseek") X(fread, "ISOC data fread") X(fwrite, "ISOC data fwrite") X(fflush, "ISOC data fflush") \
	X(fgets, "ISOC data fgets") X(getdelim, "ISOC data getdelim") X(fputs, "ISOC data fputs") X(fprintf, "ISOC data fprintf")
#define NUMBER(name, text) C_##name,
enum { C_before_first = CALL_FIRST - 1, FUNCTIONS(NUMBER) };

/* With _FORTIFY_SOURCE programs call functions that headers do not declare. */
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
char *__fgets_chk(char *, size_t, int, FILE *);
ssize_t __getdelim(char **, size_t *, int, FILE *);
int __fprintf_chk(FILE *, int, const char *, ...);
int __vfprintf_chk(FILE *, int, const char *, va_list);

/* Missing in headers of older C libraries. */
int close_range(unsigned, unsigned, int);
void closefrom(int);

/* The C library's functions. They are looked up at load time, because a signal handler must not do that. */
#define SYMBOLS(X) \
	X(open) X(open64) X(openat) X(openat64) X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2) X(creat) X(creat64) X(close) X(close_range) X(closefrom) X(dup) X(dup2) X(dup3) \
	X(lseek) X(lseek64) X(read) X(__read_chk) X(write) X(pread) X(pread64) X(__pread_chk) X(__pread64_chk) X(pwrite) X(pwrite64) X(readv) X(writev) \
	X(preadv) X(preadv64) X(pwritev) X(pwritev64) X(preadv2) X(preadv64v2) X(pwritev2) X(pwritev64v2) X(fsync) X(fdatasync) X(sync_file_range) \
	X(fopen) X(fopen64) X(fdopen) X(freopen) X(freopen64) X(fclose) X(fseek) X(fseeko) X(fseeko64) X(fread) X(fread_unlocked) X(__fread_chk) \
	X(fwrite) X(fwrite_unlocked) X(fflush) X(fgets) X(__fgets_chk) X(getline) X(getdelim) X(__getdelim) X(fputs) X(vfprintf) X(__vfprintf_chk)
#define POINTER(name) static void *real_##name;
SYMBOLS(POINTER)
#define REAL(name) ((__typeof__(&name))found(&real_##name, #name))
static inline void *found(void **at, const char *name) { return *at ? *at : (*at = dlsym(RTLD_NEXT, name)); }
#define FIND(name) (void)REAL(name);
__attribute__((constructor(101))) static void find(void) { SYMBOLS(FIND) }

/* What each descriptor is, and its handles (NULL: not known). Greater descriptors are ignored. */
#define DESCRIPTORS (1 << 16)
enum { UNKNOWN, OTHER, REGULAR };
enum { POSIX, ISOC };
static struct {
	_Atomic(int) kind;
	_Atomic(struct file *) of[2];
} table[DESCRIPTORS];
static _Atomic(pid_t) process;
static _Atomic(uint64_t) unseen[3]; /* DEF_UNSEEN */

HIDDEN void cr_posix_start(void)
{
	static const char functions[] =
#define LINE(name, text) text "\n"
		FUNCTIONS(LINE);
	process = getpid();
	if (cr.rank == 0)
		cr_define(DEF_CALLS, functions, sizeof functions - 2);
}

HIDDEN void cr_posix_end(void)
{
	uint64_t body[3] = {unseen[0], unseen[1], unseen[2]};
	if (body[0])
		cr_define(DEF_UNSEEN, body, sizeof body);
}

/* kind_of examines a descriptor the first time. */
static int kind_of(int fd)
{
	struct stat s;
	struct statfs where;
	if (fd < 0 || fd >= DESCRIPTORS)
		return OTHER;
	int kind = table[fd].kind;
	if (kind != UNKNOWN)
		return kind;
	if (fstat(fd, &s) != 0) /* not open */
		return UNKNOWN;
	kind = S_ISREG(s.st_mode) || S_ISBLK(s.st_mode) ? REGULAR : OTHER;
	if (kind == REGULAR && fstatfs(fd, &where) == 0)
		switch ((unsigned long)where.f_type) {
		case 0x9fa0: case 0x62656572: case 0x27e0eb: case 0x63677270: case 0x64626720: case 0x74726163: /* proc, sysfs, cgroup, debugfs, tracefs */
			kind = OTHER;
		}
	table[fd].kind = kind;
	return kind;
}

/* OTF2's flags for how a file is opened. */
static uint64_t access_mode(int flags) { return (flags & O_ACCMODE) == O_RDONLY ? 0 : (flags & O_ACCMODE) == O_WRONLY ? 1 : 2; }
static uint64_t creation(int f)
{
	return (f & O_CREAT ? 1u : 0) | (f & O_TRUNC ? 2u : 0) | (f & O_EXCL ? 8u : 0) | (f & O_NOCTTY ? 16u : 0) | (f & O_NOFOLLOW ? 32u : 0) |
		((f & O_TMPFILE) == O_TMPFILE ? 128u : 0);
}
static uint64_t status_flags(int f)
{
	return (f & O_CLOEXEC ? 1u : 0) | (f & O_APPEND ? 2u : 0) | (f & O_NONBLOCK ? 4u : 0) | (f & O_ASYNC ? 8u : 0) | ((f & O_SYNC) == O_SYNC ? 16u : 0) |
		((f & O_SYNC) == O_DSYNC ? 32u : 0) | (f & O_DIRECT ? 64u : 0) | (f & O_NOATIME ? 128u : 0);
}

/* handle makes the handle of a descriptor, with the name of its file in /proc. */
static struct file *handle(int fd, int interface, uint64_t how)
{
	char link[40], name[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof name - 1);
	if (n < 0)
		n = snprintf(name, sizeof name, "descriptor %d", fd);
	name[n] = 0;
	return table[fd].of[interface] = cr_handle((interface == POSIX ? HANDLE_POSIX : HANDLE_ISOC) | how, name);
}

/* handle_of returns the handle of a descriptor, NULL if it is not a file. It marks one that was open before the recorder saw it. */
static struct file *handle_of(int fd, int interface)
{
	if (kind_of(fd) != REGULAR)
		return NULL;
	struct file *f = table[fd].of[interface];
	if (f)
		return f;
	int flags = fcntl(fd, F_GETFL);
	return handle(fd, interface, HANDLE_BEFORE | access_mode(flags) << 16 | status_flags(flags) << 32);
}

/* The current call. file: NULL if it is not recorded. */
struct call {
	struct file *file;
	struct cr_place from;
	int state;
	uint64_t begun;
};

/* ours and theirs enclose what the recorder does. They preserve errno. */
static int ours(void)
{
	cr_inside = 1;
	return errno;
}
static void theirs(int error)
{
	cr_inside = 0;
	errno = error;
}

/* begin begins a call on an open file. */
static struct call begin(unsigned function, int fd, int interface, struct cr_place from)
{
	struct call c = {.from = from, .state = cr_call_state(from)};
	if (c.state == CALL_NOT)
		return c;
	int error = ours();
	if (c.state == CALL_RECORDED && (c.file = handle_of(fd, interface)))
		cr_call_enter(function, from, cr_call_begins());
	else if (c.state == CALL_RECORDED || kind_of(fd) != REGULAR)
		c.state = CALL_NOT;
	theirs(error);
	return c;
}

/* missed counts a call that is not recorded. */
static void missed(unsigned what, int64_t moved)
{
	unseen[0]++;
	if (moved > 0 && !(what & FILE_FLUSH))
		unseen[what & FILE_WRITE ? 2 : 1] += (uint64_t)moved;
}

/* moved ends a call that transfers or flushes data. bytes is negative if it failed; offset is -1 for none. */
static void moved(struct call c, unsigned what, int64_t offset, uint64_t asked, int64_t bytes)
{
	if (c.state == CALL_NOT)
		return;
	int error = ours();
	if (!c.file)
		missed(what, bytes);
	else if (cr_call_goes_on(c.from)) {
		struct cr_io io = {0};
		if (bytes >= 0)
			io = cr_handle_begin(c.file, what, offset, asked);
		cr_returned();
		if (bytes >= 0)
			cr_handle_end(io, (uint64_t)bytes);
		cr_call_leave();
	}
	theirs(error);
}

/* total returns the sum of the lengths of buffers. The kernel has read them already, so they are valid. */
static uint64_t total(const struct iovec *v, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += v[i].iov_len;
	return sum;
}

/* same_process: a child of vfork shares the program's memory, but has its own descriptors. */
static int same_process(void) { return getpid() == process; }

/* forget removes and returns the handles of a descriptor that is about to be closed, or was closed unseen. */
struct handles {
	struct file *of[2];
};
static struct handles forget(int fd)
{
	struct handles h = {{NULL, NULL}};
	if (fd < 0 || fd >= DESCRIPTORS)
		return h;
	table[fd].kind = UNKNOWN;
	for (int i = POSIX; i <= ISOC; i++)
		h.of[i] = table[fd].of[i] ? atomic_exchange(&table[fd].of[i], NULL) : NULL;
	return h;
}

static void destroyed(struct handles h, int seen)
{
	for (int i = ISOC; i >= POSIX; i--)
		if (h.of[i]) {
			if (seen)
				cr_handle_event(FILE_DESTROY, h.of[i], 0, 0);
			cr_handle_lost(h.of[i]);
		}
}

/* opening begins a call that opens a file. opened decides whether it is recorded, when the file is known. */
static struct call opening(struct cr_place from)
{
	struct call c = {.from = from, .state = cr_call_state(from)};
	if (c.state == CALL_NOT)
		return c;
	int error = ours();
	if (!same_process())
		c.state = CALL_NOT;
	else if (c.state == CALL_RECORDED)
		c.begun = cr_call_begins();
	theirs(error);
	return c;
}

/* opened ends it. A call that failed is recorded without a file. */
static void opened(struct call c, unsigned function, int fd, int interface, int flags)
{
	if (c.state == CALL_NOT && (fd < 0 || fd >= DESCRIPTORS || table[fd].kind == UNKNOWN || !cr_recording() || cr_inside))
		return;
	int error = ours();
	struct handles old = forget(fd); /* of a descriptor that was closed unseen */
	int regular = fd >= 0 && kind_of(fd) == REGULAR;
	if (c.state == CALL_RECORDED && (regular || fd < 0)) {
		cr_call_enter(function, c.from, c.begun);
		destroyed(old, 1);
		cr_returned();
		struct file *f = regular ? handle(fd, interface, 0) : NULL;
		if (f)
			cr_handle_event(FILE_CREATE | (unsigned)access_mode(flags) << 8, f, creation(flags), status_flags(flags));
		cr_call_leave();
	} else {
		destroyed(old, 0);
		if (c.state == CALL_UNSEEN && regular)
			missed(0, 0);
	}
	theirs(error);
}

#define OPEN(function, flags, does) \
	struct call c = opening(CR_PLACE); \
	int fd = does; \
	opened(c, C_##function, fd, POSIX, flags); \
	return fd;
#define MODE \
	mode_t mode = 0; \
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
		va_list list; \
		va_start(list, flags); \
		mode = va_arg(list, mode_t); \
		va_end(list); \
	}

int open(const char *path, int flags, ...) { MODE OPEN(open, flags, REAL(open)(path, flags, mode)) }
int open64(const char *path, int flags, ...) { MODE OPEN(open, flags, REAL(open64)(path, flags, mode)) }
int openat(int at, const char *path, int flags, ...) { MODE OPEN(openat, flags, REAL(openat)(at, path, flags, mode)) }
int openat64(int at, const char *path, int flags, ...) { MODE OPEN(openat, flags, REAL(openat64)(at, path, flags, mode)) }
int __open_2(const char *path, int flags) { OPEN(open, flags, REAL(__open_2)(path, flags)) }
int __open64_2(const char *path, int flags) { OPEN(open, flags, REAL(__open64_2)(path, flags)) }
int __openat_2(int at, const char *path, int flags) { OPEN(openat, flags, REAL(__openat_2)(at, path, flags)) }
int __openat64_2(int at, const char *path, int flags) { OPEN(openat, flags, REAL(__openat64_2)(at, path, flags)) }
#define CREATED (O_WRONLY | O_CREAT | O_TRUNC)
int creat(const char *path, mode_t mode) { OPEN(creat, CREATED, REAL(creat)(path, mode)) }
int creat64(const char *path, mode_t mode) { OPEN(creat, CREATED, REAL(creat64)(path, mode)) }

/* closing begins a call that closes a descriptor, recorded or not. */
static struct call closing(unsigned function, int fd, struct handles *h, struct cr_place from)
{
	struct call c = {.from = from, .state = CALL_NOT};
	if (fd < 0 || fd >= DESCRIPTORS || table[fd].kind == UNKNOWN || !cr_recording())
		return c;
	c.state = cr_call_state(from);
	int error = errno, before = cr_inside;
	cr_inside = 1;
	if (same_process()) {
		int regular = table[fd].kind == REGULAR;
		*h = forget(fd);
		c.file = h->of[POSIX] ? h->of[POSIX] : h->of[ISOC];
		if (c.state == CALL_RECORDED && c.file)
			cr_call_enter(function, from, cr_call_begins());
		else {
			destroyed(*h, 0);
			if (c.state == CALL_UNSEEN && regular)
				missed(0, 0);
			c.state = CALL_NOT;
		}
	} else
		c.state = CALL_NOT;
	cr_inside = before;
	errno = error;
	return c;
}

static void closed(struct call c, struct handles h)
{
	if (c.state == CALL_NOT)
		return;
	int error = ours();
	if (cr_call_goes_on(c.from)) {
		cr_returned();
		destroyed(h, 1);
		cr_call_leave();
	} else
		destroyed(h, 0);
	theirs(error);
}

int close(int fd)
{
	struct handles h = {{NULL, NULL}};
	struct call c = closing(C_close, fd, &h, CR_PLACE);
	int rc = REAL(close)(fd);
	closed(c, h);
	return rc;
}

/* copied ends a call that duplicates a descriptor. If fd was open before, the call has closed it. */
static void copied(struct call c, int old, int fd, int flags)
{
	if (c.state == CALL_NOT)
		return;
	int error = ours();
	if (!c.file && fd >= 0 && same_process())
		missed(0, 0);
	if (fd >= 0 && fd != old && same_process()) {
		struct handles before = forget(fd);
		int on = c.file && cr_call_goes_on(c.from);
		if (on)
			cr_returned();
		destroyed(before, on);
		if (on && kind_of(fd) == REGULAR) {
			struct file *f = handle(fd, POSIX, 0);
			if (f)
				cr_handle_copied(c.file, f, status_flags(flags));
			cr_call_leave();
			theirs(error);
			return;
		}
	}
	if (c.file && cr_call_goes_on(c.from)) {
		cr_returned();
		cr_call_leave();
	}
	theirs(error);
}

/* replaced removes the handles of a descriptor that was closed or replaced by a call that is not recorded. */
static void replaced(struct call c, int fd)
{
	if (c.state != CALL_NOT || fd < 0 || fd >= DESCRIPTORS || table[fd].kind == UNKNOWN || !cr_recording())
		return;
	int error = errno;
	if (same_process())
		destroyed(forget(fd), cr_call_state(c.from) == CALL_RECORDED);
	errno = error;
}

/* Closing a range is not recorded as a call; the handles end. */
#define ONLY_MARK 4 /* of flags: close on exec only */
int close_range(unsigned first, unsigned last, int flags)
{
	int rc = REAL(close_range)(first, last, flags);
	for (unsigned fd = first; rc == 0 && !(flags & ONLY_MARK) && fd <= last && fd < DESCRIPTORS; fd++)
		replaced((struct call){.from = CR_PLACE, .state = CALL_NOT}, (int)fd);
	return rc;
}

void closefrom(int first)
{
	REAL(closefrom)(first);
	for (int fd = first < 0 ? 0 : first; fd < DESCRIPTORS; fd++)
		replaced((struct call){.from = CR_PLACE, .state = CALL_NOT}, fd);
}

#define COPY(name, flags, ...) \
	struct call c = begin(C_##name, old, POSIX, CR_PLACE); \
	int rc = REAL(name)(__VA_ARGS__); \
	if (rc != old) \
		replaced(c, rc); \
	copied(c, old, rc, flags); \
	return rc;
int dup(int old) { COPY(dup, 0, old) }
int dup2(int old, int fd) { COPY(dup2, 0, old, fd) }
int dup3(int old, int fd, int flags) { COPY(dup3, flags, old, fd, flags) }

/* sought ends a call that sets the position. reached is negative if it failed. */
static void sought(struct call c, int64_t offset, int whence, int64_t reached)
{
	if (c.state == CALL_NOT)
		return;
	int error = ours();
	if (!c.file)
		missed(0, 0);
	else if (cr_call_goes_on(c.from)) {
		cr_returned();
		if (reached >= 0)
			cr_handle_event(FILE_SEEK | (unsigned)whence << 8, c.file, (uint64_t)offset << 1 ^ (uint64_t)(offset >> 63), (uint64_t)reached);
		cr_call_leave();
	}
	theirs(error);
}

#define SEEK(type, name) \
	type name(int fd, type offset, int whence) \
	{ \
		struct call c = begin(C_lseek, fd, POSIX, CR_PLACE); \
		type rc = REAL(name)(fd, offset, whence); \
		sought(c, offset, whence, rc); \
		return rc; \
	}
SEEK(off_t, lseek)
SEEK(off64_t, lseek64)

#define DATA(function, what, offset, asked, does) \
	struct call c = begin(C_##function, fd, POSIX, CR_PLACE); \
	ssize_t rc = does; \
	moved(c, what, offset, rc < 0 ? 0 : asked, rc); \
	return rc;
ssize_t read(int fd, void *p, size_t n) { DATA(read, 0, -1, n, REAL(read)(fd, p, n)) }
ssize_t __read_chk(int fd, void *p, size_t n, size_t room) { DATA(read, 0, -1, n, REAL(__read_chk)(fd, p, n, room)) }
ssize_t write(int fd, const void *p, size_t n) { DATA(write, FILE_WRITE, -1, n, REAL(write)(fd, p, n)) }
ssize_t pread(int fd, void *p, size_t n, off_t at) { DATA(pread, 0, at, n, REAL(pread)(fd, p, n, at)) }
ssize_t pread64(int fd, void *p, size_t n, off64_t at) { DATA(pread, 0, at, n, REAL(pread64)(fd, p, n, at)) }
ssize_t __pread_chk(int fd, void *p, size_t n, off_t at, size_t room) { DATA(pread, 0, at, n, REAL(__pread_chk)(fd, p, n, at, room)) }
ssize_t __pread64_chk(int fd, void *p, size_t n, off64_t at, size_t room) { DATA(pread, 0, at, n, REAL(__pread64_chk)(fd, p, n, at, room)) }
ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { DATA(pwrite, FILE_WRITE, at, n, REAL(pwrite)(fd, p, n, at)) }
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at) { DATA(pwrite, FILE_WRITE, at, n, REAL(pwrite64)(fd, p, n, at)) }
ssize_t readv(int fd, const struct iovec *v, int n) { DATA(readv, 0, -1, total(v, n), REAL(readv)(fd, v, n)) }
ssize_t writev(int fd, const struct iovec *v, int n) { DATA(writev, FILE_WRITE, -1, total(v, n), REAL(writev)(fd, v, n)) }
#define VECTOR(name, function, type, what) \
	ssize_t name(int fd, const struct iovec *v, int n, type at) { DATA(function, what, at, total(v, n), REAL(name)(fd, v, n, at)) }
VECTOR(preadv, preadv, off_t, 0)
VECTOR(preadv64, preadv, off64_t, 0)
VECTOR(pwritev, pwritev, off_t, FILE_WRITE)
VECTOR(pwritev64, pwritev, off64_t, FILE_WRITE)
#define VECTOR2(name, function, type, what) \
	ssize_t name(int fd, const struct iovec *v, int n, type at, int flags) { DATA(function, what, at, total(v, n), REAL(name)(fd, v, n, at, flags)) }
VECTOR2(preadv2, preadv2, off_t, 0)
VECTOR2(preadv64v2, preadv2, off64_t, 0)
VECTOR2(pwritev2, pwritev2, off_t, FILE_WRITE)
VECTOR2(pwritev64v2, pwritev2, off64_t, FILE_WRITE)
int fsync(int fd) { DATA(fsync, FILE_FLUSH, -1, 0, REAL(fsync)(fd)) }
int fdatasync(int fd) { DATA(fdatasync, FILE_FLUSH, -1, 0, REAL(fdatasync)(fd)) }
int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags) { DATA(sync_file_range, FILE_FLUSH, at, 0, REAL(sync_file_range)(fd, at, n, flags)) }

/* Streams. One without a descriptor is in memory. */
static int descriptor(FILE *f)
{
	int error = errno, fd = f ? fileno(f) : -1;
	errno = error;
	return fd;
}

/* flags_of converts a mode of fopen to flags of open. */
static int flags_of(const char *mode)
{
	int plus = mode && strchr(mode, '+') != NULL, rest = mode && strchr(mode, 'e') ? O_CLOEXEC : 0;
	switch (mode ? *mode : 0) {
	case 'w':
		return rest | O_CREAT | O_TRUNC | (plus ? O_RDWR : O_WRONLY);
	case 'a':
		return rest | O_CREAT | O_APPEND | (plus ? O_RDWR : O_WRONLY);
	}
	return rest | (plus ? O_RDWR : O_RDONLY);
}

#define FOPEN(name) \
	FILE *name(const char *path, const char *mode) \
	{ \
		struct call c = opening(CR_PLACE); \
		FILE *f = REAL(name)(path, mode); \
		opened(c, C_fopen, descriptor(f), ISOC, flags_of(mode)); \
		return f; \
	}
FOPEN(fopen)
FOPEN(fopen64)

#define FREOPEN(name) \
	FILE *name(const char *path, const char *mode, FILE *old) \
	{ \
		struct handles h = {{NULL, NULL}}; \
		struct call c = closing(C_freopen, descriptor(old), &h, CR_PLACE); \
		FILE *f = REAL(name)(path, mode, old); \
		closed(c, h); \
		return f; \
	}
FREOPEN(freopen)
FREOPEN(freopen64)

/* The descriptor keeps its handle; the stream gets its own. */
FILE *fdopen(int fd, const char *mode)
{
	struct call c = begin(C_fdopen, fd, POSIX, CR_PLACE);
	FILE *f = REAL(fdopen)(fd, mode);
	if (c.state != CALL_NOT) {
		int error = ours();
		if (c.file && cr_call_goes_on(c.from)) {
			cr_returned();
			struct file *own = f ? handle(fd, ISOC, 0) : NULL;
			if (own)
				cr_handle_event(FILE_CREATE | (unsigned)access_mode(flags_of(mode)) << 8, own, 0, status_flags(flags_of(mode)));
			cr_call_leave();
		}
		theirs(error);
	}
	return f;
}

int fclose(FILE *f)
{
	struct handles h = {{NULL, NULL}};
	struct call c = closing(C_fclose, descriptor(f), &h, CR_PLACE);
	int rc = REAL(fclose)(f);
	closed(c, h);
	return rc;
}

#define STREAM(function, what, does) \
	struct call c = begin(C_##function, descriptor(f), ISOC, CR_PLACE); \
	size_t rc = does; \
	moved(c, what, -1, (uint64_t)size * n, (int64_t)(size * rc)); \
	return rc;
size_t fread(void *p, size_t size, size_t n, FILE *f) { STREAM(fread, 0, REAL(fread)(p, size, n, f)) }
size_t fread_unlocked(void *p, size_t size, size_t n, FILE *f) { STREAM(fread, 0, REAL(fread_unlocked)(p, size, n, f)) }
size_t __fread_chk(void *p, size_t room, size_t size, size_t n, FILE *f) { STREAM(fread, 0, REAL(__fread_chk)(p, room, size, n, f)) }
size_t fwrite(const void *p, size_t size, size_t n, FILE *f) { STREAM(fwrite, FILE_WRITE, REAL(fwrite)(p, size, n, f)) }
size_t fwrite_unlocked(const void *p, size_t size, size_t n, FILE *f) { STREAM(fwrite, FILE_WRITE, REAL(fwrite_unlocked)(p, size, n, f)) }

/* Lines and texts. At the end of the file nothing is transferred. A line counts up to its first zero byte. */
#define TEXT(function, type, what, does, asked, bytes) \
	struct call c = begin(C_##function, descriptor(f), ISOC, CR_PLACE); \
	type rc = does; \
	if (c.state != CALL_NOT) \
		moved(c, what, -1, (uint64_t)(asked), bytes); \
	return rc;
char *fgets(char *s, int n, FILE *f) { TEXT(fgets, char *, 0, REAL(fgets)(s, n, f), n, rc ? (int64_t)strlen(s) : 0) }
char *__fgets_chk(char *s, size_t room, int n, FILE *f) { TEXT(fgets, char *, 0, REAL(__fgets_chk)(s, room, n, f), n, rc ? (int64_t)strlen(s) : 0) }
#define LINE_OF(does) TEXT(getdelim, ssize_t, 0, does, rc < 0 ? 0 : rc, rc < 0 ? 0 : rc)
ssize_t getline(char **s, size_t *n, FILE *f) { LINE_OF(REAL(getline)(s, n, f)) }
ssize_t getdelim(char **s, size_t *n, int end, FILE *f) { LINE_OF(REAL(getdelim)(s, n, end, f)) }
ssize_t __getdelim(char **s, size_t *n, int end, FILE *f) { LINE_OF(REAL(__getdelim)(s, n, end, f)) }
int fputs(const char *s, FILE *f) { TEXT(fputs, int, FILE_WRITE, REAL(fputs)(s, f), strlen(s), rc < 0 ? -1 : (int64_t)strlen(s)) }
int vfprintf(FILE *f, const char *text, va_list list) { TEXT(fprintf, int, FILE_WRITE, REAL(vfprintf)(f, text, list), rc, rc) }
int __vfprintf_chk(FILE *f, int flag, const char *text, va_list list) { TEXT(fprintf, int, FILE_WRITE, REAL(__vfprintf_chk)(f, flag, text, list), rc, rc) }
#define ARGUMENTS(does) \
	va_list list; \
	va_start(list, text); \
	int n = does; \
	va_end(list);
int fprintf(FILE *f, const char *text, ...)
{
	struct call c = begin(C_fprintf, descriptor(f), ISOC, CR_PLACE);
	ARGUMENTS(REAL(vfprintf)(f, text, list))
	moved(c, FILE_WRITE, -1, (uint64_t)n, n);
	return n;
}
int __fprintf_chk(FILE *f, int flag, const char *text, ...)
{
	struct call c = begin(C_fprintf, descriptor(f), ISOC, CR_PLACE);
	ARGUMENTS(REAL(__vfprintf_chk)(f, flag, text, list))
	moved(c, FILE_WRITE, -1, (uint64_t)n, n);
	return n;
}

int fflush(FILE *f)
{
	struct call c = begin(C_fflush, descriptor(f), ISOC, CR_PLACE);
	int rc = REAL(fflush)(f);
	moved(c, FILE_FLUSH, -1, 0, rc);
	return rc;
}

#define FSEEK(name, type) \
	int name(FILE *f, type offset, int whence) \
	{ \
		struct call c = begin(C_fseek, descriptor(f), ISOC, CR_PLACE); \
		int rc = REAL(name)(f, offset, whence); \
		sought(c, offset, whence, rc != 0 || c.state == CALL_NOT ? -1 : ftello64(f)); \
		return rc; \
	}
FSEEK(fseek, long)
FSEEK(fseeko, off_t)
FSEEK(fseeko64, off64_t)
