package xtfwriter

import "github.com/coppice-hpc/coppice/xtf"

// Directory rows reach rank 0 in stages, along a tree of ranks: a rank is the
// parent of those that differ from it in one digit to the base gatherFan, all
// lower digits being 0. The subtree of a rank is the contiguous range behind it,
// so that visiting children in ascending order gives rank order. A rank sends
// when its parent asks, one piece at a time. So rank 0 talks to gatherFan-1 ranks
// for each digit, whatever the number of ranks, and no rank holds more of the
// others' rows than one piece.
const (
	gatherFan  = 64
	gatherRows = 1024 // of a piece
	tagRows    = 21
	tagGo      = 22
)

// gatherParent is the rank that r > 0 sends to.
func gatherParent(r int) int {
	w := 1
	for r/w%gatherFan == 0 {
		w *= gatherFan
	}
	return r - r/w%gatherFan*w
}

// gatherChildren are the ranks that send to r, ascending.
func gatherChildren(r, size int) (list []int) {
	for w := 1; w < size && r%(w*gatherFan) == 0; w *= gatherFan {
		for j := 1; j < gatherFan && r+j*w < size; j++ {
			list = append(list, r+j*w)
		}
	}
	return list
}

// gather hands the rows of this rank and then of its subtree to take, in rank
// order, in pieces of at most gatherRows rows. It takes what a child sends even
// after an error of take, so that the child is not left waiting.
func (m *commit) gather(take func(rows []byte) error) error {
	var err error
	for b := m.rows; len(b) > 0 && err == nil; {
		n := min(len(b), gatherRows*xtf.DirRowBytes)
		err = take(b[:n])
		b = b[n:]
	}
	m.rows = nil
	for _, child := range gatherChildren(m.c.Rank(), m.c.Size()) {
		if serr := m.c.Send(nil, child, tagGo); serr != nil {
			return serr
		}
		for {
			b, _, rerr := m.c.Recv(child, tagRows)
			if rerr != nil {
				return rerr
			}
			if len(b) == 0 {
				break
			}
			if err == nil {
				err = take(b)
			}
		}
	}
	return err
}

// directory gathers the rows in rank order on rank 0, which writes everything
// behind the last region.
func (m *commit) directory() error {
	if m.c.Rank() == 0 {
		return m.agreeOpen(m.tail())
	}
	parent := gatherParent(m.c.Rank())
	_, _, err := m.c.Recv(parent, tagGo)
	if err == nil {
		err = m.gather(func(rows []byte) error { return m.c.Send(rows, parent, tagRows) })
	}
	if err == nil {
		err = m.c.Send(nil, parent, tagRows)
	}
	return m.agreeOpen(err)
}
