#include "recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * Windows of one-sided communication, by the value of their handles. A window gets its own communicator number: it has the same members as
 * its communicator, but its fences have an order of their own.
 */

#define MOST_OPEN (1 << 16) /* operations of a window; further ones in progress are recorded without their end */

struct operation {
	uint64_t id;
	int target;
};

struct window {
	uint64_t handle, number;
	int fenced; /* a fence has begun an epoch */
	int locks; /* it may be locked: freeing it is a barrier */
	struct operation *open; /* operations not known to be complete */
	size_t used, room;
	int *ranks[2], count[2]; /* processes that the access and exposure epochs concern */
	struct window *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct window *windows;
static uint64_t newest;

#define HANDLE(win) ((uint64_t)(uintptr_t)(win))

/* find returns the address of the pointer to a window, of NULL if it is not known. The lock is held. */
static struct window **find(MPI_Win win)
{
	struct window **p = &windows;
	while (*p && (*p)->handle != HANDLE(win))
		p = &(*p)->next;
	return p;
}

static void event(unsigned what, uint64_t window, int remote, uint64_t sent, uint64_t got, uint64_t id)
{
	uint64_t a[6] = {what, window, (uint64_t)(int64_t)(remote + 1), sent, got, id};
	cr_event(EV_RMA, 6, a);
}

HIDDEN void cr_win_made(MPI_Win win, MPI_Comm comm)
{
	struct window *w = win == MPI_WIN_NULL ? NULL : calloc(1, sizeof *w);
	if (!w) {
		if (win != MPI_WIN_NULL)
			cr_no_memory();
		return;
	}
	w->handle = HANDLE(win);
	w->number = cr_comm_like(comm);
	cr_define(DEF_WIN, &w->number, sizeof w->number);
	event(RMA_CREATE, w->number, 0, 0, 0, 0);
	cr_win_stays(w);
}

HIDDEN void cr_win_stays(struct window *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&lock);
	w->next = windows;
	windows = w;
	pthread_mutex_unlock(&lock);
}

/* may_lock returns 0 if the program has promised (info key no_locks) not to lock a window. Freeing any other one is a barrier (MPI 4.1,
 * 12.2.5). */
static int may_lock(MPI_Win win)
{
	MPI_Info info;
	char value[8] = "";
	int given = 0;
	if (PMPI_Win_get_info(win, &info) != MPI_SUCCESS)
		return 0;
	PMPI_Info_get(info, "no_locks", sizeof value - 1, value, &given);
	PMPI_Info_free(&info);
	return !given || strcmp(value, "true") != 0;
}

HIDDEN struct window *cr_win_gone(const MPI_Win *win)
{
	pthread_mutex_lock(&lock);
	struct window **p = win ? find(*win) : NULL, *w = p ? *p : NULL;
	if (w)
		*p = w->next;
	pthread_mutex_unlock(&lock);
	if (w)
		w->locks = may_lock(*win);
	return w;
}

HIDDEN void cr_win_freeing(const struct window *w)
{
	if (w && w->locks)
		cr_coll_begin();
}

HIDDEN void cr_win_freed(struct window *w)
{
	if (!w)
		return;
	const uint64_t barrier[5] = {0, w->number};
	if (w->locks)
		cr_event(EV_COLL_END, 5, barrier);
	event(RMA_DESTROY, w->number, 0, 0, 0, 0);
	free(w->open);
	free(w->ranks[0]);
	free(w->ranks[1]);
	free(w);
}

/* begun numbers an operation and writes its begin. open: the window keeps it until a synchronisation ends it. An operation on
 * MPI_PROC_NULL is complete at once. */
static uint64_t begun(unsigned what, MPI_Win win, int target, uint64_t sent, uint64_t got, int open, uint64_t *number)
{
	const int nobody = target == MPI_PROC_NULL;
	open = open && !nobody;
	pthread_mutex_lock(&lock);
	struct window *w = *find(win);
	uint64_t id = w ? ++newest : 0;
	if (w && open && w->used == w->room && w->room < MOST_OPEN) {
		size_t room = w->room ? 2 * w->room : 64;
		struct operation *p = realloc(w->open, room * sizeof *p);
		if (p) {
			w->open = p;
			w->room = room;
		} else
			cr_no_memory();
	}
	if (w && open && w->used < w->room)
		w->open[w->used++] = (struct operation){id, target};
	*number = w ? w->number : 0;
	pthread_mutex_unlock(&lock);
	if (id)
		event(what, *number, nobody ? CR_ALL : target, nobody ? 0 : sent, nobody ? 0 : got, id);
	if (id && nobody)
		cr_rma_done(*number, id);
	return nobody ? 0 : id;
}

HIDDEN void cr_rma(unsigned what, MPI_Win win, int target, uint64_t sent, uint64_t got)
{
	uint64_t number;
	begun(what, win, target, sent, got, 1, &number);
}

HIDDEN void cr_rma_later(MPI_Request request, unsigned what, MPI_Win win, int target, uint64_t sent, uint64_t got)
{
	uint64_t number = 0, id = begun(what, win, target, sent, got, 0, &number);
	cr_rma_request(request, number, id);
}

HIDDEN void cr_rma_done(uint64_t window, uint64_t id) { event(RMA_DONE, window, 0, 0, 0, id); }

/* done ends the operations of a window on a target, or on all (CR_ALL). The lock is held. */
static void done(struct window *w, int target)
{
	size_t left = 0;
	for (size_t i = 0; i < w->used; i++)
		if (target == CR_ALL || w->open[i].target == target)
			cr_rma_done(w->number, w->open[i].id);
		else
			w->open[left++] = w->open[i];
	w->used = left;
}

/* ends returns whether a fence is known to end an epoch, so that all processes wait for each other. */
static int ends(const struct window *w, int assert) { return w && w->fenced && !(assert & MPI_MODE_NOPRECEDE); }

HIDDEN void cr_fence_begin(int assert, MPI_Win win)
{
	pthread_mutex_lock(&lock);
	if (ends(*find(win), assert))
		cr_coll_begin();
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_fence_end(int assert, MPI_Win win)
{
	pthread_mutex_lock(&lock);
	struct window *w = *find(win);
	if (w) {
		uint64_t barrier[5] = {0, w->number};
		done(w, CR_ALL);
		if (ends(w, assert))
			cr_event(EV_COLL_END, 5, barrier);
		else
			event(RMA_FENCE, w->number, 0, 0, 0, 0);
		w->fenced = !(assert & MPI_MODE_NOSUCCEED);
	}
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_rma_sync(unsigned what, MPI_Win win, int target, int complete)
{
	pthread_mutex_lock(&lock);
	struct window *w = *find(win);
	if (w && complete)
		done(w, target);
	if (w)
		event(what, w->number, target, 0, 0, 0);
	pthread_mutex_unlock(&lock);
}

/* groups writes a synchronisation with each process of an epoch. */
static void groups(struct window *w, int side, unsigned what)
{
	for (int i = 0; i < w->count[side]; i++)
		event(what, w->number, w->ranks[side][i], 0, 0, 0);
}

HIDDEN void cr_epoch(unsigned what, MPI_Win win, int side, MPI_Group group)
{
	MPI_Group all;
	int n = 0;
	PMPI_Group_size(group, &n);
	int *ranks = malloc(((size_t)n + 1) * 2 * sizeof *ranks);
	if (!ranks || PMPI_Win_get_group(win, &all) != MPI_SUCCESS) {
		if (!ranks)
			cr_no_memory();
		free(ranks);
		return;
	}
	for (int i = 0; i < n; i++)
		ranks[n + i] = i;
	PMPI_Group_translate_ranks(group, n, ranks + n, all, ranks);
	PMPI_Group_free(&all);
	pthread_mutex_lock(&lock);
	struct window *w = *find(win);
	if (w) {
		free(w->ranks[side]);
		w->ranks[side] = ranks;
		w->count[side] = n;
		groups(w, side, what);
	} else
		free(ranks);
	pthread_mutex_unlock(&lock);
}

HIDDEN void cr_epoch_over(unsigned what, MPI_Win win, int side)
{
	pthread_mutex_lock(&lock);
	struct window *w = *find(win);
	if (w) {
		if (side == EPOCH_ACCESS)
			done(w, CR_ALL);
		groups(w, side, what);
		w->count[side] = 0;
	}
	pthread_mutex_unlock(&lock);
}
