/* A file that is kept open. The program may close the descriptor, and open a file of its own by the same number. */
#ifndef COPPICE_HELD_H
#define COPPICE_HELD_H

#include <sys/types.h>

#define HIDDEN __attribute__((visibility("hidden")))

struct held {
	int fd, flags;
	char *path;
	dev_t device;
	ino_t inode;
};

HIDDEN int cr_hold(struct held *f, const char *path, int flags); /* opens or makes it; its descriptor, or -1 and errno */
HIDDEN int cr_held(struct held *f);                              /* its descriptor; it is opened again where that is another file's */
HIDDEN void cr_release(struct held *f);

#endif
