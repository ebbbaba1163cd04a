package mpi

import (
	"errors"
	"math/bits"
	"slices"
)

// Tree returns the parent and the children (ascending) of a rank in a binomial tree with root 0. The parent's number lacks the lowest set
// bit. A rank and all ranks below it in the tree have consecutive numbers.
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

// TreeReduce merges the values of all ranks. Rank 0 gets the result, other ranks the zero value.
//
// At level k of the binomial tree every rank whose number is an odd multiple of 2^k sends to the rank 2^k below it and is done. So merge(a,
// b) gets a from a contiguous range of ranks and b from the range after it: merge must be associative, but need not be commutative. A rank
// sends at most once and receives at most ceil(log2 P) times. It holds its own value, one received encoding and what merge returns.
//
// failed is an error from making v. It, or an error of enc, dec or merge, stops merging on its path only, and every rank returns the same
// AgreedError. Collective.
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

// TreeShare is TreeReduce, and then gives every rank what share returns on rank 0 for the result. Collective.
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

// FromRank returns b, or err, of one rank on every rank. Collective.
func FromRank(c Comm, rank int, b []byte, err error) ([]byte, error) {
	return fromRank(c, rank, b, err == nil, err)
}

// fromRank is FromRank. ok is false if the rank has no b, because itself (failed) or another rank failed.
func fromRank(c Comm, rank int, b []byte, ok bool, failed error) ([]byte, error) {
	if ok && c.Size() == 1 {
		return b, nil
	}
	if c.Rank() == rank {
		b = marked(b, ok)
	}
	b, err := c.Bcast(b, rank)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	end := len(b) - 1
	if end >= 0 && b[end] == 1 {
		return b[:end:end], failed // an error here is one of sending, which the library reported to this rank only
	}
	if err := c.Agree(failed); err != nil {
		return nil, err
	}
	return nil, errf("broadcast", ErrInternal, "a failure of rank %d without an error", rank)
}

// treeClimb merges the values of this rank and of the ranks below it in the tree, and sends the result to the parent. whole is false if a
// value is missing.
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
		if err := sys.sysSend(marked(b, failed == nil && whole), parent, tagTree); failed == nil {
			failed = err
		}
	}
	return v, whole, failed
}

// marked returns an encoding and a byte: 1, or 0 if there is no encoding because this rank failed.
func marked(b []byte, ok bool) []byte {
	if ok {
		return append(slices.Clip(b), 1)
	}
	return []byte{0}
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
