//go:build cgo && !nompi

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"math"
	"runtime"
)

// tagColl is the private tag of collectives that move more than one chunk.
const tagColl = 2

// reduceChunk bounds one reduction, in values: 512 MiB.
const reduceChunk = 1 << 26

// The raw calls below are collective, move small fixed numbers of values and are made between enter and leave.

func (c *mpiComm) user() C.MPI_Comm { return c.plane[userPlane].h }

func (c *mpiComm) run(op string, start func(*C.MPI_Request) C.int) error {
	return c.l.async(context.Background(), op, start)
}

// reductions are the numbers that the C code has.
var reductions = [numOps]C.int{Sum: C.COP_SUM, Min: C.COP_MIN, Max: C.COP_MAX, BitOr: C.COP_BOR}

// allreduce replaces v by its reduction.
func (c *mpiComm) allreduce(op string, v []int64, red Op) error {
	if c.l.inTree {
		return c.fold(v, red)
	}
	out := make([]int64, len(v))
	err := c.reduceInto(op, out, v, red)
	if err == nil {
		copy(v, out)
	}
	return err
}

// reduceInto is the call of the library.
func (c *mpiComm) reduceInto(op string, dst, src []int64, red Op) error {
	return c.exchange(op, src, dst, func(in, out *C.int64_t, r *C.MPI_Request) C.int {
		return C.cop_iallreduce(in, out, C.int(len(src)), reductions[red], c.user(), r)
	})
}

// exchange runs one of the fixed-size collectives on int64 values.
func (c *mpiComm) exchange(op string, in, out []int64, start func(in, out *C.int64_t, r *C.MPI_Request) C.int) error {
	var p runtime.Pinner
	defer p.Unpin()
	pi, po := pinned(&p, in), pinned(&p, out)
	return c.run(op, func(r *C.MPI_Request) C.int { return start(pi, po, r) })
}

func (c *mpiComm) reduceMin(v int64) (int64, error) {
	if err := c.enter("agree"); err != nil {
		return 0, err
	}
	defer c.leave()
	w := []int64{v}
	err := c.allreduce("agree", w, Min)
	return w[0], err
}

func (c *mpiComm) bcast(b []byte, root int) ([]byte, error) {
	if err := c.enter("bcast"); err != nil {
		return nil, err
	}
	defer c.leave()
	return c.spread(b, root)
}

// spread gives the bytes of root to all.
func (c *mpiComm) spread(b []byte, root int) ([]byte, error) {
	if c.l.inTree {
		return c.down(b, root)
	}
	n := []int64{int64(len(b))}
	var p runtime.Pinner
	defer p.Unpin()
	pn := pin(&p, n)
	err := c.run("bcast", func(r *C.MPI_Request) C.int { return C.cop_ibcast(pn, 8, C.int(root), c.user(), r) })
	if err != nil {
		return nil, err
	}
	if c.rank != root {
		b = make([]byte, int(n[0]))
	}
	pin(&p, b)
	for at := 0; at < len(b); at += c.l.chunk {
		piece := b[at:min(at+c.l.chunk, len(b))]
		err := c.run("bcast", func(r *C.MPI_Request) C.int {
			return C.cop_ibcast(address(piece), C.int(len(piece)), C.int(root), c.user(), r)
		})
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// concat puts parts one after the other, as layout places them.
func concat(parts [][]byte) (block []byte, counts, at []int32) {
	block = make([]byte, 0, totalLen(parts))
	counts, at = make([]int32, len(parts)), make([]int32, len(parts))
	for i, b := range parts {
		counts[i], at[i] = int32(len(b)), int32(len(block))
		block = append(block, b...)
	}
	return block, counts, at
}

func (c *mpiComm) Alltoall(parts [][]byte) ([][]byte, error) {
	if err := c.enter("alltoall"); err != nil {
		return nil, err
	}
	defer c.leave()
	lens, from := make([]int64, c.size), make([]int64, c.size)
	for i := range lens {
		lens[i] = -1
		if len(parts) == c.size {
			lens[i] = int64(len(parts[i]))
		}
	}
	err := c.exchange("alltoall", lens, from, func(in, out *C.int64_t, r *C.MPI_Request) C.int {
		return C.cop_ialltoall(in, out, 1, c.user(), r)
	})
	if err != nil {
		return nil, err
	}
	received := int64(0)
	for i, n := range from {
		if n < 0 {
			return nil, errf("alltoall", ErrCount, "rank %d does not give one part for each of %d ranks", i, c.size)
		}
		received += n
	}
	most := []int64{max(received, int64(totalLen(parts)))}
	if err := c.allreduce("alltoall", most, Max); err != nil {
		return nil, err
	}
	return c.alltoallParts(parts, from, most[0] <= int64(c.l.chunk))
}

func (c *mpiComm) alltoallParts(parts [][]byte, from []int64, one bool) ([][]byte, error) {
	if one {
		send, sc, sd := concat(parts)
		recv, got, rc, rd := layout(from)
		var p runtime.Pinner
		defer p.Unpin()
		in, psc, psd := pin(&p, send), pinnedInts(&p, sc), pinnedInts(&p, sd)
		out, prc, prd := pin(&p, recv), pinnedInts(&p, rc), pinnedInts(&p, rd)
		return got, c.run("alltoall", func(r *C.MPI_Request) C.int {
			return C.cop_ialltoallv(in, psc, psd, out, prc, prd, c.user(), r)
		})
	}
	got := make([][]byte, c.size)
	got[c.rank] = copyOf(parts[c.rank])
	for i := 1; i < c.size; i++ { // one partner in each direction at a time
		to, src := (c.rank+i)%c.size, (c.rank-i+c.size)%c.size
		in, out := c.receive(systemPlane, src, tagColl), c.send(systemPlane, parts[to], to, tagColl)
		if err := c.Wait(in, out); err != nil {
			return nil, err
		}
		got[src] = in.data
	}
	return got, nil
}

func (c *mpiComm) Exscan(v int64) (int64, error) {
	if err := c.enter("exscan"); err != nil {
		return 0, err
	}
	defer c.leave()
	if c.l.inTree {
		return c.foldBelow(v)
	}
	acc := make([]int64, 2)
	err := c.exchange("exscan", splitSum([]int64{v}), acc, func(in, out *C.int64_t, r *C.MPI_Request) C.int {
		return C.cop_iexscan(in, out, 2, c.user(), r)
	})
	if err != nil {
		return 0, err
	}
	if c.rank == 0 { // MPI leaves it undefined
		clear(acc)
	}
	sum, bad := []int64{0}, []int64{math.MaxInt64}
	if !joinSum(sum, acc) {
		bad[0] = int64(c.rank)
	}
	if err := c.allreduce("exscan", bad, Min); err != nil {
		return 0, err
	}
	if bad[0] != math.MaxInt64 {
		return 0, errf("exscan", ErrOverflow, "the sum of the ranks below %d does not fit 64 bits", bad[0])
	}
	return sum[0], nil
}

// reduce compares length and operation of all ranks first, which also makes all ranks meet before a call of gompi
// that blocks.
func (c *mpiComm) reduce(v []int64, op Op) error {
	if err := c.enter("allreduce"); err != nil {
		return err
	}
	defer c.leave()
	if c.l.inTree {
		return c.foldReduce(v, op)
	}
	same := compared(v, op)
	if err := c.allreduce("allreduce", same, Max); err != nil {
		return err
	}
	if err := disagreement(same, op); err != nil {
		return err
	}
	in := v
	if op == Sum {
		in = splitSum(v)
	}
	out := make([]int64, len(in))
	for at := 0; at < len(in); at += reduceChunk {
		end := min(at+reduceChunk, len(in))
		if err := c.reducePiece(out[at:end], in[at:end], op); err != nil {
			return err
		}
	}
	return storeReduced(v, out, op)
}

// compared are the arguments of a reduction, each next to its negative: their maxima over the ranks show whether all give the same.
func compared(v []int64, op Op) []int64 {
	n, o := int64(len(v)), int64(op)
	return []int64{n, -n, o, -o}
}

// disagreement refuses a reduction whose arguments, compared over all ranks, differ or name no operation.
func disagreement(same []int64, op Op) error {
	if same[0] != -same[1] || same[2] != -same[3] {
		return errf("allreduce", ErrMismatch, "ranks give %d to %d values, operations %d to %d", -same[1], same[0], -same[3], same[2])
	}
	if op >= numOps {
		return errf("allreduce", ErrOp, "unknown reduction %d", op)
	}
	return nil
}

func (c *mpiComm) reducePiece(dst, src []int64, op Op) error {
	if c.world != nil {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		return c.world.allreduce(dst, src, op)
	}
	return c.reduceInto("allreduce", dst, src, op)
}
