/*
 * The recorder of one MPI process: the functions that every wrapper calls.
 *
 * A process writes files into the folder of the recording. R is its world rank:
 *
 *   R.def    definitions (communicators, names, clock readings), appended when they become known
 *   R.evt    events of the thread that called MPI_Init, in windows of WINDOW bytes; R.T.evt: events of thread T
 *
 * A thread writes events to a shared mapping of its current window, so they are in the file even if the process is killed. A window that is
 * full, and the last one of an orderly end, gets its length and checksum; a reader stops in any other window at the first zero byte.
 *
 * An event costs one clock reading and takes some 10 bytes. A helper thread allocates and touches the next window of each thread before it
 * is needed. Memory: at most 3 windows for each thread.
 */
#ifndef COPPICE_RECORDER_H
#define COPPICE_RECORDER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Kinds of events. An event is a byte, the ticks since the previous event of the window, and the numbers named here, as varints. */
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
	EV_PART          /* 1: the recorded part begins; 0: it ends, and completions that follow are of its requests; 2 + name: this region is open
	                    at the begin of the window */
};

/* Kinds of definitions: a byte, the length of the body as u32, and the body described here. */
enum {
	DEF_PROCESS = 1, /* rank, size, pid, start; host, boot id, processors, command */
	DEF_COMM,        /* local number, global number, size; name; world ranks where this process is its first */
	DEF_NAME,        /* number, text: of regions and Pcontrol */
	DEF_CLOCK,       /* own time, offset to rank 0, round trip */
	DEF_COMM_NAME,
	DEF_FUNCTIONS,   /* of rank 0: names of the wrapped functions, a line each, numbered from 0 */
	DEF_END,         /* reason, events, time stalled, threads, newest time, exit status or code of MPI_Abort (32 bits) + 1, or 0 if not known */
	DEF_COUNTERS,    /* names of the counters, a line each */
	DEF_UNCOUNTED,   /* text: why counters are not, or no longer, read */
	DEF_USAGE,       /* of the first thread, outside of MPI_Init and MPI_Finalize: ns of processor time; ns between calls in which it was
	                    ready to run without a processor, ~0 if the kernel does not count them; involuntary switches */
	DEF_WIN,         /* communicator with the members of a window; the window's number in events */
	DEF_FILE,        /* communicator on which the file is opened, 0 for one that is deleted, or HANDLE_POSIX and so on; name. Files are
	                    numbered from 1 in this order */
	DEF_SESSIONS,    /* MPI_Session_init was called */
	DEF_CALLS,       /* of rank 0: functions of file I/O, a line each: paradigm, data or metadata, name; numbered from CALL_FIRST */
	DEF_UNSEEN,      /* calls of file I/O that are not recorded; bytes that they read; bytes that they wrote */
	DEF_TEAM,        /* number of a thread that is in teams of OpenMP */
	DEF_PART,        /* see PART_NOTHING; ns since the end of MPI_Init */
	DEF_CONTINGENT,  /* number of a thread that is, or creates, a POSIX thread */
	DEF_THREAD_NAME, /* number of a thread; name that the program gave it */
	DEF_MODULE = 20, /* number of a program or library; build id in hexadecimal digits or -; path */
	DEF_SITE,        /* number of a call site; function; module and address in it of each return address, innermost first */
	DEF_SAMPLES,     /* ns of processor time between samples; SAMPLES_TICKS and so on */
	DEF_CONTEXT,     /* number; parent's or 0; module and address as in a site, or ~0 and a region's name, or ~1 and a construct's number in events */
	DEF_REPLACED,    /* name of the OpenMP runtime that replaced GNU's; empty if GNU's is in use, whose constructs are not seen */
	DEF_SIGNAL,      /* text: signal that may end the process, 0 for an error of MPI; thread or -1; time; the error. Then a line for each
	                    return address, innermost first: address in its file, path */
	DEF_STUCK        /* number of a thread that waits long for a lock; number of the lock, ~0: the wait is over; owner's thread number + 1 or 0 */
};

/* Reasons of an end. */
enum { END_FINALIZE = 1, END_EXIT, END_ABORT, END_BUDGET, END_DISK, END_MEMORY, END_SESSIONS };

/* What DEF_PART says. */
enum { PART_NOTHING, PART_WAITS, PART_BEGINS, PART_ENDS, PART_LATEST /* with the time at which MPI_Init ended */ };

/* Where a wrapper was called: the return address, and the end of the wrapper's frame on the stack (its canonical frame address). */
struct cr_place {
	const void *address;
	const char *frame;
};
#define CR_PLACE ((struct cr_place){__builtin_return_address(0), __builtin_dwarf_cfa()})

/* Calls. All functions do nothing while nothing is recorded. cr_enter returns whether this call is recorded; calls that another wrapped
 * call makes are not. Only then must cr_returned and cr_leave follow, and only between them may the others be called. */
HIDDEN int cr_enter(unsigned function, struct cr_place from);
HIDDEN void cr_returned(void); /* the library's function has returned; until cr_leave the recorder works */
HIDDEN void cr_leave(void);
HIDDEN int cr_outermost(void); /* this thread is not in a recorded call */
HIDDEN void cr_event(int kind, int n, const uint64_t *args);

/* Regions of the program. One that begins while nothing is recorded, or inside of an MPI call, is ignored. */
HIDDEN int cr_recording(void);
HIDDEN void cr_region_begin(uint64_t name, const void *frame); /* frame: between the caller's frame and those of later callees */
HIDDEN void cr_region_end(void);

/* Life of the recorder, called by the wrappers of initialisation and end. */
HIDDEN uint64_t cr_now(void);
HIDDEN uint64_t cr_begins(void); /* returns the time; MPI_Init is about to be called */
HIDDEN void cr_start(uint64_t entered, unsigned function, struct cr_place from);
HIDDEN void cr_usage(int on); /* begins or ends what DEF_USAGE sums up */
HIDDEN int cr_spawned(void);
HIDDEN void cr_session(void); /* MPI_Session_init is called */
HIDDEN void cr_clock(int last); /* measures the offset to the clock of rank 0, after MPI_Init and (last) before MPI_Finalize; collective */
HIDDEN uint64_t cr_thread(void); /* number of this thread's stream */
HIDDEN void cr_quiet(int on); /* calls until cr_quiet(0) are the recorder's own */
HIDDEN void cr_stop(int reason);
HIDDEN void cr_abort(int code); /* cr_stop for MPI_Abort */
/* Instants that may begin or end the recorded part of the run: a region of the program, or name 0 and a level of MPI_Pcontrol. */
HIDDEN void cr_part_begins(uint64_t name, int level);
HIDDEN void cr_part_ends(uint64_t name, int level);
HIDDEN void cr_part_named(const char *text, uint64_t number);

HIDDEN void cr_no_memory(void); /* ends the recording and the receive log; reports it once */

/* Definitions. */
HIDDEN void cr_define(int kind, const void *body, size_t bytes);
HIDDEN uint64_t cr_name(const char *text);

/* Communicators. cr_comm returns the number of one in events. */
HIDDEN uint64_t cr_comm(MPI_Comm comm);
HIDDEN void cr_comm_made(MPI_Comm comm);
HIDDEN void cr_comm_named(MPI_Comm comm);
HIDDEN uint64_t cr_comm_gone(const MPI_Comm *comm); /* its number, 0 if it has none */
HIDDEN void cr_comm_start(void);
HIDDEN uint64_t cr_comm_like(MPI_Comm comm); /* number of a duplicate that is being made */
HIDDEN void cr_comm_is(MPI_Comm comm, uint64_t number);

/* Point-to-point communication. */
HIDDEN uint64_t cr_bytes(MPI_Count count, MPI_Datatype type);
HIDDEN void cr_send(int dest, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type);
HIDDEN void cr_recv(MPI_Comm comm, const MPI_Status *status);
HIDDEN uint64_t cr_received(const MPI_Status *status); /* bytes of a message or file operation */

/* Requests. They are identified by the value of their handle. */
enum { RQ_SEND = 1, RQ_RECV, RQ_COLL, RQ_COMM, RQ_NOTHING, RQ_BOTH, RQ_NEAR, RQ_RMA, RQ_FILE, RQ_PERSISTENT = 16 };
HIDDEN void cr_isend(MPI_Request request, int dest, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type);
HIDDEN void cr_isendrecv(MPI_Request request, int dest, int tag, MPI_Comm comm, uint64_t bytes, int source, int recvtag, uint64_t most);
HIDDEN void cr_irecv(MPI_Request request, int source, MPI_Comm comm);
HIDDEN void cr_persistent(MPI_Request request, int kind, int peer, int tag, MPI_Comm comm, MPI_Count count, MPI_Datatype type);
HIDDEN void cr_partitioned(MPI_Request request, int partitions);
HIDDEN void cr_ready(MPI_Request request, int partitions, uint64_t last[6]); /* last: event of the last one; kind 0: others are not ready */
HIDDEN void cr_ready_last(const uint64_t last[6]);
HIDDEN void cr_started(MPI_Request request);
HIDDEN uint64_t cr_requests_newest(void); /* number of the newest request */
HIDDEN void cr_completed(MPI_Request before, const MPI_Status *status);
HIDDEN void cr_cancel(MPI_Request request);
HIDDEN void cr_request_gone(MPI_Request request);
HIDDEN void cr_icoll(MPI_Request request, int op, MPI_Comm comm, int root, uint64_t sent, uint64_t received);
HIDDEN void cr_persistent_coll(MPI_Request request, int op, MPI_Comm comm, int root, uint64_t sent, uint64_t received);
HIDDEN void cr_comm_later(MPI_Request request, MPI_Comm old, const void *handle, int fortran);

/* Collectives. sent and received are this process's bytes, to and from all members. */
#define CR_NO_ROOT INT32_MIN
#define CR_CREATE 17 /* OTF2's operation for creating a handle */
HIDDEN void cr_coll_begin(void);
HIDDEN void cr_coll_end(int op, MPI_Comm comm, int root, uint64_t sent, uint64_t received);

/*
 * A neighbourhood collective is recorded as one message to each neighbour that the process sends to and one from each that it receives
 * from. Tags are negative, so these messages do not match others: one tag for graphs, in a grid one for each direction, because the same
 * process may be the neighbour on both sides.
 */
struct neighbours {
	uint64_t comm, first; /* number of the first message */
	int n, out;           /* out: the first of with are destinations, the others sources */
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
#define cr_type(type) (type)                               /* an element of an array of datatypes; Fortran converts it */
HIDDEN struct neighbours *cr_neighbours(MPI_Comm comm);    /* NULL without memory */
HIDDEN void cr_near_begin(struct neighbours *near);
HIDDEN void cr_near_end(struct neighbours *near);          /* also frees near */
HIDDEN void cr_near_later(MPI_Request request, int kind, struct neighbours *near); /* kind: RQ_PERSISTENT or 0 */

/* One-sided communication: what EV_RMA says. Types of atomic operations, locks and synchronisations are OTF2's, times 256. */
enum { RMA_CREATE, RMA_DESTROY, RMA_PUT, RMA_GET, RMA_ATOMIC, RMA_DONE, RMA_FENCE, RMA_ACQUIRE, RMA_RELEASE, RMA_SYNC };
#define RMA_ACCUMULATE RMA_ATOMIC
#define RMA_SWAP (RMA_ATOMIC | 3 << 8)
#define RMA_FETCH (RMA_ATOMIC | 7 << 8)
#define RMA_SHARED (RMA_ACQUIRE | 1 << 8)
#define RMA_NOTIFIED (RMA_SYNC | 1 << 8)
#define RMA_NOTIFIES (RMA_SYNC | 2 << 8)
enum { EPOCH_ACCESS, EPOCH_EXPOSURE };
#define CR_ALL (-1) /* all processes of a window */
struct window;
HIDDEN void cr_win_made(MPI_Win win, MPI_Comm comm);
HIDDEN struct window *cr_win_gone(const MPI_Win *win); /* NULL if the window is not known */
HIDDEN void cr_win_stays(struct window *w);
HIDDEN void cr_win_freeing(const struct window *w);
HIDDEN void cr_win_freed(struct window *w);
HIDDEN void cr_rma(unsigned what, MPI_Win win, int target, uint64_t sent, uint64_t received);
HIDDEN void cr_rma_later(MPI_Request request, unsigned what, MPI_Win win, int target, uint64_t sent, uint64_t received);
HIDDEN void cr_rma_request(MPI_Request request, uint64_t window, uint64_t id);
HIDDEN void cr_rma_done(uint64_t window, uint64_t id);
HIDDEN void cr_fence_begin(int assert, MPI_Win win);
HIDDEN void cr_fence_end(int assert, MPI_Win win);
HIDDEN void cr_rma_sync(unsigned what, MPI_Win win, int target, int complete); /* complete: operations with the target are complete after it */
HIDDEN void cr_epoch(unsigned what, MPI_Win win, int side, MPI_Group group);
HIDDEN void cr_epoch_over(unsigned what, MPI_Win win, int side);

/*
 * Files: what EV_FILE says, and the numbers that follow. In addition an operation on data has its mode (OTF2's) times 256 and flags times
 * 65536; FILE_CREATE has the access mode, FILE_SEEK the origin of the offset.
 */
enum {
	FILE_CREATE, /* flags of creation, flags of status */
	FILE_DESTROY,
	FILE_DELETE,
	FILE_SEEK,  /* offset asked for, zigzag; offset reached; both in bytes */
	FILE_BEGIN, /* bytes asked for; offset in bytes + 1, or 0 */
	FILE_ISSUED,
	FILE_COMPLETE, /* bytes */
	FILE_CANCELLED,
	FILE_DUPLICATE /* the copy's file; flags of status */
};
#define FILE_WRITE (1 << 8)
#define FILE_FLUSH (2 << 8)
#define FILE_NONBLOCKING (1 << 16)
#define FILE_COLLECTIVE (2 << 16)
struct file;
struct cr_io {
	uint64_t file, id, asked; /* id: 0 if the file is not known; asked: bytes */
};
HIDDEN void cr_clear_stack(void);
HIDDEN void cr_file_opened(MPI_Comm comm, const char *name, long length, int mode, MPI_File fh);
HIDDEN struct file *cr_file_gone(const MPI_File *fh); /* NULL if the file is not known */
HIDDEN void cr_file_stays(MPI_File fh, struct file *f);
HIDDEN void cr_file_closed(struct file *f);
HIDDEN void cr_file_deleted(const char *name, long length);
HIDDEN void cr_file_view(MPI_File fh, MPI_Datatype unit);
HIDDEN void cr_file_seek(MPI_File fh, MPI_Offset offset, int whence, int shared);
HIDDEN struct cr_io cr_io_begin(MPI_File fh, unsigned what, MPI_Offset offset, uint64_t bytes); /* offset: -1 if the call has none */
HIDDEN void cr_io_end(struct cr_io io, const MPI_Status *status);
HIDDEN void cr_io_cancelled(struct cr_io io);
HIDDEN void cr_io_later(MPI_Request request, struct cr_io io);
HIDDEN void cr_io_request(MPI_Request request, struct cr_io io);
HIDDEN void cr_io_split(MPI_File fh, struct cr_io io);
HIDDEN struct cr_io cr_io_joined(MPI_File fh);

/*
 * Files of the C library. how is the interface; if the file was open before the recorder saw it, also HANDLE_BEFORE, the access mode times
 * 65536 and the flags of status times 2^32.
 */
#define HANDLE_POSIX (UINT64_C(1) << 63)
#define HANDLE_ISOC (HANDLE_POSIX | 1)
#define HANDLE_BEFORE (1 << 8)
#define CALL_FIRST (5 << 10) /* numbers of the functions: greater than those of MPI, less than those of call sites */
HIDDEN struct file *cr_handle(uint64_t how, const char *name); /* NULL without memory */
HIDDEN void cr_handle_event(unsigned what, const struct file *f, uint64_t a, uint64_t b);
HIDDEN void cr_handle_copied(const struct file *f, const struct file *copy, uint64_t flags);
HIDDEN void cr_handle_lost(struct file *f); /* it was closed while nothing is recorded */
HIDDEN struct cr_io cr_handle_begin(const struct file *f, unsigned what, int64_t offset, uint64_t bytes); /* offset: -1 if the call has none */
HIDDEN void cr_handle_end(struct cr_io io, uint64_t moved);

/*
 * Calls of file I/O. They are recorded like calls of MPI, but a signal handler may leave one by longjmp. Such a call ends at the next call
 * from the same or an outer frame.
 */
enum { CALL_NOT, CALL_RECORDED, CALL_UNSEEN }; /* nothing is recorded, or the call is part of another; recorded; the program's, but not recorded */
HIDDEN int cr_call_state(struct cr_place from);
HIDDEN uint64_t cr_call_begins(void); /* returns the time */
HIDDEN void cr_call_enter(unsigned function, struct cr_place from, uint64_t t);
HIDDEN int cr_call_goes_on(struct cr_place from); /* 0: it was left by longjmp */
HIDDEN void cr_call_leave(void);

/* Functions of the file I/O part (folder posix); NULL in recorders without it. */
HIDDEN __attribute__((weak)) void cr_posix_start(void);
HIDDEN __attribute__((weak)) void cr_posix_end(void);

HIDDEN void *cr_alloc(size_t bytes); /* zeroed memory that is never freed, NULL if there is none; safe in signal handlers */

#endif
