/* A file that stays open although the program may close its descriptor and open another file under the same number. */
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

HIDDEN int cr_hold(struct held *f, const char *path, int flags); /* opens or creates the file; returns the descriptor, or -1 and errno */
HIDDEN int cr_held(struct held *f);                              /* returns the descriptor; opens the file again if the number belongs to another file */
HIDDEN void cr_release(struct held *f);

#endif
