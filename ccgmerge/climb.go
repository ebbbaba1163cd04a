package ccgmerge

import (
	"fmt"
	"iter"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// tag of all messages.
const tag = 0

// The last byte of a message: more follow, it is the last one, or the sender has failed.
const (
	messageMore = iota
	messageLast
	messageFailed
)

// table is what is merged along the tree: a build.Union of nodes, or a build.ClassBuilder of rows of class tables.
type table[R receiver] interface {
	Len() int
	Parts(limit int) iter.Seq[[]byte]
	Receive() R
}

// receiver merges the messages with another rank's table.
type receiver interface {
	Add(msg []byte) error
	Close() error
	Len() int // received
}

// climb merges the tables of all ranks into rank 0's: at level k a rank whose number is an odd multiple of 2^k sends to the rank 2^k below
// it and is done. A rank that has failed still receives, so that no sender blocks. It returns what each level transferred to this rank.
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

// send sends the parts of a table.
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

// receive merges the table of another rank into t.
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
	if err := in.Close(); failed == nil && sender == messageLast { // a failed sender reports its error itself
		failed = err
	}
	return l, failed
}
