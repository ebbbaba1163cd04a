//go:build cgo && !nompi

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"runtime"
)

// tagColl is the private tag of collectives in this package.
const tagColl = 2

// reduceChunk is the most values of one reduction: 512 MiB.
const reduceChunk = 1 << 26

// The calls below are collective. They transfer few values, between enter and leave.

func (c *mpiComm) user() C.MPI_Comm { return c.plane[userPlane].h }

func (c *mpiComm) run(op string, start func(*C.MPI_Request) C.int) error {
	return c.l.async(context.Background(), op, start)
}

// reductions are the C code's numbers of the reductions.
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

// reduceInto calls the library.
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

// reduce first compares length and operation of all ranks. So all ranks have arrived before gompi's call, which blocks.
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

// compared returns the arguments of a reduction, each with its negative. If the maximum over the ranks is not the negative of the other
// maximum, the ranks differ.
func compared(v []int64, op Op) []int64 {
	n, o := int64(len(v)), int64(op)
	return []int64{n, -n, o, -o}
}

// disagreement returns an error if the arguments differ (same is the maximum of compared) or the operation is unknown.
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
