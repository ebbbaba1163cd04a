package mpi

import "context"

// Wildcards of Recv and TryRecv.
const (
	AnySource = -1
	AnyTag    = -1
)

// MaxTag is the largest tag of a message. It is what the standard guarantees everywhere (MPI 3.1, 8.1.2).
const MaxTag = 32767

// Op is a reduction of int64 values.
type Op uint8

// The reductions. Sum fails with ErrOverflow on every rank when a sum does not fit.
const (
	Sum Op = iota
	Min
	Max
	BitOr
	numOps
)

func (o Op) String() string {
	if o < numOps {
		return [...]string{"sum", "min", "max", "bitor"}[o]
	}
	return "unknown operation"
}

// Status says where a received message came from. Len is its length in bytes.
type Status struct {
	Source, Tag, Len int
}

// Comm is a group of ranks that talk to each other.
//
// Calls marked "collective" must be made by every rank of the communicator, in the same order, and by one goroutine
// of a rank at a time. Point-to-point calls may be made by any goroutine at any time.
//
// Byte slices that Bcast and Allgather return must not be modified: in-process ranks share them.
type Comm interface {
	Rank() int
	Size() int

	// Barrier waits until every rank has entered it. Collective.
	Barrier() error
	// BarrierContext is Barrier that can be given up: when ctx ends first, its error is returned. The rank still
	// counts as having entered, so the others are not held up, and the next collective call pairs with theirs.
	BarrierContext(ctx context.Context) error

	// Dup makes a communicator of the same ranks whose messages never meet those of this one. Collective.
	Dup() (Comm, error)
	// Node returns the lowest of the ranks that share memory with this one, and how many do, this one included.
	Node() (first, ranks int)
	// Free gives back a communicator made by Dup. Collective.
	Free() error

	// Send sends b, of any length, and returns when b may be reused. It may block until the message is received.
	Send(b []byte, to, tag int) error
	// Recv waits for the next matching message; the bytes belong to the caller.
	Recv(from, tag int) ([]byte, Status, error)
	// Isend starts a Send. b must not be changed until the request is complete.
	Isend(b []byte, to, tag int) (*Request, error)
	// TryRecv receives a matching message if one has arrived, and never waits for one.
	TryRecv(from, tag int) (b []byte, st Status, ok bool, err error)
	// Wait waits for all requests and returns the first error in their order. Nil entries are skipped.
	Wait(reqs ...*Request) error

	// Bcast returns root's b on every rank. Collective.
	Bcast(b []byte, root int) ([]byte, error)
	// Gather returns every rank's b, by rank, on root, and nil elsewhere. Collective.
	Gather(b []byte, root int) ([][]byte, error)
	// Allgather returns every rank's b, by rank. Collective.
	Allgather(b []byte) ([][]byte, error)
	// AllreduceInt64 replaces v by its reduction over all ranks, element by element. Different lengths or
	// operations give ErrMismatch on every rank, and v is then unchanged. Collective.
	AllreduceInt64(v []int64, op Op) error

	// Agree returns nil when err is nil on every rank, and else the same *AgreedError on every rank. Collective.
	Agree(err error) error

	// CreateFile makes one file for all ranks, or empties the one that is there. Hints are passed to the MPI library's I/O
	// layer. Collective.
	CreateFile(name string, hints map[string]string) (File, error)

	// Abort ends every rank with the exit code. It does not return.
	Abort(code int)

	// system gives this package its private message plane, which no wildcard of a user can reach.
	system() plane
}

// plane is the private side of a communicator. Agree and TreeReduce use it.
type plane interface {
	// sysSend and sysRecv are Send and Recv for private messages, with a tag below 1024.
	sysSend(b []byte, to, tag int) error
	sysRecv(from, tag int) ([]byte, error)
	// reduceMin returns the least v over all ranks. Collective.
	reduceMin(v int64) (int64, error)
}

// tagTree is the private tag of TreeReduce.
const tagTree = 1

// File is a file shared by the ranks of a communicator. Offsets and sizes are bytes.
//
// WriteAt is independent: one rank at a time may call it, and the error is this rank's own. All other
// methods are collective and return the same error on every rank.
type File interface {
	// WriteAt writes all of b at offset off, or fails. The count that the library reports is checked.
	WriteAt(b []byte, off int64) error
	// WriteAtAll is WriteAt by all ranks together, each with its own b (which may be empty) and off. Collective.
	WriteAtAll(b []byte, off int64) error
	// Sync waits until written data is on storage. Collective.
	Sync() error
	// Close closes the file. Collective.
	Close() error
}

func checkPeer(op string, peer, size int, wildcard bool) error {
	if (peer < 0 || peer >= size) && (!wildcard || peer != AnySource) {
		return errf(op, ErrRank, "rank %d is not in 0..%d", peer, size-1)
	}
	return nil
}

func checkTag(op string, tag int, wildcard bool) error {
	if (tag < 0 || tag > MaxTag) && (!wildcard || tag != AnyTag) {
		return errf(op, ErrTag, "tag %d is not in 0..%d", tag, MaxTag)
	}
	return nil
}

func checkRoot(op string, root, size int) error {
	if root < 0 || root >= size {
		return errf(op, ErrRoot, "root %d is not in 0..%d", root, size-1)
	}
	return nil
}

func checkRange(name string, b []byte, off int64) error {
	if off < 0 || off+int64(len(b)) < off {
		return errf("write", ErrArg, "%s: offset %d with %d bytes is outside the range of a file", name, off, len(b))
	}
	return nil
}

// Request is an Isend in progress, or inside this package a receive. It must be completed by Wait of the communicator that made it, or of a
// communicator made from that one.
type Request struct {
	op   string
	data []byte
	st   Status
	err  error
	done bool // set under the lock of the implementation

	local *localRequest // in-process
	lib   *libRequest   // MPI
}
