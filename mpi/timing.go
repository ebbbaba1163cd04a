package mpi

// Operation is what Time repeats.
type Operation int

// Operations of a pair of ranks, and of one alone. All messages have the size that is asked for.
const (
	ClockRead   Operation = iota // two readings of the clock, nothing between them; alone
	RoundTrip                    // MPI_Send and MPI_Recv there and back; to oneself twice MPI_Sendrecv
	SendCall                     // MPI_Isend alone
	ReceiveCall                  // MPI_Recv alone, of a message that is there
	Burst                        // messages sent one after the other until the receiver has all
	EagerSend                    // 1 where a send ended while its receiver was outside of MPI, else 0
	EagerInside                  // likewise while its receiver was in MPI calls, none of which receives it
	ReduceLocal                  // MPI_Reduce_local of doubles; alone
	numOperations
)

// Timing is one series of repetitions.
type Timing struct {
	Operation Operation
	Peer      int  // rank of the partner; the own one for what is done alone or sent to oneself
	Lead      bool // this rank of the pair measures; the other one makes the same call without
	Bytes     int  // of a message
	Messages  int  // of a burst
}

// maxTimed bounds the memory of a series: bytes of a message, messages of a burst.
const maxTimed = 1 << 28

// Crowded says whether more ranks may use the processors of this one than there are: they wait for each other. Ranks that are
// bound to processors of their own do not. Communicators without a library tell nothing.
func Crowded(c Comm) bool {
	lib, ok := c.(interface{ crowded() bool })
	return ok && lib.crowded()
}

// Time repeats an operation of the MPI library that c is made of, as often as ns has places, and leaves the time of each
// repetition there, on the rank that leads. The calls are made from C, directly after one another: the times are what a
// program that uses the library has, without what this package adds. Both ranks of the pair call it together; no other
// goroutine of the two ranks communicates meanwhile. Communicators without a library give ErrLaunch.
func Time(c Comm, t Timing, ns []int64) error {
	if t.Operation < 0 || t.Operation >= numOperations || t.Bytes < 0 || t.Bytes > maxTimed || t.Messages < 0 || t.Messages > maxTimed {
		return errf("time", ErrArg, "operation %d with %d bytes and %d messages", t.Operation, t.Bytes, t.Messages)
	}
	if err := checkPeer("time", t.Peer, c.Size(), false); err != nil {
		return err
	}
	lib, ok := c.(interface {
		time(t Timing, ns []int64) error
	})
	if !ok {
		return errf("time", ErrLaunch, "these ranks use no MPI library: start them with its launcher, such as mpirun -n 2")
	}
	if len(ns) == 0 {
		return nil
	}
	return lib.time(t, ns)
}
