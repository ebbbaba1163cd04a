package waits

import (
	"cmp"

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

// newSent takes the send of a row.
func newSent(m *xtf.Message) sentMessage {
	c, leave := &m.Call, m.End
	if m.Kind&xtf.P2PNonBlocking != 0 {
		leave = m.Done
	}
	return sentMessage{Send{Enter: c.Enter, Leave: leave, Post: c.Post, Out: c.Out, Ready: c.Ready}, m.N, c.CallN, c.Path, c.Region, m.MateP}
}

// sentMessages waits for the calls that complete non-blocking sends, in the order
// of their enters. Memory: 80 bytes for each send in progress that has a late
// receiver.
type sentMessages struct{ open []sentMessage }

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
