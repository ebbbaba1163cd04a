#define _GNU_SOURCE
#include "replayer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Replays that run at once begin their computation together. One that ends earlier keeps its processor busy, as a process does that waits
 * in MPI: the processor's shared parts are then used as in the recorded run. COPPICE_REPLAY_TOGETHER has three descriptors of pipes: to
 * report that this replay is ready, and later done; one that is closed when all are ready; one that is closed when all are done. A 1
 * follows if there is a processor for each.
 */

static int tell = -1, ready = -1, done = -1, busy;

static void say(void)
{
	while (tell >= 0 && write(tell, "", 1) < 0 && errno == EINTR)
		;
}

HIDDEN void rp_together(void)
{
	const char *text = getenv("COPPICE_REPLAY_TOGETHER");
	char byte;
	if (!text || sscanf(text, "%d,%d,%d,%d", &tell, &ready, &done, &busy) != 4)
		return;
	fcntl(tell, F_SETFD, FD_CLOEXEC);
	fcntl(ready, F_SETFD, FD_CLOEXEC);
	fcntl(done, F_SETFD, FD_CLOEXEC);
	if (busy)
		fcntl(done, F_SETFL, O_NONBLOCK);
	say();
	while (read(ready, &byte, 1) < 0 && errno == EINTR)
		;
}

/* rp_linger keeps the processor busy until all replays are done. */
HIDDEN void rp_linger(void)
{
	char byte;
	say();
	while (done >= 0 && read(done, &byte, 1) < 0 && (errno == EAGAIN || errno == EINTR)) {
		for (volatile int i = 0; i < 100000 && !rp_yields; i++)
			;
		if (rp_yields)
			sched_yield();
	}
}
