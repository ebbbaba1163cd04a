// Package mpi gives the ranks of a job a communicator, Comm: over an MPI library, over goroutines of one process, or for a single rank.
// Code that is written against Comm runs on all three with the same results.
//
//	how                        ranks                      needs             for
//	Main, Init                 started by mpirun or srun  MPI library       production
//	RunInProcess               goroutines, 1 to thousands nothing           laptops, tests, race detector, scale evidence
//	Serial                     one                        nothing           single-rank tools
//
// A program asks Launched whether a launcher started it:
//
//	if mpi.Launched() {
//		mpi.Main(func(c mpi.Comm) int { return exitCode(analyze(c)) }) // does not return
//	}
//	err := mpi.RunInProcess(runtime.GOMAXPROCS(0), analyze)
//
// # Builds
//
// The default build links Open MPI (pkg-config ompi-c), -tags mpich links MPICH (pkg-config mpich). With -tags nompi or CGO_ENABLED=0 no
// MPI library is needed: Init then returns one rank, or an error under a launcher of several processes. A binary works with one library
// only, which LibraryVersion names.
//
// # Who makes which MPI call
//
// gompi v0.2.0 is used for what it does correctly, on the world communicator; our own cgo (glue.c, library*.go) makes all others on a
// duplicate. The world keeps MPI_ERRORS_ARE_FATAL, because gompi ignores error codes; the duplicate and communicators made from it return
// errors. With -tags mpich gompi is not used, and the world returns errors too.
//
//	call                          by       why
//	world rank and size           gompi
//	Barrier of the world          gompi    after our own Ibarrier, so that it does not block for long
//	Allreduce on world            gompi    int64 only, after a check of lengths and operation on all ranks
//	start, finish, abort          ours     gompi starts single-threaded or with log.Fatal
//	send, receive, requests       ours     gompi: ints for lengths, no zero length, wildcards matched twice, no requests
//	bcast, gather, ...            ours     gompi: BcastBytes overruns by a factor of four; the others are missing
//	dup, split, free              ours     missing in gompi
//	files                         ours     missing in gompi
//	what Time measures            ours     in C, because Go between two calls would be measured too
//
// # Threads
//
// MPI is started with MPI_THREAD_SERIALIZED. One lock is held during every MPI call, including gompi's. No goroutine waits for another rank
// while it holds the lock: an operation that may take long is started by a non-blocking call and tested repeatedly, and the lock is free
// between the tests. So any number of goroutines of a rank may communicate at once.
//
// How a rank waits depends on its node. Usually it spins for 20 ms. If more ranks may use its processors than there are processors, it
// sleeps instead, until a rank that sends to it wakes it ("rings its bell", node.c) in shared memory of the node. Events without a bell,
// such as messages of other nodes, are found by looking at growing intervals. So 64 waiting ranks do not take two cores from a working one.
// Rules for callers:
//
//   - Point-to-point calls: any goroutine, any time.
//   - Collective calls, those of files included: the same calls in the same order on every rank, one goroutine of a rank
//     at a time, whatever the communicator. Two goroutines inside one communicator cause a panic.
//   - Messages of the MPI library move only while some goroutine of the rank is inside a call of this package. An Isend
//     followed by computation may be delivered at the next Wait only.
//   - Keep computing goroutines at GOMAXPROCS-1 while messages matter: a return from cgo needs a free P. Where ranks share
//     processors GOMAXPROCS is set to 1, unless the environment says what it is: a rank computes or waits.
//
// Time is the exception: both ranks of a pair hold their locks while they measure, so they must do nothing else meanwhile.
//
// Calls of the MPI library that hold the lock for long: one piece of a file transfer (64 MiB independent, up to 1 GiB collective), and dup,
// split, create, close and sync after all ranks have arrived.
//
// # Messages
//
// A message may have any length. On MPI, up to 3968 bytes are one MPI message. A longer message is a head (length, tag of the body, first
// bytes) and a body in pieces of at most 1 GiB, received in place. Receives match as the standard says (MPI 3.1, 3.5 and 3.8), by matched
// probe: receives in the order in which they were posted, messages of one sender in the order in which they were sent. In-process, a
// message of more than 64 KiB waits for its receiver, as it does on MPI.
//
// If all ranks run on one node and share its processors, collective calls send such messages along a binomial tree, except for those that
// make communicators. Else they call the MPI library's collectives.
//
// SparseAlltoall is for exchanges in which each rank sends to few others: every rank sends ceil(log2 ranks) messages.
//
// Observe returns a communicator that reports each call of its rank: kind, partner and bytes.
//
// Received messages belong to the receiver. What Bcast, Allgather and Gather return is shared by in-process
// ranks and must not be modified.
//
// Memory: received bytes once; on MPI also the heads of long messages in progress (4 KiB each), and for a gather of at most 1 GiB in total
// one contiguous copy. In-process: about 0.3 KiB for each rank and the goroutine's stack, and for each collective call one copy of what the
// ranks contribute.
//
// # Sums
//
// Sum is exact: a sum that does not fit 64 bits is ErrOverflow on every rank, never a wrapped value.
//
// # Errors
//
// Failed calls return *Error with a Class: errors.Is(err, mpi.ErrNoSpace). Classes with a counterpart in the standard
// library match that too (fs.ErrNotExist, syscall.ENOSPC, io.ErrUnexpectedEOF, context.Canceled).
//
// A phase of a job ends with Agree: all ranks give their error, and all get nil or the same AgreedError, which carries
// rank, text, class and exit code of the most severe one (Coded). AgreeOn also carries sentinels of other packages.
// Collective calls whose arguments differ between ranks fail on all ranks where that can be seen: lengths of
// reductions, numbers of parts, and in-process any mismatch of calls.
//
// What one rank does alone:
//
//	panics, or calls Abort              all ranks end at once; exit code 6, or Abort's
//	ends with a code other than 0       all ranks end with that code at the latest 10 s later
//	is killed                           the launcher ends all ranks (1 s with mpirun)
//	ends with 0 while others go on      waits for them
//
// RunInProcess does the same with errors: the blocked calls of the other ranks return ErrCancelled.
//
// # Files
//
// Under Open MPI, files never go through OMPIO, which reports success for writes that failed: OMPI_MCA_io is set to ^ompio
// before MPI starts, unless its value excludes OMPIO already. The count of every write is compared with what was asked
// for. ROMIO reports a full disk as a plain I/O error and names no reason; the failing piece is then written again
// through the operating system, which does. Independent writes of large contiguous blocks are the fast way on local file
// systems; WriteAtAll and hints are there for parallel ones. In-process files go through package os, hints are ignored.
//
// # Tests
//
//	go test ./mpi                      in-process and serial; Open MPI with 1 to 64 ranks, faults, full disk
//	go test -tags mpich ./mpi          the same over MPICH (mpirun.mpich); 64 ranks take 25 s on two cores, as it spins
//	go test -tags nompi ./mpi          without an MPI library
//	MPI_TEST_LONG=1 go test -run Huge ./mpi
//	                                   single transfers above 2 GiB (12 GB of memory, 5 GB of disk)
//
// One table of cases (conformance) runs on every communicator. For MPI the test binary starts itself under mpirun; where
// there is none the tests are skipped and say so. mpirun refuses to start ranks as root without --allow-run-as-root,
// more ranks than cores need --oversubscribe, and --bind-to none leaves Go all cores.
package mpi
