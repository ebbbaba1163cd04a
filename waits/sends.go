package waits

import (
	"cmp"
	"container/heap"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/xtf"
)

// sentMessage is a send whose receiver comes after the call that completes it
// begins.
type sentMessage struct {
	Send
	row    uint64
	callN  uint64
	path   uint32 // local
	region uint32
	mate   uint32 // location of the receiver
}

// sentMessages waits for the calls that complete non-blocking sends, in the order
// of their enters. Memory: 80 bytes for each send under way that has a late
// receiver.
type sentMessages struct {
	rows column // of xtf.SendCall
	n    uint64 // number of the next one
	open []sentMessage
}

// take puts the call that completes the send of message row n into x, false if the
// receiver was there before.
func (s *sentMessages) take(x *sentMessage, n uint64, row []byte) (bool, error) {
	if s.n >= s.rows.rows {
		return false, nil
	}
	b, err := s.rows.at(s.n)
	if err != nil {
		return false, err
	}
	var c xtf.SendCall
	if c.Load(b); c.Row > n {
		return false, nil
	}
	if s.n++; c.Row < n {
		return false, fmt.Errorf("waits: call of send %d behind message %d: %w", c.Row, n, io.ErrUnexpectedEOF)
	}
	kind, leave := xtf.U32(row, xtf.P2PKind), xtf.U64(row, xtf.P2PEnd)
	if kind&xtf.P2PNonBlocking != 0 {
		leave = xtf.U64(row, xtf.P2PDone)
	}
	x.Enter, x.Leave, x.Post, x.Out, x.Ready = c.Enter, leave, c.Post, c.Out, c.Ready
	x.row, x.callN, x.path, x.region, x.mate = n, c.CallN, c.Path, c.Region, xtf.U32(row, xtf.P2PMateP)
	return sent(kind), nil
}

// add keeps a send until its call.
func (s *sentMessages) add(x sentMessage) { heap.Push(s, x) }

// next is the send whose call begins first, nil for none.
func (s *sentMessages) next() *sentMessage {
	if len(s.open) == 0 {
		return nil
	}
	return &s.open[0]
}

// Len, Less, Swap, Push and Pop make it a heap.
func (s *sentMessages) Len() int { return len(s.open) }

// Less orders by call, then row.
func (s *sentMessages) Less(i, j int) bool {
	a, b := &s.open[i], &s.open[j]
	return cmp.Or(cmp.Compare(a.Enter, b.Enter), cmp.Compare(a.callN, b.callN), cmp.Compare(a.row, b.row)) < 0
}

// Swap exchanges two.
func (s *sentMessages) Swap(i, j int) { s.open[i], s.open[j] = s.open[j], s.open[i] }

// Push appends one.
func (s *sentMessages) Push(x any) { s.open = append(s.open, x.(sentMessage)) }

// Pop removes the last one.
func (s *sentMessages) Pop() any {
	last := len(s.open) - 1
	x := s.open[last]
	s.open = s.open[:last]
	return x
}
