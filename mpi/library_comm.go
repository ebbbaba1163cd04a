//go:build cgo && !nompi

package mpi

// #include "glue.h"
import "C"

import (
	"context"
)

// mpiComm is a communicator of the MPI library. It has an MPI communicator for each plane: the first for the user's messages and all
// collectives, the second for private messages and bodies of long messages.
type mpiComm struct {
	l     *library
	world worldCalls // gompi; nil except for the world communicator
	node  []C.int    // of each rank its number among the ranks of this node, -1 on another node
	plane [numPlanes]mpiPlane
	endpoint
}

// mpiPlane is one MPI communicator. pending are receives without a message, in the order in which they were posted. The library's lock
// guards it.
type mpiPlane struct {
	h       C.MPI_Comm
	pending []*Request
}

// newComm makes a communicator of the ranks of another one. Collective; its calls block, so all ranks have arrived before.
func (l *library) newComm(of C.MPI_Comm) (*mpiComm, error) {
	c := &mpiComm{l: l}
	c.self = c
	var user, system C.MPI_Comm
	err := l.do("dup", func() C.int {
		if rc := C.cop_dup(of, &user); rc != C.MPI_SUCCESS {
			return rc
		}
		c.rank, c.size = int(C.cop_rank(user)), int(C.cop_size(user))
		if rc := C.cop_dup(user, &system); rc != C.MPI_SUCCESS {
			return rc
		}
		c.node = make([]C.int, c.size)
		return C.cop_node_ranks(user, C.int(c.size), &c.node[0])
	})
	c.plane[userPlane].h, c.plane[systemPlane].h = user, system
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *mpiComm) alive(string) error { return nil } // a rank that fails ends the job
func (c *mpiComm) Abort(code int)     { c.l.abort(code) }

// meet waits for all ranks without the lock. After it, blocking collectives of the library are short.
func (c *mpiComm) meet(ctx context.Context, op string) error {
	return c.l.async(ctx, op, func(r *C.MPI_Request) C.int { return C.cop_ibarrier(c.plane[userPlane].h, r) })
}

func (c *mpiComm) Barrier() error {
	if err := c.enter("barrier"); err != nil {
		return err
	}
	defer c.leave()
	if c.l.inTree {
		return c.fold(nil, Max)
	}
	if err := c.meet(context.Background(), "barrier"); err != nil {
		return err
	}
	if c.world != nil {
		return c.l.do("barrier", func() C.int {
			c.world.barrier()
			return C.MPI_SUCCESS
		})
	}
	return nil
}

func (c *mpiComm) BarrierContext(ctx context.Context) error {
	if err := c.enter("barrier"); err != nil {
		return err
	}
	defer c.leave()
	return c.meet(ctx, "barrier")
}

func (c *mpiComm) Node() (first, ranks int) {
	for r := c.size - 1; r >= 0; r-- {
		if c.node[r] >= 0 {
			first, ranks = r, ranks+1
		}
	}
	return first, ranks
}

func (c *mpiComm) Dup() (Comm, error) {
	if err := c.enter("dup"); err != nil {
		return nil, err
	}
	defer c.leave()
	if err := c.meet(context.Background(), "dup"); err != nil {
		return nil, err
	}
	sub, err := c.l.newComm(c.plane[userPlane].h)
	if err != nil {
		return nil, err
	}
	return sub, nil
}

func (c *mpiComm) Free() error {
	if c.isWorld() {
		return errf("free", ErrComm, "the first communicator cannot be freed")
	}
	if err := c.enter("free"); err != nil {
		return err
	}
	defer c.leave()
	if err := c.meet(context.Background(), "free"); err != nil {
		return err
	}
	c.freed.Store(true)
	return c.l.do("free", func() C.int {
		user, system := c.plane[userPlane].h, c.plane[systemPlane].h
		if rc := C.cop_free(&system); rc != C.MPI_SUCCESS {
			return rc
		}
		return C.cop_free(&user)
	})
}

func (c *mpiComm) isWorld() bool { return c.l.first == c }
