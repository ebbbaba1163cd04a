package mpi

import (
	"errors"
	"math/bits"
)

// Tree is the place of a rank in a binomial tree below rank 0: its parent, whose number lacks the lowest bit, and its children, ascending.
// So the ranks below each are those after it, without a gap.
func Tree(rank, size int) (parent int, children []int) {
	low := rank & -rank
	if rank == 0 {
		low = 1 << bits.Len(uint(size-1))
	}
	for bit := 1; bit < low && rank+bit < size; bit *= 2 {
		children = append(children, rank+bit)
	}
	return rank & (rank - 1), children
}

// TreeReduce merges the values of all ranks into one, returned on rank 0; the other ranks get the zero value.
//
// The tree is binomial over neighbours: at level k every rank whose number is an odd multiple of 2^k sends to the rank
// 2^k below it and is done. So merge(a, b) is always called with a covering a contiguous range of ranks and b the range
// right above it, and merge need be associative only, not commutative. Each rank sends at most once and receives at
// most ceil(log2 P) times; it holds its own value, one received encoding and what merge returns.
//
// failed is an error of the making of v. It, or a failing enc, dec or merge, stops the merging on its path and nothing else: every rank
// returns the same AgreedError. Collective.
func TreeReduce[T any](c Comm, v T, failed error, enc func(T) ([]byte, error), dec func([]byte) (T, error),
	merge func(a, b T) (T, error),
) (T, error) {
	var all T
	_, err := TreeShare(c, v, failed, enc, dec, merge, func(v T) ([]byte, error) {
		all = v
		return nil, nil
	})
	return all, err
}

// TreeShare is TreeReduce that gives every rank what share makes, on rank 0, of the value of all. Collective.
func TreeShare[T any](c Comm, v T, failed error, enc func(T) ([]byte, error), dec func([]byte) (T, error),
	merge func(a, b T) (T, error), share func(T) ([]byte, error),
) ([]byte, error) {
	v, whole, err := treeClimb(c, v, failed, enc, dec, merge)
	var b []byte
	if c.Rank() == 0 && whole && err == nil {
		b, err = share(v)
	}
	return fromRank(c, 0, b, whole && err == nil, err)
}

// FromRank gives every rank the b of one of them, or, where that has an error, this error. Collective.
func FromRank(c Comm, rank int, b []byte, err error) ([]byte, error) {
	return fromRank(c, rank, b, err == nil, err)
}

// fromRank is FromRank where the rank may know of a failure, not ok, of which another has the error. A byte after b says which it is.
func fromRank(c Comm, rank int, b []byte, ok bool, failed error) ([]byte, error) {
	if ok && c.Size() == 1 {
		return b, nil
	}
	if c.Rank() == rank {
		if b = append(b[:len(b):len(b)], 1); !ok {
			b = []byte{0}
		}
	}
	b, err := c.Bcast(b, rank)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	end := len(b) - 1
	if end >= 0 && b[end] == 1 {
		return b[:end:end], failed // an error is one of sending, which the library reported to this rank alone
	}
	if err := c.Agree(failed); err != nil {
		return nil, err
	}
	return nil, errf("broadcast", ErrInternal, "a failure of rank %d without an error", rank)
}

// treeClimb merges the values of this rank and of those below it in the tree, and passes the result on. It is not whole where that of
// a rank below is missing.
func treeClimb[T any](c Comm, v T, failed error, enc func(T) ([]byte, error), dec func([]byte) (T, error),
	merge func(a, b T) (T, error),
) (_ T, whole bool, _ error) {
	sys := c.system()
	parent, children := Tree(c.Rank(), c.Size())
	whole = true
	for _, child := range children {
		b, ok, err := treeRecv(sys, child)
		if err != nil {
			return v, false, err
		}
		if whole = whole && ok; failed != nil || !whole {
			continue
		}
		w, err := dec(b)
		if err == nil {
			v, err = merge(v, w)
		}
		failed = err
	}
	if c.Rank() > 0 {
		var b []byte
		if failed == nil && whole {
			b, failed = enc(v)
		}
		if err := treeSend(sys, b, parent, failed == nil && whole); failed == nil {
			failed = err
		}
	}
	return v, whole, failed
}

// treeSend sends one encoding and a byte after it, which says whether it is one (1) or missing because this rank failed (0).
func treeSend(sys plane, b []byte, to int, ok bool) error {
	if ok {
		b = append(b[:len(b):len(b)], 1)
	} else {
		b = []byte{0}
	}
	return sys.sysSend(b, to, tagTree)
}

func treeRecv(sys plane, from int) (b []byte, ok bool, err error) {
	b, err = sys.sysRecv(from, tagTree)
	if err != nil {
		return nil, false, err
	}
	if len(b) == 0 {
		return nil, false, errf("tree reduce", ErrInternal, "an empty message from rank %d", from)
	}
	end := len(b) - 1
	return b[:end:end], b[end] == 1, nil
}
