#define _GNU_SOURCE
#include "held.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is(const struct held *f)
{
	struct stat st;
	return f->fd >= 0 && fstat(f->fd, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode;
}

/* above opens a file under a descriptor greater than those of the standard streams, which the program may have closed. */
static int above(const char *path, int flags)
{
	int low = open(path, flags | O_CLOEXEC, 0644), fd = low;
	if (low >= 0 && low <= STDERR_FILENO) {
		fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		close(low);
	}
	return fd;
}

HIDDEN int cr_hold(struct held *f, const char *path, int flags)
{
	struct stat st;
	f->fd = above(path, flags);
	f->flags = flags & ~(O_CREAT | O_EXCL | O_TRUNC);
	f->path = strdup(path);
	if (f->fd >= 0 && fstat(f->fd, &st) == 0) {
		f->device = st.st_dev;
		f->inode = st.st_ino;
	}
	return f->fd;
}

HIDDEN int cr_held(struct held *f)
{
	if (f->fd < 0 || is(f))
		return f->fd;
	int fd = f->path ? above(f->path, f->flags) : -1;
	if (fd >= 0)
		f->fd = fd;
	return fd;
}

HIDDEN void cr_release(struct held *f)
{
	if (is(f))
		close(f->fd);
	f->fd = -1; /* path is not freed: a signal may have interrupted malloc */
}
