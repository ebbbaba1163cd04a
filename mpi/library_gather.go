//go:build cgo && !nompi

package mpi

// #include "glue.h"
import "C"

import (
	"encoding/binary"
	"runtime"
)

func (c *mpiComm) Gather(b []byte, root int) ([][]byte, error) {
	if err := checkRoot("gather", root, c.size); err != nil {
		return nil, err
	}
	leave, err := c.enter("gather")
	if err != nil {
		return nil, err
	}
	defer leave()
	total := []int64{int64(len(b))}
	if err := c.allreduce("gather", total, Sum); err != nil {
		return nil, err
	}
	if total[0] <= c.treeLimit() {
		parts, err := c.gatherTree(b, root)
		c.l.stats.collective(len(b), totalLen(parts))
		return parts, err
	}
	var lens []int64
	if c.rank == root {
		lens = make([]int64, c.size)
	}
	err = c.exchange("gather", []int64{int64(len(b))}, lens, func(in, out *C.int64_t, r *C.MPI_Request) C.int {
		return C.cop_igather(in, out, 1, C.int(root), c.user(), r)
	})
	if err != nil {
		return nil, err
	}
	parts, err := c.gatherParts(b, lens, root, total[0] <= int64(c.l.chunk))
	c.l.stats.collective(len(b), totalLen(parts))
	return parts, err
}

// treeLimit is the total up to which parts are gathered along a tree, in bytes. Libraries gather parts of different
// lengths in as many messages as there are ranks; a tree takes log2 of that, and a rank holds up to half of all.
func (c *mpiComm) treeLimit() int64 { return int64(min(1<<20, c.l.chunk/2)) }

// gatherTree gathers along a binomial tree around root.
func (c *mpiComm) gatherTree(b []byte, root int) ([][]byte, error) {
	held, err := c.climb(b, root)
	if err != nil || c.rank != root {
		return nil, err
	}
	return splitParts(held, c.size, root)
}

// allgatherTree gathers on rank 0, which tells all.
func (c *mpiComm) allgatherTree(b []byte) ([][]byte, error) {
	held, err := c.climb(b, 0)
	if err != nil {
		return nil, err
	}
	if held, err = c.bcast(held, 0); err != nil {
		return nil, err
	}
	return splitParts(held, c.size, 0)
}

// climb brings the parts of all ranks to root, the others get nothing: for each rank, from root on and around, its length, u64
// little-endian, and its bytes.
func (c *mpiComm) climb(b []byte, root int) ([]byte, error) {
	held := append(binary.LittleEndian.AppendUint64(nil, uint64(len(b))), b...)
	return c.up(held, root, func(held, got []byte) []byte { return append(held, got...) })
}

// splitParts reads what climb brought together.
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

// gatherParts moves the bytes of a gather: in one call, or as messages when the total may not fit one.
func (c *mpiComm) gatherParts(b []byte, lens []int64, root int, one bool) ([][]byte, error) {
	if one {
		block, parts, counts, at := layout(lens)
		var p runtime.Pinner
		defer p.Unpin()
		in, out, pc, pa := pin(&p, b), pin(&p, block), pinnedInts(&p, counts), pinnedInts(&p, at)
		return parts, c.run("gather", func(r *C.MPI_Request) C.int {
			return C.cop_igatherv(in, C.int(len(b)), out, pc, pa, C.int(root), c.user(), r)
		})
	}
	if c.rank != root {
		return nil, c.sysSend(b, root, tagColl)
	}
	parts := make([][]byte, c.size)
	for i := range parts {
		if i == root {
			parts[i] = copyOf(b)
			continue
		}
		var err error
		if parts[i], err = c.sysRecv(i, tagColl); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// layout places parts of the given lengths, at most one chunk together, one after the other.
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

func (c *mpiComm) Allgather(b []byte) ([][]byte, error) {
	leave, err := c.enter("allgather")
	if err != nil {
		return nil, err
	}
	defer leave()
	total := []int64{int64(len(b))}
	if !c.l.inTree { // else a rank on the way holds less than all get
		if err := c.allreduce("allgather", total, Sum); err != nil {
			return nil, err
		}
	}
	if c.l.inTree || total[0] <= c.treeLimit() {
		parts, err := c.allgatherTree(b)
		c.l.stats.collective(len(b), totalLen(parts))
		return parts, err
	}
	lens := make([]int64, c.size)
	err = c.exchange("allgather", []int64{int64(len(b))}, lens, func(in, out *C.int64_t, r *C.MPI_Request) C.int {
		return C.cop_iallgather(in, out, 1, c.user(), r)
	})
	if err != nil {
		return nil, err
	}
	parts, err := c.allgatherParts(b, lens)
	c.l.stats.collective(len(b), totalLen(parts))
	return parts, err
}

func (c *mpiComm) allgatherParts(b []byte, lens []int64) ([][]byte, error) {
	total := int64(0)
	for _, n := range lens {
		total += n
	}
	if total <= int64(c.l.chunk) {
		block, parts, counts, at := layout(lens)
		var p runtime.Pinner
		defer p.Unpin()
		in, out, pc, pa := pin(&p, b), pin(&p, block), pinnedInts(&p, counts), pinnedInts(&p, at)
		return parts, c.run("allgather", func(r *C.MPI_Request) C.int {
			return C.cop_iallgatherv(in, C.int(len(b)), out, pc, pa, c.user(), r)
		})
	}
	parts := make([][]byte, c.size)
	for i := range parts {
		var own []byte
		if i == c.rank {
			own = copyOf(b)
		}
		var err error
		if parts[i], err = c.bcast(own, i); err != nil {
			return nil, err
		}
	}
	return parts, nil
}
