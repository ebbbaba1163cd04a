package waits

import (
	"cmp"

	"github.com/coppice-hpc/coppice/xtf"
)

// sentMessage is a send whose receiver comes after the call that completes it
// begins. Memory: 80 bytes for each in progress.
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

// before orders them by the call that completes them, then by row.
func (x sentMessage) before(o sentMessage) bool {
	return cmp.Or(cmp.Compare(x.Enter, o.Enter), cmp.Compare(x.callN, o.callN), cmp.Compare(x.row, o.row)) < 0
}
