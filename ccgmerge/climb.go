package ccgmerge

import (
	"fmt"
	"iter"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// tag of all messages.
const tag = 0

// A message is parts after one byte: more follow, the last one, or the sender
// failed.
const (
	messageMore = iota
	messageLast
	messageFailed
)

// table is what climbs the tree: a build.Union of nodes, or a build.ClassBuilder of rows of class tables.
type table[R receiver] interface {
	Len() int
	Parts(limit int) iter.Seq[[]byte]
	Receive() R
}

// receiver joins the messages of another table.
type receiver interface {
	Add(msg []byte) error
	Close() error
	Len() int // received
}

// climb merges the tables of all ranks into rank 0's: at level k a rank whose
// number is an odd multiple of 2^k sends to the rank 2^k below and is done. A
// rank that fails, or has failed before, goes on receiving, so that nobody waits for ever. It returns
// what each level moved to this rank.
func climb[R receiver](r *reduction, t table[R], failed error) ([]Level, error) {
	var levels []Level
	rank, size := r.c.Rank(), r.c.Size()
	for bit := 1; bit < size; bit *= 2 {
		var l Level
		switch {
		case rank&bit != 0:
			failed = r.send(t.Parts(r.cfg.Message), rank-bit, failed)
			return append(levels, l), failed
		case rank+bit < size:
			l, failed = receive(r, t, rank+bit, failed)
		}
		levels = append(levels, l)
	}
	return levels, failed
}

// send passes the parts of a table on in messages.
func (r *reduction) send(parts iter.Seq[[]byte], to int, failed error) error {
	if failed != nil {
		if err := r.c.Send([]byte{messageFailed}, to, tag); err != nil {
			return err
		}
		return failed
	}
	for part := range parts {
		if err := r.c.Send(append(part, messageMore), to, tag); err != nil {
			return err
		}
	}
	return r.c.Send([]byte{messageLast}, to, tag)
}

// receive joins the table of a rank above.
func receive[R receiver](r *reduction, t table[R], from int, failed error) (Level, error) {
	var l Level
	before := t.Len()
	in := t.Receive()
	sender := byte(messageMore)
	for sender == messageMore {
		b, _, err := r.c.Recv(from, tag)
		if err != nil {
			return l, err
		}
		l.Messages++
		l.Bytes += uint64(len(b))
		if len(b) == 0 {
			return l, fmt.Errorf("empty message from rank %d: %w", from, graph.ErrCorrupt)
		}
		sender = b[len(b)-1]
		if sender == messageMore && failed == nil {
			failed = in.Add(b[:len(b)-1])
		}
	}
	l.Nodes = uint64(in.Len())
	l.New = uint64(t.Len() - before)
	if err := in.Close(); failed == nil && sender == messageLast { // a failed sender reports by itself
		failed = err
	}
	return l, failed
}
