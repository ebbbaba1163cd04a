package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
)

// localWorld is a set of ranks that are goroutines of this process.
type localWorld struct {
	procs  []localProc
	exit   func(code int) // what Abort does; nil: fail the world and end the goroutine
	failed chan struct{}  // closed when a rank failed
	once   sync.Once
	cause  error // set before failed is closed
}

// localProc is the state of one rank: a lock, and the goroutines that wait for a message or a completion.
type localProc struct {
	mu      sync.Mutex
	waiters []chan struct{}
}

// newLocal makes n ranks and returns the communicator of each.
func newLocal(n int, exit func(int)) (*localWorld, []*local) {
	w := &localWorld{procs: make([]localProc, n), failed: make(chan struct{}), exit: exit}
	return w, newGroup(w, true).comms()
}

// fail ends the world: blocked and later calls return an error.
func (w *localWorld) fail(err error) {
	w.once.Do(func() {
		w.cause = err
		close(w.failed)
	})
}

func (w *localWorld) cancelled(op string) error {
	return errf(op, ErrCancelled, "cancelled, because of %v", w.cause)
}

func (w *localWorld) alive(op string) error {
	select {
	case <-w.failed:
		return w.cancelled(op)
	default:
		return nil
	}
}

// localGroup is the state of an in-process communicator that its ranks share.
type localGroup struct {
	world *localWorld
	root  bool // the first communicator, which cannot be freed
	boxes [numPlanes][]localBox

	mu   sync.Mutex
	open []*round // collective calls that some ranks have not entered yet
	base uint64   // number of the first of them
}

// The planes of a communicator. Messages of one never match receives of another.
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
	seq  uint64 // collective calls entered; guarded by the group's lock
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

// call are the arguments of a collective call that must be the same on all ranks.
type call struct {
	op   string
	root int
	red  Op
	n    int // length of a reduction
}

// round is one collective call of a group. Each rank adds its part under the group's lock; the last one computes the result and closes
// done. So a call costs each rank one lock and one wake-up.
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

// meet makes one collective call: deposit runs for every rank, finish once after the last, both under the group's lock.
func (c *local) meet(ctx context.Context, what call, deposit, finish func(*round)) (*round, error) {
	if err := c.enter(what.op); err != nil {
		return nil, err
	}
	defer c.leave()
	g := c.g
	g.mu.Lock()
	k := int(c.seq - g.base) // above 0 only after a barrier whose context ended
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
	case <-r.done: // complete meanwhile: every rank must return the same
		return r.err
	default:
		return err
	}
}

func (w call) String() string {
	switch {
	case w.n > 0:
		return fmt.Sprintf("%s %s of %d values", w.op, w.red, w.n)
	case w.root > 0:
		return fmt.Sprintf("%s from root %d", w.op, w.root)
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

// gather collects every rank's bytes in one list, which the receiving ranks share.
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

// sharedFile is the open file of all in-process ranks.
type sharedFile struct {
	f    *os.File
	once sync.Once
	err  error
}

// localFile is a File over package os.
type localFile struct {
	c    *local
	name string
	s    *sharedFile
}

func (c *local) CreateFile(name string, _ map[string]string) (File, error) {
	var own *sharedFile
	var oerr error
	if c.rank == 0 && c.usable("open") == nil {
		f, err := os.Create(name)
		if oerr = fileError("open", name, -1, err); err == nil {
			own = &sharedFile{f: f}
		}
	}
	r, err := c.meet(context.Background(), call{op: "open " + name}, func(r *round) {
		if own != nil {
			r.file = own
		}
	}, nil)
	if err == nil {
		err = c.Agree(oerr)
	}
	if err != nil {
		if own != nil {
			err = errors.Join(err, own.f.Close())
		}
		return nil, err
	}
	return &localFile{c: c, name: name, s: r.file}, nil
}

func (f *localFile) WriteAt(b []byte, off int64) error {
	if err := checkRange(f.name, b, off); err != nil {
		return err
	}
	n, err := f.s.f.WriteAt(b, off)
	if err != nil {
		return fileError("write", f.name, off+int64(n), err)
	}
	return nil
}

func (f *localFile) WriteAtAll(b []byte, off int64) error { return f.c.Agree(f.WriteAt(b, off)) }

func (f *localFile) Sync() error {
	return f.once("sync", func() error { return fileError("sync", f.name, -1, f.s.f.Sync()) })
}

func (f *localFile) Close() error {
	return f.once("close", func() error {
		f.s.once.Do(func() { f.s.err = fileError("close", f.name, -1, f.s.f.Close()) })
		return f.s.err
	})
}

// once runs act on rank 0 after all ranks have arrived, and agrees on its error.
func (f *localFile) once(op string, act func() error) error {
	if _, err := f.c.meet(context.Background(), call{op: op + " " + f.name}, nil, nil); err != nil {
		return err
	}
	var err error
	if f.c.rank == 0 {
		err = act()
	}
	return f.c.Agree(err)
}

// eagerLimit is the most bytes of a message that an in-process Send copies before it returns. A longer one waits for its receiver and is
// copied once. This limits memory, and shows the same deadlocks as an MPI library.
const eagerLimit = 64 << 10

// localBox has the messages of one plane for one rank. The lock of that rank's localProc guards it.
type localBox struct {
	queue  []envelope // not received yet, in order of arrival
	posted []*Request // without a message, in order of posting
}

// envelope is a message in progress. A long one refers to the sender's buffer until sender is completed.
type envelope struct {
	src, tag int
	data     []byte
	sender   *Request
}

// localRequest is the in-process part of a request.
type localRequest struct {
	proc      *localProc // rank that waits
	from, tag int        // what a receive accepts
}

func accepts(from, tag, src, msgTag int) bool {
	return (from == AnySource || from == src) && (tag == AnyTag || tag == msgTag)
}

// complete completes a request and wakes its rank. The caller does not hold the lock.
func (r *Request) complete(data []byte, st Status) {
	p := r.local.proc
	p.mu.Lock()
	r.data, r.st, r.done = data, st, true
	for _, w := range p.waiters {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	p.mu.Unlock()
}

// send returns a request that is complete if the message was delivered or copied.
func (c *local) send(plane int, b []byte, to, tag int) *Request {
	req := &Request{op: "send", st: Status{Source: to, Tag: tag, Len: len(b)}, local: &localRequest{proc: c.proc}}
	dst, box := &c.w.procs[to], &c.g.boxes[plane][to]
	env := envelope{src: c.rank, tag: tag}
	dst.mu.Lock()
	for i, r := range box.posted {
		if accepts(r.local.from, r.local.tag, c.rank, tag) {
			box.posted = slices.Delete(box.posted, i, i+1)
			dst.mu.Unlock()
			req.done = true
			r.complete(copyOf(b), Status{Source: c.rank, Tag: tag, Len: len(b)})
			return req
		}
	}
	if len(b) <= eagerLimit {
		env.data, req.done = copyOf(b), true
	} else {
		env.data, env.sender = b, req
	}
	box.queue = append(box.queue, env)
	dst.mu.Unlock()
	return req
}

// take removes the first matching message from the queue and returns its bytes.
func (c *local) take(plane, from, tag int) ([]byte, Status, bool) {
	box := &c.g.boxes[plane][c.rank]
	c.proc.mu.Lock()
	for i := range box.queue {
		env := box.queue[i]
		if !accepts(from, tag, env.src, env.tag) {
			continue
		}
		box.remove(i)
		c.proc.mu.Unlock()
		st := Status{Source: env.src, Tag: env.tag, Len: len(env.data)}
		if env.sender == nil {
			return env.data, st, true
		}
		data := copyOf(env.data)
		env.sender.complete(nil, env.sender.st)
		return data, st, true
	}
	c.proc.mu.Unlock()
	return nil, Status{}, false
}

// remove removes message i. For the oldest one, the usual case, it moves nothing.
func (b *localBox) remove(i int) {
	if i > 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
		return
	}
	b.queue[0] = envelope{}
	b.queue = b.queue[1:]
	if len(b.queue) == 0 {
		b.queue = nil
	}
}

// receive takes a message that has arrived, or posts a receive.
func (c *local) receive(plane, from, tag int) *Request {
	req := &Request{op: "recv", local: &localRequest{proc: c.proc, from: from, tag: tag}}
	for {
		if b, st, ok := c.take(plane, from, tag); ok {
			req.data, req.st, req.done = b, st, true
			return req
		}
		box := &c.g.boxes[plane][c.rank]
		c.proc.mu.Lock()
		arrived := slices.ContainsFunc(box.queue, func(e envelope) bool { return accepts(from, tag, e.src, e.tag) })
		if !arrived {
			box.posted = append(box.posted, req)
		}
		c.proc.mu.Unlock()
		if !arrived {
			return req
		}
	}
}

// await blocks until all requests are complete.
func (c *local) await(op string, w *all) error {
	c.proc.mu.Lock()
	if w.there() {
		c.proc.mu.Unlock()
		return nil
	}
	wake := make(chan struct{}, 1)
	c.proc.waiters = append(c.proc.waiters, wake)
	var err error
	for !w.there() && err == nil {
		c.proc.mu.Unlock()
		select {
		case <-wake:
		case <-c.w.failed:
			err = c.w.cancelled(op)
		}
		c.proc.mu.Lock()
	}
	if err != nil && w.there() {
		err = nil
	}
	i := slices.Index(c.proc.waiters, wake)
	c.proc.waiters = slices.Delete(c.proc.waiters, i, i+1)
	c.proc.mu.Unlock()
	return err
}

func (c *local) alive(op string) error { return c.w.alive(op) }

func (c *local) try(from, tag int) *Request {
	b, st, ok := c.take(userPlane, from, tag)
	if !ok {
		return nil
	}
	return &Request{op: "recv", data: b, st: st, done: true}
}

// owns excludes requests of other ranks and of other kinds of communicators.
func (c *local) owns(r *Request) bool {
	return r.lib == nil && r.local != nil && r.local.proc == c.proc
}

// copyOf never returns nil, so an empty message differs from none.
func copyOf(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }
