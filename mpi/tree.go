package mpi

import "math/bits"

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
// A failing enc, dec or merge stops the merging on its path and nothing else: every rank returns the same AgreedError.
// Collective.
func TreeReduce[T any](c Comm, v T, enc func(T) ([]byte, error), dec func([]byte) (T, error),
	merge func(a, b T) (T, error),
) (T, error) {
	var zero T
	v, err := treeClimb(c, v, enc, dec, merge)
	if err := c.Agree(err); err != nil {
		return zero, err
	}
	if c.Rank() != 0 {
		return zero, nil
	}
	return v, nil
}

// treeClimb is TreeReduce without the agreement.
func treeClimb[T any](c Comm, v T, enc func(T) ([]byte, error), dec func([]byte) (T, error),
	merge func(a, b T) (T, error),
) (T, error) {
	var failed error
	sys := c.system()
	parent, children := Tree(c.Rank(), c.Size())
	for _, child := range children {
		b, ok, err := treeRecv(sys, child)
		if err != nil {
			return v, err
		}
		if failed != nil || !ok {
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
		if failed == nil {
			b, failed = enc(v)
		}
		if err := treeSend(sys, b, parent, failed == nil); failed == nil {
			failed = err
		}
	}
	return v, failed
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
