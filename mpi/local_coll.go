package mpi

import "context"

// call is what all ranks of one collective call must have in common.
type call struct {
	op   string
	root int
	red  Op
	n    int // length of a reduction
}

// round is one collective call of a group. Ranks put their part in under the lock of the group; the last one computes
// the result and closes done, so that a call costs each rank one lock and one wake-up, whatever the number of ranks.
type round struct {
	call
	arrived int
	err     error
	done    chan struct{}

	bytes [][]byte // one part per rank
	ints  []int64  // the running result of a reduction
	comms []*local
	file  *sharedFile
}

// meet is one collective call: deposit runs for every rank, finish once after the last, both under the group's lock.
func (c *local) meet(ctx context.Context, what call, deposit, finish func(*round)) (*round, error) {
	if err := c.enter(what.op); err != nil {
		return nil, err
	}
	defer c.leave()
	g := c.g
	g.mu.Lock()
	k := int(c.seq - g.base) // above 0 only after a barrier that was given up
	c.seq++
	for len(g.open) <= k {
		g.open = append(g.open, &round{call: what, done: make(chan struct{})})
	}
	r := g.open[k]
	if r.call != what {
		r.err = errf(what.op, ErrMismatch, "rank %d calls %s while others call %s", c.rank, what, r.call)
	} else if deposit != nil {
		deposit(r)
	}
	r.arrived++
	if r.arrived == c.size {
		g.open[0] = nil
		g.open = g.open[1:] // rounds are completed in order
		g.base++
		if r.err == nil && finish != nil {
			finish(r)
		}
		close(r.done)
	}
	g.mu.Unlock()
	return r, c.waitRound(ctx, r)
}

func (c *local) waitRound(ctx context.Context, r *round) error {
	var err error
	select {
	case <-r.done:
		return r.err
	case <-c.w.failed:
		err = c.w.cancelled(r.op)
	case <-ctx.Done():
		err = &Error{Op: r.op, Class: ErrCancelled, Msg: "given up: " + ctx.Err().Error(), err: ctx.Err()}
	}
	select {
	case <-r.done: // complete after all: every rank must see the same
		return r.err
	default:
		return err
	}
}

func (w call) String() string {
	switch {
	case w.n > 0:
		return w.op + " " + w.red.String() + " of " + itoa(w.n) + " values"
	case w.root > 0:
		return w.op + " from root " + itoa(w.root)
	}
	return w.op
}

func (c *local) bcast(b []byte, root int) ([]byte, error) {
	var shared [][]byte
	if c.rank == root {
		shared = [][]byte{copyOf(b)}
	}
	r, err := c.meet(context.Background(), call{op: "bcast", root: root}, func(r *round) {
		if shared != nil {
			r.bytes = shared
		}
	}, nil)
	if err != nil {
		return nil, err
	}
	if c.rank == root {
		return b, nil
	}
	return r.bytes[0], nil
}

// gather puts every rank's bytes into one list, which those who want it share.
func (c *local) gather(op string, b []byte, root int) ([][]byte, error) {
	own := copyOf(b)
	r, err := c.meet(context.Background(), call{op: op, root: root}, func(r *round) {
		if r.bytes == nil {
			r.bytes = make([][]byte, c.size)
		}
		r.bytes[c.rank] = own
	}, nil)
	if err != nil {
		return nil, err
	}
	if root >= 0 && root != c.rank {
		return nil, nil
	}
	return r.bytes, nil
}

func (c *local) reduce(v []int64, op Op) error { return c.reduceAs("allreduce", v, op) }

func (c *local) reduceAs(name string, v []int64, op Op) error {
	if op >= numOps {
		return errf(name, ErrOp, "unknown reduction %d", op)
	}
	in := v
	if op == Sum {
		in = splitSum(v)
	}
	r, err := c.meet(context.Background(), call{op: name, red: op, n: len(v)}, func(r *round) {
		if r.arrived == 0 {
			r.ints = append(make([]int64, 0, len(in)), in...)
			return
		}
		combine(r.ints, in, op)
	}, nil)
	if err != nil {
		return err
	}
	return storeReduced(v, r.ints, op)
}

func (c *local) reduceMin(v int64) (int64, error) {
	w := []int64{v}
	err := c.reduceAs("agree", w, Min)
	return w[0], err
}
