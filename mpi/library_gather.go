//go:build cgo && !nompi

package mpi

// #include "glue.h"
import "C"

import (
	"encoding/binary"
	"runtime"
)

func (c *mpiComm) gather(op string, b []byte, root int) ([][]byte, error) {
	if err := c.enter(op); err != nil {
		return nil, err
	}
	defer c.leave()
	total, tree := []int64{int64(len(b))}, c.l.inTree && root < 0 // in a tree, where an inner rank holds no more than all ranks get
	if !tree {
		if err := c.allreduce(op, total, Sum); err != nil {
			return nil, err
		}
	}
	if tree || total[0] <= c.treeLimit() {
		return c.gatherTree(b, root)
	}
	return c.gatherParts(op, b, root, total[0] <= int64(c.l.chunk))
}

// treeLimit is the most bytes in total that are gathered along a tree. Libraries gather parts of different lengths with as many messages as
// ranks. A tree takes log2 of that, but a rank holds up to half of the total.
func (c *mpiComm) treeLimit() int64 { return int64(min(1<<20, c.l.chunk/2)) }

// gatherTree gathers along a binomial tree with this root. If root is negative it gathers at rank 0 and broadcasts.
func (c *mpiComm) gatherTree(b []byte, root int) ([][]byte, error) {
	top := max(root, 0)
	held := append(binary.LittleEndian.AppendUint64(nil, uint64(len(b))), b...) // parts of ranks root, root+1, ... (modulo size)
	held, err := c.up(held, top, func(held, got []byte) []byte { return append(held, got...) })
	if err == nil && root < 0 {
		held, err = c.spread(held, top)
	}
	if err != nil || root >= 0 && root != c.rank {
		return nil, err
	}
	return splitParts(held, c.size, top)
}

// splitParts splits what gatherTree gathered: for each rank, from root on, the length as little-endian uint64, and the bytes.
func splitParts(b []byte, size, root int) ([][]byte, error) {
	parts := make([][]byte, size)
	for i := range size {
		if len(b) < 8 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8) {
			return nil, errf("gather", ErrInternal, "the parts of %d ranks arrived damaged", size)
		}
		end := 8 + int(binary.LittleEndian.Uint64(b))
		parts[(i+root)%size], b = b[8:end:end], b[end:]
	}
	return parts, nil
}

// gatherParts transfers the lengths, then the bytes: in one call, or as messages if the total does not fit one.
func (c *mpiComm) gatherParts(op string, b []byte, root int, one bool) ([][]byte, error) {
	want := root < 0 || root == c.rank
	var lens []int64
	if want {
		lens = make([]int64, c.size)
	}
	err := c.exchange(op, []int64{int64(len(b))}, lens, func(in, out *C.int64_t, r *C.MPI_Request) C.int {
		if root < 0 {
			return C.cop_iallgather(in, out, 1, c.user(), r)
		}
		return C.cop_igather(in, out, 1, C.int(root), c.user(), r)
	})
	if err != nil {
		return nil, err
	}
	if one {
		block, parts, counts, at := layout(lens)
		var p runtime.Pinner
		defer p.Unpin()
		in, out, pc, pa := pin(&p, b), pin(&p, block), pinnedInts(&p, counts), pinnedInts(&p, at)
		return parts, c.run(op, func(r *C.MPI_Request) C.int {
			if root < 0 {
				return C.cop_iallgatherv(in, C.int(len(b)), out, pc, pa, c.user(), r)
			}
			return C.cop_igatherv(in, C.int(len(b)), out, pc, pa, C.int(root), c.user(), r)
		})
	}
	if !want {
		return nil, c.sysSend(b, root, tagColl)
	}
	parts := make([][]byte, c.size)
	for i := range parts {
		var own []byte
		if i == c.rank {
			own = copyOf(b)
		}
		switch {
		case root < 0:
			parts[i], err = c.spread(own, i)
		case i == root:
			parts[i] = own
		default:
			parts[i], err = c.sysRecv(i, tagColl)
		}
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// layout allocates one block for parts of the given lengths, at most one chunk in total.
func layout(lens []int64) (block []byte, parts [][]byte, counts, at []int32) {
	if lens == nil {
		return nil, nil, nil, nil
	}
	total := int64(0)
	for _, n := range lens {
		total += n
	}
	block = make([]byte, int(total))
	parts = make([][]byte, len(lens))
	counts, at = make([]int32, len(lens)), make([]int32, len(lens))
	pos := 0
	for i, n := range lens {
		end := pos + int(n)
		parts[i] = block[pos:end:end]
		counts[i], at[i] = int32(n), int32(pos)
		pos = end
	}
	return block, parts, counts, at
}
