/*
 * Recorder of one MPI process: the part that every wrapper calls.
 *
 * A process writes two files into the folder of the recording, named by its world rank:
 *
 *   R.def   definitions: communicators, names, clock readings; few, appended as they come
 *   R.evt   events, in windows of WINDOW bytes
 *
 * The event file is written through a shared mapping, a window at a time: what a process recorded is in the file
 * even when it is killed. A window that is full, or the last one of an orderly end, gets its length and checksum;
 * one without them is read up to its first zero byte.
 *
 * Cost of an event: one clock reading and some 10 bytes. The next window is allocated and touched by a thread of
 * its own before it is needed. Memory: 3 windows.
 */
#ifndef COPPICE_RECORDER_H
#define COPPICE_RECORDER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Kinds of events. Every event is a byte, the ticks since the event before, and its numbers, as varints. */
enum {
	EV_END = 0, /* no event: the rest of the window is empty */
	EV_ENTER,   /* function */
	EV_LEAVE,   /* function */
	EV_SEND,    /* destination, communicator, tag, bytes */
	EV_ISEND,   /* the same, request */
	EV_ISEND_DONE,
	EV_RECV,     /* source, communicator, tag, bytes */
	EV_IRECV_REQ,
	EV_IRECV, /* source, communicator, tag, bytes, request */
	EV_CANCELLED,
	EV_COLL_BEGIN,
	EV_COLL_END, /* operation, communicator, root + 1 or 0, bytes sent, bytes received */
	EV_NBC_REQ,
	EV_NBC_END, /* the same, request */
	EV_REGION_ENTER, /* name */
	EV_REGION_LEAVE,
	EV_PCONTROL,     /* level, zigzag; name + 1 or 0 */
	EV_STOPPED,      /* reason: nothing follows */
	EV_METRIC,       /* how many; counters, each relative to its value in the metric before in this window, the first to 0 */
	EV_RMA,          /* what, with its type times 256; window; other process + 1 or 0 for all; bytes sent, bytes received; number of the operation */
	EV_FILE,         /* what, see FILE_CREATE; file; two numbers; number of the operation */
	EV_SAMPLE,       /* calling context, 0 for none */
	EV_THREAD,       /* what, see THREAD_FORK; two numbers */
	EV_PART          /* 1: what is recorded begins, 0: it ends; completions that follow tell of requests of the part alone. 2 and a name: a
	                    window begins in this region, 2 is the program */
};

/* Kinds of definitions: a byte, the length of the rest as u32, the rest. */
enum {
	DEF_PROCESS = 1, /* rank, size, pid, start; host, boot id, processors, command */
	DEF_COMM,        /* local number, global number, size; name; world ranks where this process is its first */
	DEF_NAME,        /* number, text: of regions and Pcontrol */
	DEF_CLOCK,       /* own time, offset to rank 0, round trip */
	DEF_COMM_NAME,
	DEF_FUNCTIONS,   /* of rank 0: names of the wrapped functions, a line each, numbered from 0 */
	DEF_END,         /* reason, events, time stalled, threads, newest time, status given to exit or code given to MPI_Abort, 32 bits, + 1 or 0 */
	DEF_COUNTERS,    /* names of the counters, a line each */
	DEF_UNCOUNTED,   /* text: why nothing is counted, or no more */
	DEF_USAGE,       /* of the first thread without MPI_Init and MPI_Finalize: ns of processor time; ns between calls in
	                    which it was ready and had no processor, ~0 where the kernel does not tell; involuntary switches */
	DEF_WIN,         /* communicator that has the members of a window, and its number in events */
	DEF_FILE,        /* communicator on which a file is opened, 0 for a file that is deleted, or HANDLE_POSIX and so on; its name. Its number
	                    comes from the order, from 1 */
	DEF_SESSIONS,    /* MPI_Session_init was called */
	DEF_CALLS,       /* of rank 0: functions of file I/O, a line each: paradigm, data or metadata, name; numbered from CALL_FIRST */
	DEF_UNSEEN,      /* calls of file I/O that are not recorded; bytes that they read, bytes that they wrote */
	DEF_TEAM,        /* number of a thread that is in teams of OpenMP */
	DEF_PART,        /* a part of the run is recorded: see PART_NOTHING; ns since the end of MPI_Init */
	DEF_CONTINGENT,  /* number of a thread that is a POSIX thread, or makes one */
	DEF_THREAD_NAME, /* number of a thread; what the program calls it */
	DEF_MODULE = 20, /* number; build id in hexadecimal digits or -, path, of a program or library */
	DEF_SITE,        /* number; function; of each return address, the call's first, module and address in it */
	DEF_SAMPLES,     /* ns of processor time from one to the next; SAMPLES_TICKS and so on */
	DEF_CONTEXT,     /* number, parent's or 0; module and address in it, as of a site, of a region ~0 and its name, of a construct ~1 and its number in events */
	DEF_REPLACED,    /* name of the runtime of OpenMP that is in the place of GNU's; none where GNU's is there and is not told of */
	DEF_SIGNAL,      /* text: number of a signal that may end the process, 0 for an error of MPI; number of the thread or -1, time, what the error
	                    is; then for each return address, the innermost first, a line: address in its file, path */
	DEF_STUCK        /* number of a thread that waits for long for a lock; number of the lock, ~0: it is over; number of the thread that has it + 1 or 0 */
};

/* Reasons of an end. */
enum { END_FINALIZE = 1, END_EXIT, END_ABORT, END_BUDGET, END_DISK, END_MEMORY, END_SESSIONS };

/* What DEF_PART says. */
enum { PART_NOTHING, PART_WAITS, PART_BEGINS, PART_ENDS, PART_LATEST /* the time at which MPI_Init ended */ };

/* Where a wrapper was called: its return address, and the end of its frame on the stack. */
struct cr_place {
	const void *address;
	const char *frame;
};
#define CR_PLACE ((struct cr_place){__builtin_return_address(0), __builtin_dwarf_cfa()})

/* Events. All are no-ops while nothing is recorded. cr_enter tells whether the call is an outermost one that is
 * recorded: then cr_returned and cr_leave must follow, and only then may the other functions be called. */
HIDDEN int cr_enter(unsigned function, struct cr_place from);
HIDDEN void cr_returned(void); /* the library's function is done: what follows until cr_leave is the recorder's */
HIDDEN void cr_leave(void);
HIDDEN int cr_outermost(void); /* no call is in hand */
HIDDEN void cr_event(int kind, int n, const uint64_t *args);

/* Regions of the program. A region that begins where nothing is recorded, or inside of an MPI call, is left out. */
HIDDEN int cr_recording(void);
HIDDEN void cr_region_begin(uint64_t name, const void *frame); /* frame: below the stack pointer of the function that calls, above that of what it calls next */
HIDDEN void cr_region_end(void);

/* Life of the recorder, called by the wrappers of initialisation and end. */
HIDDEN uint64_t cr_now(void);
HIDDEN uint64_t cr_begins(void); /* the time; MPI_Init is about to be called */
HIDDEN void cr_start(uint64_t entered, unsigned function, struct cr_place from);
HIDDEN void cr_usage(int on); /* the part of the run that is measured begins or ends */
HIDDEN int cr_spawned(void);
HIDDEN void cr_session(void); /* MPI_Session_init is called */
HIDDEN void cr_clock(int last); /* reads the clock of rank 0, at the begin and at the end of MPI; collective */
HIDDEN uint64_t cr_thread(void); /* number of this thread's stream */
HIDDEN void cr_quiet(int on); /* the calls in between are the recorder's own */
HIDDEN void cr_stop(int reason);
HIDDEN void cr_abort(int code); /* the same, by MPI_Abort */
/* Instants that may begin or end the part of the run that is recorded: a region of the program, or 0 and a level of MPI_Pcontrol. */
HIDDEN void cr_part_begins(uint64_t name, int level);
HIDDEN void cr_part_ends(uint64_t name, int level);
HIDDEN void cr_part_named(const char *text, uint64_t number);

HIDDEN void cr_no_memory(void); /* ends the recording and the receive log; it is reported once */

/* Definitions. */
HIDDEN void cr_define(int kind, const void *body, size_t bytes);
HIDDEN uint64_t cr_name(const char *text);

/* Communicators: the number of a communicator in events; made known by all its members together. */
HIDDEN uint64_t cr_comm(MPI_Comm comm);
HIDDEN void cr_comm_made(MPI_Comm comm);
HIDDEN void cr_comm_named(MPI_Comm comm);
HIDDEN uint64_t cr_comm_gone(const MPI_Comm *comm); /* its number, 0 if it has none */
HIDDEN void cr_comm_start(void);
HIDDEN uint64_t cr_comm_like(MPI_Comm comm); /* number of a coming duplicate */
HIDDEN void cr_comm_is(MPI_Comm comm, uint64_t number);

/* Point to point. */
HIDDEN uint64_t cr_bytes(MPI_Count count, MPI_Datatype type);
HIDDEN void cr_send(int dest, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type);
HIDDEN void cr_recv(MPI_Comm comm, const MPI_Status *status);
HIDDEN uint64_t cr_received(const MPI_Status *status); /* bytes of a message, or of an operation on a file */

/* Requests, known by the value of their handle. */
enum { RQ_SEND = 1, RQ_RECV, RQ_COLL, RQ_COMM, RQ_NOTHING, RQ_BOTH, RQ_NEAR, RQ_RMA, RQ_FILE, RQ_PERSISTENT = 16 };
HIDDEN void cr_isend(MPI_Request request, int dest, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type);
HIDDEN void cr_isendrecv(MPI_Request request, int dest, int tag, MPI_Comm comm, uint64_t bytes, int source);
HIDDEN void cr_irecv(MPI_Request request, int source, MPI_Comm comm);
HIDDEN void cr_persistent(MPI_Request request, int kind, int peer, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type);
HIDDEN void cr_partitioned(MPI_Request request, int partitions);
HIDDEN void cr_ready(MPI_Request request, int partitions, uint64_t last[6]); /* last: an event, of kind 0 where others are missing */
HIDDEN void cr_ready_last(const uint64_t last[6]);
HIDDEN void cr_started(MPI_Request request);
HIDDEN uint64_t cr_requests_newest(void); /* number of the newest request */
HIDDEN void cr_completed(MPI_Request before, const MPI_Status *status);
HIDDEN void cr_cancel(MPI_Request request);
HIDDEN void cr_request_gone(MPI_Request request);
HIDDEN void cr_icoll(MPI_Request request, int op, MPI_Comm comm, int root, uint64_t sent, uint64_t received);
HIDDEN void cr_persistent_coll(MPI_Request request, int op, MPI_Comm comm, int root, uint64_t sent, uint64_t received);
HIDDEN void cr_comm_later(MPI_Request request, MPI_Comm old, const void *handle, int fortran);

/* Collectives: bytes of one call that cover one or all members, by the meaning of the argument. */
#define CR_NO_ROOT INT32_MIN
#define CR_CREATE 17 /* collective operation of OTF2: a handle is made */
HIDDEN void cr_coll_begin(void);
HIDDEN void cr_coll_end(int op, MPI_Comm comm, int root, uint64_t sent, uint64_t received);

/*
 * Operations with neighbours are a message to each of those that a process sends to, and one from each that it receives from.
 * Their tags are negative, so that they meet no others: one number for graphs; in a grid one for each direction, because a
 * process may be the neighbour on both sides.
 */
struct neighbours {
	uint64_t comm, first; /* first: number of the first message */
	int n, out;           /* those that it sends to come first */
	struct neighbour {
		uint64_t bytes;
		int peer, tag;
	} with[];
};
#define NEAR_BYTES(near, sent, got) \
	for (int i = 0; near && i < near->n; i++) { \
		const int k = i < near->out ? i : i - near->out; \
		near->with[i].bytes = i < near->out ? (sent) : (got); \
	}
#define cr_type(type) (type)                               /* an element of an array of datatypes, as C has it */
HIDDEN struct neighbours *cr_neighbours(MPI_Comm comm);    /* NULL without memory */
HIDDEN void cr_near_begin(struct neighbours *near);
HIDDEN void cr_near_end(struct neighbours *near);          /* frees them */
HIDDEN void cr_near_later(MPI_Request request, int kind, struct neighbours *near); /* kind: RQ_PERSISTENT or 0 */

/* One-sided communication: what EV_RMA says. Atomic operations have a type of OTF2, locks and synchronisations too. */
enum { RMA_CREATE, RMA_DESTROY, RMA_PUT, RMA_GET, RMA_ATOMIC, RMA_DONE, RMA_FENCE, RMA_ACQUIRE, RMA_RELEASE, RMA_SYNC };
#define RMA_ACCUMULATE RMA_ATOMIC
#define RMA_SWAP (RMA_ATOMIC | 3 << 8)
#define RMA_FETCH (RMA_ATOMIC | 7 << 8)
#define RMA_SHARED (RMA_ACQUIRE | 1 << 8)
#define RMA_NOTIFIED (RMA_SYNC | 1 << 8)
#define RMA_NOTIFIES (RMA_SYNC | 2 << 8)
enum { EPOCH_ACCESS, EPOCH_EXPOSURE };
#define CR_ALL (-1) /* processes of a window */
struct window;
HIDDEN void cr_win_made(MPI_Win win, MPI_Comm comm);
HIDDEN struct window *cr_win_gone(const MPI_Win *win); /* NULL where it is not known */
HIDDEN void cr_win_stays(struct window *w);
HIDDEN void cr_win_freeing(const struct window *w);
HIDDEN void cr_win_freed(struct window *w);
HIDDEN void cr_rma(unsigned what, MPI_Win win, int target, uint64_t sent, uint64_t received);
HIDDEN void cr_rma_later(MPI_Request request, unsigned what, MPI_Win win, int target, uint64_t sent, uint64_t received);
HIDDEN void cr_rma_request(MPI_Request request, uint64_t window, uint64_t id);
HIDDEN void cr_rma_done(uint64_t window, uint64_t id);
HIDDEN void cr_fence_begin(int assert, MPI_Win win);
HIDDEN void cr_fence_end(int assert, MPI_Win win);
HIDDEN void cr_rma_sync(unsigned what, MPI_Win win, int target, int complete); /* complete: the operations with the target are done */
HIDDEN void cr_epoch(unsigned what, MPI_Win win, int side, MPI_Group group);
HIDDEN void cr_epoch_over(unsigned what, MPI_Win win, int side);

/*
 * Files: what EV_FILE says, with the numbers that follow. An operation on data has its mode, of OTF2, times 256 and its flags times
 * 65536, a file that is opened its access mode, and a change of the position where its offset counts from.
 */
enum {
	FILE_CREATE, /* flags of creation, flags of status */
	FILE_DESTROY,
	FILE_DELETE,
	FILE_SEEK,  /* offset asked for, zigzag; offset reached: bytes */
	FILE_BEGIN, /* bytes asked for, offset in bytes + 1 or 0 */
	FILE_ISSUED,
	FILE_COMPLETE, /* bytes */
	FILE_CANCELLED,
	FILE_DUPLICATE /* file that the copy is, flags of status */
};
#define FILE_WRITE (1 << 8)
#define FILE_FLUSH (2 << 8)
#define FILE_NONBLOCKING (1 << 16)
#define FILE_COLLECTIVE (2 << 16)
struct file;
struct cr_io {
	uint64_t file, id, asked; /* id: 0 where the file is not known; asked: bytes */
};
HIDDEN void cr_clear_stack(void);
HIDDEN void cr_file_opened(MPI_Comm comm, const char *name, long length, int mode, MPI_File fh);
HIDDEN struct file *cr_file_gone(const MPI_File *fh); /* NULL where it is not known */
HIDDEN void cr_file_stays(MPI_File fh, struct file *f);
HIDDEN void cr_file_closed(struct file *f);
HIDDEN void cr_file_deleted(const char *name, long length);
HIDDEN void cr_file_view(MPI_File fh, MPI_Datatype unit);
HIDDEN void cr_file_seek(MPI_File fh, MPI_Offset offset, int whence, int shared);
HIDDEN struct cr_io cr_io_begin(MPI_File fh, unsigned what, MPI_Offset offset, uint64_t bytes); /* offset: -1 for none */
HIDDEN void cr_io_end(struct cr_io io, const MPI_Status *status);
HIDDEN void cr_io_cancelled(struct cr_io io);
HIDDEN void cr_io_later(MPI_Request request, struct cr_io io);
HIDDEN void cr_io_request(MPI_Request request, struct cr_io io);
HIDDEN void cr_io_split(MPI_File fh, struct cr_io io);
HIDDEN struct cr_io cr_io_joined(MPI_File fh);

/*
 * Files without MPI. How one is opened: the interface, and for one that was open before its first use is seen, its access mode times
 * 65536 and its flags of status times 2^32.
 */
#define HANDLE_POSIX (UINT64_C(1) << 63)
#define HANDLE_ISOC (HANDLE_POSIX | 1)
#define HANDLE_BEFORE (1 << 8)
#define CALL_FIRST (5 << 10) /* numbers of the functions; those of MPI are below, call sites above */
HIDDEN struct file *cr_handle(uint64_t how, const char *name); /* NULL without memory */
HIDDEN void cr_handle_event(unsigned what, const struct file *f, uint64_t a, uint64_t b);
HIDDEN void cr_handle_copied(const struct file *f, const struct file *copy, uint64_t flags);
HIDDEN void cr_handle_lost(struct file *f); /* closed where nothing is recorded */
HIDDEN struct cr_io cr_handle_begin(const struct file *f, unsigned what, int64_t offset, uint64_t bytes); /* offset: -1 for none */
HIDDEN void cr_handle_end(struct cr_io io, uint64_t moved);

/*
 * Calls of file I/O: like those of MPI, but one that a signal handler leaves by longjmp ends when a call comes from where it came from,
 * or further out.
 */
enum { CALL_NOT, CALL_RECORDED, CALL_UNSEEN }; /* nothing is recorded, or it is part of another call; it is recorded; it is of the program and is not */
HIDDEN int cr_call_state(struct cr_place from);
HIDDEN uint64_t cr_call_begins(void); /* the time */
HIDDEN void cr_call_enter(unsigned function, struct cr_place from, uint64_t t);
HIDDEN int cr_call_goes_on(struct cr_place from); /* it was not left before */
HIDDEN void cr_call_leave(void);

/* The part of the recorder that is between the program and the C library, in recorders that have it. */
HIDDEN __attribute__((weak)) void cr_posix_start(void);
HIDDEN __attribute__((weak)) void cr_posix_end(void);

HIDDEN void *cr_alloc(size_t bytes); /* memory that is zero and never freed, NULL for none; safe in a signal handler that interrupts malloc */

#endif
