package mpi

import "slices"

// eagerLimit is the length in bytes up to which an in-process Send copies its message and returns. Longer ones wait for
// the receiver and are copied once, which bounds memory and shows the same deadlocks as an MPI library.
const eagerLimit = 64 << 10

// localBox holds the messages of one plane that wait at one rank. It is guarded by the lock of that rank's localProc.
type localBox struct {
	queue  []envelope // arrived and not yet received, in order
	posted []*Request // receives without a message, in order
}

// envelope is a message on its way. A long one refers to the sender's buffer until sender is completed.
type envelope struct {
	src, tag int
	data     []byte
	sender   *Request
}

// localRequest is the in-process part of a request.
type localRequest struct {
	proc      *localProc // the rank that waits
	from, tag int        // what a posted receive accepts
}

func accepts(from, tag, src, msgTag int) bool {
	return (from == AnySource || from == src) && (tag == AnyTag || tag == msgTag)
}

// complete finishes a request and wakes its rank. The lock is not held.
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

// send returns a complete request when the message was delivered or copied.
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

// remove takes message i out. The usual case, the oldest one, moves nothing.
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

// receive takes a message that is there, or joins the posted receives.
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

// await blocks until what is waited for is there.
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

// owns refuses requests of another rank or of another kind of communicator.
func (c *local) owns(r *Request) bool {
	return r.lib == nil && r.local != nil && r.local.proc == c.proc
}

// copyOf is never nil, so that an empty message differs from none.
func copyOf(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }
