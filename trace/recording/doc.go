// Package recording reads what coppice record wrote while an MPI program ran: the recording of each process, as the
// recorder left it, is a trace.Source. Nothing is lost when a process is killed: what it recorded until then is in its
// file, and the rest is reported.
//
// # Files
//
// A folder holds for the process of world rank R
//
//	R.def     definitions, in the order in which they became known
//	R.evt     events of the thread that called MPI_Init, R.T.evt of others
//
// A definition is a byte for its kind, the length of its body as u32, and the body. Integers are little-endian.
//
//	1 process        lines name=value: rank, size, pid, begin, now, real (ns), host, boot, online (processors of the host),
//	                 processors (that the process may use: 0-3,8), threads (openmp or all, where they are recorded), command
//	2 communicator   number here, number everywhere, size, remote size, rank here, inter, members: u64 each; the world
//	                 ranks of all members (of the first member's process only); the name
//	3 name           number u64, text: user regions and texts of MPI_Pcontrol
//	4 clock          own time, ticks that rank 0 is ahead, round trip: i64
//	5 name of a communicator   number here u64, text
//	6 functions      of rank 0: names of MPI functions, a line each, numbered from 0
//	7 end            reason, events, ns stalled, threads, newest time, status given to exit + 1 or 0: u64
//	8 counters       their names, a line each
//	9 uncounted      text: why a thread has no counters, or none from some time on
//	10 usage         of the first thread, without MPI_Init and MPI_Finalize: ns of processor time; ns between MPI calls in
//	                 which it was ready to run and had no processor, all bits set where the kernel does not tell; involuntary
//	                 switches: u64 each
//	11 window        number of the communicator that has its members, and is its own in events: u64
//	12 file          number of the communicator on which it is opened, 0 for one that is deleted: u64; its name. Numbered from 1. Without
//	                 MPI, instead of the communicator: 2^63, and 1 for a stream of C; where it was open before its first use was
//	                 seen, 2^8, and its access mode times 2^16 and flags of status times 2^32
//	13 sessions      nothing: MPI_Session_init was called
//	14 calls         of rank 0: functions of file I/O, a line each, numbered from 5120: paradigm, data or metadata, name
//	15 unseen        calls of file I/O that are not recorded, bytes that they read, bytes that they wrote: u64 each
//	16 team          number of a thread that was in a team of OpenMP: u64
//	17 part         what is recorded: 0 nothing, 1 a part that begins later, 2 it begins, 3 it ends; ns since the end of MPI_Init; 4 the latest,
//	                 and the process's time at the end of MPI_Init: u64 each
//	18 POSIX         number of a thread that is a POSIX thread, or made one: u64
//	19 thread name   number of a thread: u64; what the program calls it
//	20 module        number from 0: u64; build id in hexadecimal digits or -, a space, path of a program or library
//	21 call site     number from 0, number of the function; of each return address, the call's first, module and address in its file:
//	                 u64 each. Events name a call of a site by its number and 8192 in place of the function's
//	22 samples       ns of processor time from one to the next; what they come by: 0 a timer at the kernel's ticks, 1 perf_event in user mode, 2 in the
//	                 kernel too: u64 each
//	23 context       of samples: number, that of its parent or 0, module, address in its file; of a region that the program marks,
//	                 all bits set and its name; of a construct of threads, all but the lowest bit and its number in events: u64 each
//	24 replaced      name of the runtime of OpenMP that is in the place of GNU's; empty where a process has that one, which does not tell what
//	                 threads do
//	25 signal        text: number of a signal that may have ended the process, 0 for an error of MPI; number of the thread or -1, time, what
//	                 the error is; for each return address of its stack, innermost first, a line: address in its file, path
//	26 stuck         number of a thread that waits for a lock for long; number of the lock, all bits set where that is over; number of the
//	                 thread that has it + 1, or 0: u64 each
//
// R.left exists where the recorded part begins after MPI_Init, or where only the latest events are kept and the first windows of
// event files are holes. It counts the messages and collectives before that part (part.go).
//
// addresses.json, made after the program's end, has lines of JSON: what an address of a call site belongs to.
//
// An event file is a sequence of windows of 1 MiB, each decodable alone:
//
//	"CPREVT1\0" | length u32 | CRC-32C of the events u32 | number u64 | first time u64 | thread u64 | 0 u64 | events
//
// Length and CRC are 0 in a window that was not closed: its events end at the first zero byte. An event is a byte for
// its kind, the ticks since the event before it (of the first: since the window's first time), and its numbers, as
// varints; see the table in event.go. Times are ns of the process's monotonic clock.
//
// # Clocks
//
// Times are corrected to those of rank 0 by the clock readings of a process, after MPI_Init and before MPI_Finalize,
// linearly between and beyond them. With one reading the offset is constant, and so it is where two contradict each other:
// where they say that the clocks drift apart by half of what passes, or more.
//
// Times of a thread never run backwards: a window that begins before those before it is left out, and one ends at an event
// that is before its predecessor or after the begin of the next window.
//
// # Memory
//
// The definitions; per stream one window, and 16 bytes for each of its windows.
package recording
