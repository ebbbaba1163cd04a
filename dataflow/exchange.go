package dataflow

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// batchBytes is the length at which a message is sent: with its head it is one
// message of the MPI library.
const batchBytes = 3840

// mostOpen bounds the sends of counts, orders and acknowledgements whose end was not
// looked for. They are so short that no MPI library waits for the receiver.
const mostOpen = 256

// Tags of messages.
const (
	tagValues = iota
	tagCounts
	tagOrder
	tagTaken // of values: nothing, but half of exchange.ahead was taken
)

// A rank sends at most ahead messages of values to another one before that has
// taken half of them; all ranks together send a rank what fills an eighth of the
// budget, but leastAhead each.
const (
	leastAhead = 4
	mostAhead  = 64
)

// Parts of a message of values. Integers are little-endian.
//
//	partValue    to u32 | key u64 | v u64
//	partEnter    collective | location u32 | member u32 | v u64                to the home of the process
//	partUp       collective | number u32 | (member u32 | v u64) ...            to the parent
//	partDown     collective | number u32 | (member u32 | v u64) ...            to a child
//	partResult   location u32 | communicator u32 | ordinal u64 | v u64         to the rank of the location
//	partCut      position u64                                                  to all: the last one of the window
//	collective:  communicator u32 | ordinal u64 | kind u8 | root u32
const (
	partValue uint8 = iota
	partEnter
	partUp
	partDown
	partResult
	partCut
)

// exchange gathers what goes to each rank and sends it. It counts messages, for
// waves and the report.
type exchange struct {
	c        mpi.Comm
	buf      [][]byte         // per rank
	touched  []int            // ranks with something in buf
	flying   [][]*mpi.Request // messages of values to each rank that it has not told to have taken
	open     []*mpi.Request   // other sends
	sent     uint64           // messages of values
	received uint64
	ahead    int    // see leastAhead
	taken    []int  // messages of each rank that it was not told of
	messages uint64 // sent, those of waves too
	bytes    uint64
}

func newExchange(c mpi.Comm, budget int64) exchange {
	n := c.Size()
	filled := int64(n) * (batchBytes / valueBytes * waitBytes)
	return exchange{
		c: c, buf: make([][]byte, n), flying: make([][]*mpi.Request, n), taken: make([]int, n),
		ahead: int(min(max(budget/8/filled, leastAhead), mostAhead)),
	}
}

// valueBytes is the size of a partValue.
const valueBytes = 21

// tooFar says that some rank has to take messages before this one goes on.
func (x *exchange) tooFar() bool {
	return slices.ContainsFunc(x.flying, func(f []*mpi.Request) bool { return len(f) > x.ahead })
}

// told notes that a rank has taken half of what it may be sent ahead.
func (x *exchange) told(rank int) error {
	f := x.flying[rank]
	n := min(x.ahead/2, len(f))
	err := x.c.Wait(f[:n]...) // has ended: it was received
	x.flying[rank] = append(f[:0], f[n:]...)
	return err
}

// took notes a message of values from a rank, and tells it now and then.
func (x *exchange) took(rank int) error {
	if x.taken[rank]++; x.taken[rank] < x.ahead/2 {
		return nil
	}
	x.taken[rank] = 0
	x.sent++
	return x.send(nil, rank, tagTaken)
}

// to gives the buffer for a rank; the caller appends a part and calls add.
func (x *exchange) to(rank int) []byte {
	if len(x.buf[rank]) == 0 {
		x.touched = append(x.touched, rank)
	}
	return x.buf[rank]
}

// add stores the buffer and sends it when full.
func (x *exchange) add(rank int, b []byte) error {
	x.buf[rank] = b
	if len(b) < batchBytes {
		return nil
	}
	return x.flush(rank)
}

func (x *exchange) flush(rank int) error {
	b := x.buf[rank]
	if len(b) == 0 {
		return nil
	}
	x.buf[rank] = nil
	x.sent++
	req, err := x.isend(b, rank, tagValues)
	x.flying[rank] = append(x.flying[rank], req)
	return err
}

func (x *exchange) isend(b []byte, rank, tag int) (*mpi.Request, error) {
	x.messages++
	x.bytes += uint64(len(b))
	return x.c.Isend(b, rank, tag)
}

// send sends a short message beside the values.
func (x *exchange) send(b []byte, rank, tag int) error {
	req, err := x.isend(b, rank, tag)
	if err != nil {
		return err
	}
	if x.open = append(x.open, req); len(x.open) < mostOpen {
		return nil
	}
	err = x.c.Wait(x.open...)
	x.open = x.open[:0]
	return err
}

// flushAll sends what there is.
func (x *exchange) flushAll() error {
	for _, r := range x.touched {
		if err := x.flush(r); err != nil {
			return err
		}
	}
	x.touched = x.touched[:0]
	return nil
}

// next receives a message; without block only if there is one.
func (x *exchange) next(block bool) ([]byte, mpi.Status, bool, error) {
	if !block {
		return x.c.TryRecv(mpi.AnySource, mpi.AnyTag)
	}
	b, st, err := x.c.Recv(mpi.AnySource, mpi.AnyTag)
	return b, st, err == nil, err
}

// finish waits for the last sends.
func (x *exchange) finish() error {
	err := x.c.Wait(x.open...)
	for _, f := range x.flying {
		if err == nil {
			err = x.c.Wait(f...)
		}
	}
	return err
}

// receive takes in one message; without block only if there is one.
func (e *engine) receive(block bool) (bool, error) {
	if e.c.Size() == 1 {
		return false, nil
	}
	b, st, ok, err := e.out.next(block)
	if !ok || err != nil {
		return false, err
	}
	switch st.Tag {
	case tagCounts:
		return true, e.wave.child(b)
	case tagOrder:
		return true, e.obey(b)
	}
	e.out.received++
	if st.Tag == tagTaken {
		return true, e.out.told(st.Source)
	}
	if e.err == nil {
		e.fail(e.takeParts(b))
	}
	return true, e.out.took(st.Source)
}

func (e *engine) sendValue(to trace.P, key, v uint64) {
	r := e.holder(to)
	b := append(e.out.to(r), partValue)
	b = binary.LittleEndian.AppendUint32(b, uint32(to))
	b = binary.LittleEndian.AppendUint64(b, key)
	b = binary.LittleEndian.AppendUint64(b, v)
	e.report.Values++
	e.fail(e.out.add(r, b))
}

func appendCollective(b []byte, c Collective) []byte {
	b = binary.LittleEndian.AppendUint32(b, c.Comm)
	b = binary.LittleEndian.AppendUint64(b, c.Ordinal)
	b = append(b, byte(c.Kind))
	return binary.LittleEndian.AppendUint32(b, c.Root)
}

// reader takes integers from a message; bad is set where it is too short.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, min(max(n, 0), 8))
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() uint8   { return r.take(1)[0] }
func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *reader) collective() Collective {
	return Collective{Comm: r.u32(), Ordinal: r.u64(), Kind: Kind(r.u8()), Root: r.u32()}
}

// steps reads a list of steps.
func (r *reader) steps() steps {
	n := r.u32()
	if uint64(n) > uint64(len(r.b)/12) {
		r.bad, r.b = true, nil
		return nil
	}
	s := make(steps, n)
	for i := range s {
		s[i] = step{r.u32(), r.u64()}
	}
	return s
}

// takeParts takes in a message of values.
func (e *engine) takeParts(b []byte) error {
	r := reader{b: b}
	for len(r.b) > 0 && e.err == nil {
		e.takePart(&r)
		e.weigh()
	}
	if r.bad {
		return fmt.Errorf("dataflow: a damaged message of %d bytes", len(b))
	}
	return nil
}

func (e *engine) takePart(r *reader) {
	switch r.u8() {
	case partValue:
		to, key, v := trace.P(r.u32()), r.u64(), r.u64()
		if n, ok := e.local(to); ok && !r.bad {
			e.put(n, box{valueSpace, key}, v)
		} else {
			r.bad = true
		}
	case partEnter:
		c, p, member, v := r.collective(), trace.P(r.u32()), r.u32(), r.u64()
		if r.bad = r.bad || uint64(p) >= uint64(e.o.Defs.NumLocations()); !r.bad {
			e.arrive(c, arrival{p, member}, v)
		}
	case partUp:
		c, s := r.collective(), r.steps()
		if !r.bad {
			e.fromChild(c, s)
		}
	case partDown:
		c, s := r.collective(), r.steps()
		if !r.bad {
			e.fromParent(c, s)
		}
	case partResult:
		p, comm, ordinal, v := trace.P(r.u32()), r.u32(), r.u64(), r.u64()
		if n, ok := e.local(p); ok && !r.bad {
			e.put(n, box{collSpace | uint64(comm), ordinal}, v)
		}
	case partCut:
		if end := r.u64(); !r.bad {
			e.end = min(e.end, end)
		}
	default:
		r.bad = true
	}
}
