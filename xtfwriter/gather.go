package xtfwriter

import (
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// Directory rows reach rank 0 along a binomial tree: visiting children in ascending order gives rank order. A rank puts the rows of its
// subtree together into pieces; so each of n ranks receives from log2 n others at
// most, and n/gatherRows pieces more. A full piece is longer than what a Send copies:
// it waits until the parent has come to it, and no rank holds more of the others' rows
// than one piece, and one that is not full for each child.
const (
	gatherRows = 2048 // rows in a piece
	tagRows    = 21
)

// The last byte of a piece says whether more pieces of the same rank follow.
const (
	rowsMore byte = iota
	rowsLast
)

// gather hands the rows of this rank and then of its subtree to take, in rank
// order. It takes what a child sends even after an error of take, so that the child
// is not left waiting.
func (m *commit) gather(take func(rows []byte) error) error {
	err := take(m.rows)
	m.rows = nil
	_, children := mpi.Tree(m.c.Rank(), m.c.Size())
	for _, child := range children {
		for last := false; !last; {
			b, _, rerr := m.c.Recv(child, tagRows)
			if rerr != nil {
				return rerr
			}
			if len(b) == 0 {
				return &mpi.Error{Op: "recv", Class: mpi.ErrInternal, Msg: "a piece of directory rows without its last byte"}
			}
			last = b[len(b)-1] == rowsLast
			if err == nil {
				err = take(b[:len(b)-1])
			}
		}
	}
	return err
}

// directory sends the directory rows of this rank and its subtree to the parent. Rank 0 writes them in rank order, and with them everything
// after the last region.
func (m *commit) directory() error {
	if m.c.Rank() == 0 {
		return m.tail()
	}
	const full = gatherRows * xtf.DirRowBytes
	parent, _ := mpi.Tree(m.c.Rank(), m.c.Size())
	var piece []byte
	err := m.gather(func(rows []byte) error {
		for len(rows) > 0 {
			n := min(len(rows), full-len(piece))
			piece, rows = append(piece, rows[:n]...), rows[n:]
			if len(piece) < full {
				return nil
			}
			if err := m.c.Send(append(piece, rowsMore), parent, tagRows); err != nil {
				return err
			}
			piece = piece[:0]
		}
		return nil
	})
	if err == nil {
		err = m.c.Send(append(piece, rowsLast), parent, tagRows)
	}
	return err
}
