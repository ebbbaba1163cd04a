package mpi

// Operation is what Time measures.
type Operation int

// Operations of two ranks, or of one alone. All messages have the size that is asked for.
const (
	ClockRead   Operation = iota // two readings of the clock with nothing between them; alone
	RoundTrip                    // MPI_Send and MPI_Recv there and back; to oneself twice MPI_Sendrecv
	SendCall                     // MPI_Isend alone
	ReceiveCall                  // MPI_Recv alone, of a message that has arrived
	Burst                        // several messages, until the receiver has all
	EagerSend                    // 1 if a send ended while its receiver was outside of MPI, else 0
	EagerInside                  // the same while its receiver was in MPI calls that did not receive it
	ReduceLocal                  // MPI_Reduce_local of doubles; alone
	numOperations
)

// Timing are the parameters of a series of repetitions.
type Timing struct {
	Operation Operation
	Peer      int  // rank of the partner; this rank itself for an operation alone or to oneself
	Lead      bool // this rank measures; the other one of the pair calls Time with false
	Bytes     int  // of a message
	Messages  int  // of a burst
}

// maxTimed is the most bytes of a message, and the most messages of a burst.
const maxTimed = 1 << 28

// Crowded returns whether more ranks may use this rank's processors than there are processors, so that ranks delay each other. It is false
// for communicators without an MPI library.
func Crowded(c Comm) bool {
	lib, ok := c.(interface{ crowded() bool })
	return ok && lib.crowded()
}

// Time repeats an operation of c's MPI library len(ns) times. On the rank that leads, ns gets the ns of each repetition. The calls are made
// in C directly after one another, so the times do not include this package. Both ranks of the pair call it together; no other goroutine of
// the two ranks may communicate meanwhile. Communicators without a library return ErrLaunch.
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
