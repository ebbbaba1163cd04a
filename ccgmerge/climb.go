package ccgmerge

import (
	"fmt"
	"iter"

	"github.com/coppice-hpc/coppice/ccg"
)

// tag of all messages: the communicator is our own.
const tag = 0

// A message is parts after one byte: more follow, the last one, or the sender
// failed.
const (
	messageMore = iota
	messageLast
	messageFailed
)

// table is what climbs the tree: nodes of a union, or rows of class tables.
type table interface {
	len() int
	Parts(limit int) iter.Seq[[]byte]
	receive() receiver
}

// receiver joins the messages of another table.
type receiver interface {
	Add(msg []byte) error
	Close() error
	len() int // received
}

type structure struct{ *ccg.Union }

func (t structure) len() int          { return t.Nodes() }
func (t structure) receive() receiver { return nodeReceiver{t.Receive()} }

type nodeReceiver struct{ *ccg.Receiver }

func (r nodeReceiver) len() int { return r.Nodes() }

type classRows struct{ *ccg.ClassBuilder }

func (t classRows) len() int          { return t.Rows() }
func (t classRows) receive() receiver { return rowReceiver{t.Receive()} }

type rowReceiver struct{ *ccg.ClassReceiver }

func (r rowReceiver) len() int { return r.Rows() }

// climb merges the tables of all ranks into rank 0's: at level k a rank whose
// number is an odd multiple of 2^k sends to the rank 2^k below and is done. A
// rank that fails goes on receiving, so that nobody waits for ever. It returns
// what each level moved to this rank.
func (r *reduction) climb(t table) (levels []Level, failed error) {
	rank, size := r.c.Rank(), r.c.Size()
	for bit := 1; bit < size; bit *= 2 {
		var l Level
		switch {
		case rank&bit != 0:
			failed = r.send(t, rank-bit, failed)
			return append(levels, l), failed
		case rank+bit < size:
			l, failed = r.receive(t, rank+bit, failed)
		}
		levels = append(levels, l)
	}
	return levels, failed
}

// send passes t on in messages.
func (r *reduction) send(t table, to int, failed error) error {
	if failed != nil {
		if err := r.c.Send([]byte{messageFailed}, to, tag); err != nil {
			return err
		}
		return failed
	}
	for part := range t.Parts(r.cfg.Message) {
		if err := r.c.Send(append(part, messageMore), to, tag); err != nil {
			return err
		}
	}
	return r.c.Send([]byte{messageLast}, to, tag)
}

// receive joins the table of a rank above.
func (r *reduction) receive(t table, from int, failed error) (Level, error) {
	var l Level
	before := t.len()
	in := t.receive()
	sender := byte(messageMore)
	for sender == messageMore {
		b, _, err := r.c.Recv(from, tag)
		if err != nil {
			return l, err
		}
		l.Messages++
		l.Bytes += uint64(len(b))
		if len(b) == 0 {
			return l, fmt.Errorf("empty message from rank %d: %w", from, ccg.ErrCorrupt)
		}
		sender = b[len(b)-1]
		if sender == messageMore && failed == nil {
			failed = in.Add(b[:len(b)-1])
		}
	}
	l.Nodes = uint64(in.len())
	l.New = uint64(t.len() - before)
	if err := in.Close(); failed == nil && sender == messageLast { // a failed sender reports by itself
		failed = err
	}
	return l, failed
}
