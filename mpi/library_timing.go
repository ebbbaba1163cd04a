//go:build cgo && !nompi

package mpi

// #include "timing.h"
import "C"

// operations are the C code's numbers of the operations.
var operations = [numOperations]C.int{
	ClockRead: C.COP_CLOCK, RoundTrip: C.COP_ROUND_TRIP, SendCall: C.COP_SEND, ReceiveCall: C.COP_RECEIVE,
	Burst: C.COP_BURST, EagerSend: C.COP_EAGER, EagerInside: C.COP_EAGER_INSIDE, ReduceLocal: C.COP_REDUCE,
}

func (c *mpiComm) crowded() bool { return c.l.crowded }

// time implements Time. It holds the lock until both ranks are done.
func (c *mpiComm) time(t Timing, ns []int64) error {
	if err := c.usable("time"); err != nil {
		return err
	}
	lead := C.int(0)
	if t.Lead {
		lead = 1
	}
	return c.l.do("time", func() C.int {
		return C.cop_time(operations[t.Operation], c.plane[systemPlane].h, C.int(t.Peer), lead, C.int(t.Bytes), C.int(t.Messages), C.int(len(ns)), (*C.int64_t)(address(ns)))
	})
}
