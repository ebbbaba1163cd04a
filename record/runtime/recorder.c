#define _GNU_SOURCE
#include "fortran.h"
#include "log.h"
#include "stream.h"
#include "threads.h"
#include "vector.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

HIDDEN struct recording cr = {.def.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

HIDDEN uint64_t cr_now(void) { return now(); }

HIDDEN int cr_recording(void) { return atomic_load_explicit(&cr.active, memory_order_relaxed); }

HIDDEN void cr_complain(const char *what)
{
	fprintf(stderr, "coppice record: process %d: %s: %s; the recording ends here, the program goes on\n", cr.rank, what,
		strerror(errno));
}

HIDDEN void cr_no_memory(void)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	lg_lost();
	if (atomic_flag_test_and_set(&told))
		return;
	fprintf(stderr, "coppice record: process %d: no memory; the recording ends here, the program goes on\n", cr.rank);
	cr_stop(END_MEMORY);
}

/* cr_meter writes the counters that count has read. It precedes the enter or leave that they belong to. */
HIDDEN void cr_meter(struct stream *s, uint64_t t)
{
	uint64_t a[1 + COUNTERS] = {cr.counters_n};
	if (s->at >= s->end && !cr_turn(s)) /* values are relative to the previous ones of the same window */
		return;
	for (unsigned i = 0; i < cr.counters_n; i++) {
		a[1 + i] = s->values[i] - s->counted[i];
		s->counted[i] = s->values[i];
	}
	put(s, t, EV_METRIC, 1 + (int)cr.counters_n, a);
}

/* abandon ends a call of file I/O that the program left by longjmp. */
static void abandon(struct stream *s, const char *frame)
{
	if (s->depth != 1 || !s->frame || frame < s->frame) /* the call still runs: the stack grows down */
		return;
	count(s);
	if (atomic_load_explicit(&cr.active, memory_order_relaxed))
		edge(s, now(), EV_LEAVE, s->call);
	s->frame = NULL;
	s->depth = 0;
}

/* part begins or ends the recorded part if it is time. It returns whether this thread is outside of it. */
static int part(struct stream *s)
{
	uint64_t t = now();
	cr_part(s, t);
	if (s->off)
		s->stamp = t;
	return s->off;
}

HIDDEN int cr_enter(unsigned function, struct cr_place from)
{
	int active = atomic_load_explicit(&cr.active, memory_order_relaxed);
	if (!active && !lg_on) /* the receive log may go on after the recording has ended */
		return 0;
	uint64_t t = 0;
	if (!cr_mine) {
		t = now(); /* opening the thread's file may take ms, which belong to the call */
		if (!active)
			lg_second_thread();
		if (!active || !cr_stream())
			return 0;
	}
	if (cr_mine->frame)
		abandon(cr_mine, from.frame);
	if (cr_mine->depth++ > 0 || cr_mine->quiet) {
		cr_mine->depth--;
		return 0;
	}
	if (cr_vector_on)
		cr_vector_enter(function);
	if (!active)
		return 1;
	if (cr.parted && part(cr_mine))
		return 1;
	cr_mine->call = cr_site(cr_mine, function, from);
	count(cr_mine);
	if (!t)
		t = now();
	if (cr_mine->thread == 0 && t - cr_mine->stamp >= PIECE)
		cr_computed(cr_mine->stamp, t);
	cr_mine->stamp = t;
	edge(cr_mine, t, EV_ENTER, cr_mine->call);
	return 1;
}

HIDDEN int cr_outermost(void) { return cr_mine && cr_mine->depth == 0 && !cr_mine->quiet; }

HIDDEN void cr_returned(void)
{
	cr_mine->stamp = now();
	count(cr_mine);
}

HIDDEN void cr_leave(void)
{
	if (lg_on) /* writing the log is not computation of the program */
		cr_returned();
	if (atomic_load_explicit(&cr.active, memory_order_relaxed))
		edge(cr_mine, cr_mine->stamp, EV_LEAVE, cr_mine->call);
	if (cr_mine->thread == 0)
		cr_computes(cr_mine->stamp);
	cr_mine->depth--;
	if (cr.parted)
		cr_part(cr_mine, cr_mine->stamp);
	if (cr_vector_on)
		cr_vector_leave();
}

HIDDEN int cr_call_state(struct cr_place from)
{
	struct stream *s = cr_mine;
	if (cr_inside || !atomic_load_explicit(&cr.active, memory_order_relaxed))
		return CALL_NOT;
	if (!s || s->busy || s->waits)
		return CALL_UNSEEN;
	if (s->frame)
		abandon(s, from.frame);
	if (s->quiet || (s->depth > 0 && !s->frame))
		return CALL_NOT;
	return s->depth ? CALL_UNSEEN : CALL_RECORDED;
}

HIDDEN uint64_t cr_call_begins(void)
{
	count(cr_mine);
	return now();
}

HIDDEN void cr_call_enter(unsigned function, struct cr_place from, uint64_t t)
{
	struct stream *s = cr_mine;
	if (cr.parted)
		cr_part(s, t);
	s->depth = 1;
	s->frame = from.frame;
	if (s->off) {
		s->stamp = t;
		return;
	}
	s->call = cr_site(s, function, from);
	if (s->thread == 0 && t > s->stamp && t - s->stamp >= PIECE)
		cr_computed(s->stamp, t);
	s->stamp = t;
	edge(s, t, EV_ENTER, s->call);
}

HIDDEN int cr_call_goes_on(struct cr_place from) { return cr_mine && cr_mine->depth == 1 && cr_mine->frame == from.frame; }

HIDDEN void cr_call_leave(void)
{
	struct stream *s = cr_mine;
	if (atomic_load_explicit(&cr.active, memory_order_relaxed))
		edge(s, s->stamp, EV_LEAVE, s->call);
	if (s->thread == 0)
		cr_computes(s->stamp);
	s->frame = NULL;
	s->depth = 0;
	if (cr.parted)
		cr_part(s, s->stamp);
}

/* cr_event writes an event of the current call, with the time of its enter or, after cr_returned, of its leave. */
HIDDEN void cr_event(int kind, int n, const uint64_t *args)
{
	if (atomic_load_explicit(&cr.active, memory_order_relaxed))
		put(cr_mine, cr_mine->stamp, kind, n, args);
}

__attribute__((constructor)) static void loaded(void)
{
	cr.begin = now();
	cr.first = pthread_self();
	cr.counters = cr_counters_open();
	if (getenv("COPPICE_RECORD_DIR"))
		cr_usage(1);
}

/* cr_begins returns the time at which MPI_Init is called. */
HIDDEN uint64_t cr_begins(void)
{
	cr.initialising = 1;
	if (cr.counters && pthread_equal(pthread_self(), cr.first) && !cr_counters_read(cr.counters, cr.entered))
		cr.counters = NULL;
	cr_usage(0);
	return now();
}

/* Bytes of an archive without events, communicators and names: definitions of functions and of one process, and space for the blocks of
 * the files. */
#define ARCHIVE_BYTES (32 << 10)
#define PROCESS_BYTES (10 << 10)

/* share returns the bytes that this process may use of a bounded archive. The 4096th part is for heads and ends of chunks: less than 256
 * bytes for 1 MiB of events. */
static int64_t share(void)
{
	const char *b = getenv("COPPICE_RECORD_BYTES");
	uint64_t n = b ? strtoull(b, NULL, 10) : 0;
	if (n == 0 || n > INT64_MAX / 2)
		return INT64_MAX / 2;
	int64_t mine = ((int64_t)n - ARCHIVE_BYTES - 3 * (int64_t)strlen(cr_functions)) / cr.size - PROCESS_BYTES;
	return mine - mine / 4096;
}

/* In a child that the program forks nothing is recorded: the files belong to its parent. */
static void forked(void)
{
	atomic_store(&cr.active, 0);
	lg_on = lg_times = 0;
}

/* begun: MPI_Init was called. Fortran's may call that of C, so both wrappers come here. */
static atomic_int begun, sessions;

HIDDEN void cr_session(void)
{
	if (!atomic_exchange(&sessions, 1) && cr.def.fd >= 0)
		cr_define(DEF_SESSIONS, "", 0);
}

/* define_end writes the last definition and closes the file. */
static void define_end(const uint64_t end[6])
{
	cr_define(DEF_END, end, 6 * sizeof *end);
	cr_release(&cr.def);
}

/* refuse defines a process of a program that uses sessions without MPI_Init. There is no world communicator to number the processes in,
 * so nothing else is recorded and the archive says why. The rank comes from the launcher's environment. */
static void refuse(const char *folder)
{
	static const char *const numbers[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}};
	char name[sizeof cr.folder + 64];
	cr.size = 1;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		const char *rank = getenv(numbers[i][0]), *size = getenv(numbers[i][1]);
		if (rank && size && atoi(rank) >= 0 && atoi(size) > atoi(rank)) {
			cr.rank = atoi(rank);
			cr.size = atoi(size);
			break;
		}
	}
	if (snprintf(name, sizeof name, "%s/%d.def", folder, cr.rank) >= (int)sizeof name)
		return;
	if (cr_hold(&cr.def, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND) < 0)
		return;
	uint64_t end[6] = {END_SESSIONS};
	cr_define_process();
	cr_define(DEF_SESSIONS, "", 0);
	define_end(end);
}

/* leave_note writes why nothing was recorded, for record: the program uses only sessions, or another MPI library, or it calls this one
 * past the recorder. */
static void leave_note(void)
{
	char name[3100], text[3100] = "past";
	const char *folder = getenv("COPPICE_RECORD_DIR");
	int past = 0;
	if (atomic_load(&begun) || !folder || snprintf(name, sizeof name, "%s/note", folder) >= (int)sizeof name)
		return;
	if (atomic_load(&sessions)) {
		refuse(folder);
		return;
	}
	if (!cr_other_library(text, sizeof text) && (PMPI_Initialized(&past) != MPI_SUCCESS || !past))
		return;
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0) {
		if (write(fd, text, strlen(text)) < 0)
			cr_complain(name);
		close(fd);
	}
}

/* cr_spawned returns whether MPI_Comm_spawn started this process. Its ranks belong to another MPI_COMM_WORLD, so its files would
 * overwrite those of other processes. */
HIDDEN int cr_spawned(void)
{
	MPI_Comm parent = MPI_COMM_NULL;
	return PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

/* The status of exit, MPI_Abort or return from main, + 1. Only some C libraries have on_exit, which passes it. */
static uint64_t exit_status;
#pragma weak on_exit

static void exits(int status, void *unused)
{
	(void)unused;
	exit_status = (uint64_t)(status & 0xff) + 1;
}

/* anyone returns whether there is nonzero on any process. It waits for all processes. One without the recorder never takes part and the
 * program hangs: then this writes a message after 10 s. */
static int anyone(const char *folder, int there)
{
	char name[sizeof cr.folder + 64];
	MPI_Request request;
	int any = 0, done = 0;
	uint64_t t = now(), patience = 10000000000u;
	PMPI_Iallreduce(&there, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
	while (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
		uint64_t waited = now() - t;
		if (waited < 10000000)
			sched_yield();
		else
			nanosleep(&(struct timespec){0, 1000000}, NULL);
		if (waited < patience)
			continue;
		patience = UINT64_MAX;
		snprintf(name, sizeof name, "%s/note", folder);
		int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			continue; /* another process writes the message */
		if (write(fd, "alone", 5) == 5)
			fprintf(stderr, "coppice record: process %d of %d waits for others since 10 s. They have no recorder, and never come, or they are "
				"still in MPI_Init or cannot be reached. The launcher has to give LD_PRELOAD and COPPICE_RECORD_DIR to all processes: "
				"name it in the command, not in a script; no program may be linked statically\n", cr.rank, cr.size);
		close(fd);
	}
	return any;
}

/* begin opens the files of this process and starts the helper thread. If it fails, nothing is recorded. */
static int begin(const char *folder)
{
	char name[sizeof cr.folder + 64];
	strcpy(cr.folder, folder);
	PMPI_Comm_rank(MPI_COMM_WORLD, &cr.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &cr.size);
	snprintf(name, sizeof name, "%s/%d.def", folder, cr.rank);
	if (anyone(folder, access(name, F_OK) == 0)) {
		if (cr.rank == 0)
			fprintf(stderr, "coppice record: the command has started an MPI program before, which is in the recording; this one is not: record each by itself\n");
		return 0;
	}
	atomic_store(&cr.left, share());
	const char *vectors = getenv("COPPICE_RECORD_VECTORS");
	if (vectors && snprintf(name, sizeof name, "%s/%d.vec", vectors, cr.rank) < (int)sizeof name && !cr_vector_open(name, cr_functions))
		cr_complain(name);
	snprintf(name, sizeof name, "%s/%d.def", folder, cr.rank);
	if (cr_hold(&cr.def, name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND) < 0) {
		cr_complain(name);
		return 0;
	}
	cr_define_process();
	if (!cr_part_open()) {
		uint64_t end[6] = {END_DISK};
		define_end(end);
		return 0;
	}
	if (atomic_load(&sessions))
		cr_define(DEF_SESSIONS, "", 0);
	cr_define_counters();
	errno = 0;
	cr_mine = cr_open_stream(cr.begin);
	if (cr_mine && (errno = pthread_create(&cr.helper, NULL, cr_help, NULL)) == 0)
		return 1;
	uint64_t end[6] = {errno == ENOMEM || errno == EAGAIN ? END_MEMORY : END_DISK};
	if (cr_mine)
		cr_complain("no thread for the recording");
	define_end(end);
	return 0;
}

/* cr_start begins the recording after MPI_Init. The event stream begins at the time when the library was loaded. */
HIDDEN void cr_start(uint64_t entered, unsigned function, struct cr_place from)
{
	const char *folder = getenv("COPPICE_RECORD_DIR");
	cr.initialising = 0;
	if (atomic_exchange(&begun, 1) || !folder || !*folder || strlen(folder) >= sizeof cr.folder || cr_spawned())
		return;
	if (!begin(folder)) {
		cr_clock(0);
		return;
	}
	atomic_store(&cr.active, 1);
	edge(cr_mine, cr.begin, EV_REGION_ENTER, 0); /* name 0: the program */
	memcpy(cr_mine->values, cr.entered, sizeof cr.entered);
	cr_sites_open();
	cr_signals_open();
	cr_samples_open();
	cr_mine->call = cr_site(cr_mine, function, from);
	edge(cr_mine, entered, EV_ENTER, cr_mine->call);
	cr_mine->stamp = entered;
	cr_mine->depth = 1;
	pthread_atfork(NULL, NULL, forked);
	if (on_exit)
		on_exit(exits, NULL);
	if (cr.rank == 0)
		cr_define(DEF_FUNCTIONS, cr_functions, strlen(cr_functions));
	if (cr_posix_start)
		cr_posix_start();
	cr_replaced();
	cr_comm_start();
	cr_clock(0);
	if (!cr_mine->off)
		cr_usage(1);
	cr_returned();
	cr_part_starts(cr_mine->stamp);
	cr_leave();
}

HIDDEN uint64_t cr_thread(void) { return cr_mine->thread; }

HIDDEN void cr_quiet(int on)
{
	if (cr_mine)
		cr_mine->quiet = on;
}

/* cr_stop ends the recording of this process: windows get their checksums, files their final length. */
HIDDEN void cr_stop(int reason)
{
	if (cr.parted && cr_mine && cr_mine->depth == 0 && reason <= END_ABORT)
		cr_part(cr_mine, now());
	if (!atomic_exchange(&cr.active, 0))
		return;
	if (cr_mine && cr_mine->thread == 0 && cr_mine->depth == 0)
		cr_computed(cr_mine->stamp, now());
	cr_usage(0);
	if (cr_mine && !cr_mine->off && reason <= END_ABORT && cr_mine->depth == 0 && cr_mine->at < cr_mine->end) /* end of the program's region */
		cr_leave_all();
	cr_sample_end();
	pthread_mutex_lock(&cr.lock);
	cr.leaving = 1;
	pthread_cond_signal(&cr.work);
	pthread_mutex_unlock(&cr.lock);
	if (!pthread_equal(pthread_self(), cr.helper))
		pthread_join(cr.helper, NULL);
	cr_samples_define();
	uint64_t end[6] = {(uint64_t)reason};
	if (reason == END_EXIT || reason == END_ABORT)
		end[5] = exit_status;
	pthread_mutex_lock(&cr.lock); /* from here on no thread changes to another window */
	cr.stopped = 1;
	for (struct stream *s = atomic_load(&cr.streams); s; s = s->following) {
		cr_threads_end(s, reason == END_FINALIZE);
		cr_end_stream(s, end);
	}
	pthread_mutex_unlock(&cr.lock);
	if (reason <= END_ABORT)
		cr_unreplaced();
	cr_define_usage();
	if (cr_posix_end)
		cr_posix_end();
	define_end(end);
}

HIDDEN void cr_abort(int code)
{
	exit_status = (uint64_t)(uint32_t)code + 1;
	cr_stop(END_ABORT);
}

__attribute__((destructor)) static void unloaded(void)
{
	cr_stop(END_EXIT);
	leave_note();
}
