package mpi

import (
	"context"
	"os"
	"runtime"
	"sync"
)

// localWorld is a set of goroutine ranks in this process.
type localWorld struct {
	procs  []localProc
	exit   func(code int) // what Abort does; nil: fail the world and end the goroutine
	failed chan struct{}  // closed when a rank failed
	once   sync.Once
	cause  error // set before failed is closed
}

// localProc is what one rank keeps: a lock, and the goroutines of the rank that wait for a message or a completion.
type localProc struct {
	mu      sync.Mutex
	waiters []chan struct{}
}

// newLocal makes n ranks and returns the communicator of each.
func newLocal(n int, exit func(int)) (*localWorld, []*local) {
	w := &localWorld{procs: make([]localProc, n), failed: make(chan struct{}), exit: exit}
	return w, newGroup(w, true).comms()
}

// fail ends the world: every blocked call and every later one returns an error.
func (w *localWorld) fail(err error) {
	w.once.Do(func() {
		w.cause = err
		close(w.failed)
	})
}

func (w *localWorld) cancelled(op string) error {
	return errf(op, ErrCancelled, "cancelled, because of %v", w.cause)
}

// alive returns the error of a call in a world that has failed.
func (w *localWorld) alive(op string) error {
	select {
	case <-w.failed:
		return w.cancelled(op)
	default:
		return nil
	}
}

// localGroup is the part of an in-process communicator that its ranks share.
type localGroup struct {
	world *localWorld
	root  bool // the first communicator, which cannot be freed
	boxes [numPlanes][]localBox

	mu   sync.Mutex
	open []*round // the collective calls that some ranks have still to enter
	base uint64   // number of the first of them
}

// The planes of a communicator: messages of one never match receives of another.
const (
	userPlane = iota
	systemPlane
	numPlanes
)

func newGroup(w *localWorld, root bool) *localGroup {
	g := &localGroup{world: w, root: root}
	for i := range g.boxes {
		g.boxes[i] = make([]localBox, len(w.procs))
	}
	return g
}

func (g *localGroup) comms() []*local {
	list := make([]*local, len(g.world.procs))
	for i := range list {
		c := &local{g: g, w: g.world, proc: &g.world.procs[i]}
		c.self, c.rank, c.size = c, i, len(list)
		list[i] = c
	}
	return list
}

// local is the communicator of one goroutine rank.
type local struct {
	g    *localGroup
	w    *localWorld
	proc *localProc
	seq  uint64 // collective calls entered; under the lock of the group
	endpoint
}

// Serial returns a communicator of one rank. It needs no MPI library. Abort exits the process.
func Serial() Comm {
	_, c := newLocal(1, os.Exit)
	return c[0]
}

func (c *local) Barrier() error { return c.BarrierContext(context.Background()) }

func (c *local) BarrierContext(ctx context.Context) error {
	_, err := c.meet(ctx, call{op: "barrier"}, nil, nil)
	return err
}

// Node has all ranks.
func (c *local) Node() (first, ranks int) { return 0, c.size }

func (c *local) Dup() (Comm, error) {
	r, err := c.meet(context.Background(), call{op: "dup"}, nil, func(r *round) { r.comms = newGroup(c.w, false).comms() })
	if err != nil {
		return nil, err
	}
	return r.comms[c.rank], nil
}

func (c *local) Free() error {
	if c.g.root {
		return errf("free", ErrComm, "the first communicator cannot be freed")
	}
	_, err := c.meet(context.Background(), call{op: "free"}, nil, nil)
	c.freed.Store(true)
	return err
}

func (c *local) Abort(code int) {
	if c.w.exit != nil {
		c.w.exit(code)
	}
	c.w.fail(&RankError{Rank: c.rank, Err: &AbortError{ExitCode: code}})
	runtime.Goexit()
}
