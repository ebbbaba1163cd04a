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
	p.poke()
	p.mu.Unlock()
}

// start sends b. It returns a complete request when the message was delivered or copied.
func (c *local) start(plane int, b []byte, to, tag int) *Request {
	req := &Request{op: "send", st: Status{Source: to, Tag: tag, Len: len(b)}, local: &localRequest{proc: c.proc}}
	dst, box := &c.w.procs[c.g.members[to]], &c.g.boxes[plane][to]
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

// post starts a receive: it takes a message that is there, or joins the posted receives.
func (c *local) post(plane, from, tag int) *Request {
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

// await blocks until ready, which is called under the lock of the rank, holds.
func (c *local) await(op string, ready func() bool) error {
	c.proc.mu.Lock()
	if ready() {
		c.proc.mu.Unlock()
		return nil
	}
	wake := make(chan struct{}, 1)
	c.proc.waiters = append(c.proc.waiters, wake)
	var err error
	for !ready() && err == nil {
		c.proc.mu.Unlock()
		select {
		case <-wake:
		case <-c.w.failed:
			err = c.w.cancelled(op)
		}
		c.proc.mu.Lock()
	}
	if err != nil && ready() {
		err = nil
	}
	i := slices.Index(c.proc.waiters, wake)
	c.proc.waiters = slices.Delete(c.proc.waiters, i, i+1)
	c.proc.mu.Unlock()
	return err
}

func (c *local) usable(op string) error {
	if c.freed.Load() {
		return errf(op, ErrComm, "the communicator was freed")
	}
	return c.w.alive(op)
}

func (c *local) Isend(b []byte, to, tag int) (*Request, error) {
	if err := checkSend("send", to, tag, c.Size()); err != nil {
		return nil, err
	}
	if err := c.usable("send"); err != nil {
		return nil, err
	}
	c.proc.stats.sent(len(b))
	return c.start(userPlane, b, to, tag), nil
}

func (c *local) Send(b []byte, to, tag int) error {
	req, err := c.Isend(b, to, tag)
	if err != nil {
		return err
	}
	return c.await("send", func() bool { return req.done })
}

func (c *local) Irecv(from, tag int) (*Request, error) {
	if err := checkRecv("recv", from, tag, c.Size()); err != nil {
		return nil, err
	}
	if err := c.usable("recv"); err != nil {
		return nil, err
	}
	return c.post(userPlane, from, tag), nil
}

func (c *local) Recv(from, tag int) ([]byte, Status, error) {
	req, err := c.Irecv(from, tag)
	if err != nil {
		return nil, Status{}, err
	}
	if err := c.Wait(req); err != nil {
		return nil, Status{}, err
	}
	return req.data, req.st, nil
}

func (c *local) TryRecv(from, tag int) ([]byte, Status, bool, error) {
	if err := checkRecv("recv", from, tag, c.Size()); err != nil {
		return nil, Status{}, false, err
	}
	if err := c.usable("recv"); err != nil {
		return nil, Status{}, false, err
	}
	b, st, ok := c.take(userPlane, from, tag)
	if ok {
		c.proc.stats.received(len(b))
	}
	return b, st, ok, nil
}

func (c *local) Wait(reqs ...*Request) error {
	if err := c.checkRequests(reqs); err != nil {
		return err
	}
	if err := c.await("wait", func() bool {
		return !slices.ContainsFunc(reqs, func(r *Request) bool { return r != nil && !r.done })
	}); err != nil {
		return err
	}
	return handOut(reqs, &c.proc.stats)
}

func (c *local) WaitSome(reqs []*Request) ([]int, error) {
	if err := c.checkRequests(reqs); err != nil {
		return nil, err
	}
	var list []int
	err := c.await("wait", func() (some bool) {
		list, some = ended(reqs, list[:0])
		return some
	})
	if err != nil {
		return nil, err
	}
	return list, handOut(pick(reqs, list), &c.proc.stats)
}

// checkRequests refuses requests of another rank or of another kind of communicator, which would never complete here.
func (c *local) checkRequests(reqs []*Request) error {
	for i, r := range reqs {
		if r != nil && (r.lib != nil || r.local == nil || r.local.proc != c.proc) {
			return errf("wait", ErrRequest, "request %d belongs to another rank or communicator", i)
		}
	}
	return nil
}

func (c *local) sysSend(b []byte, to, tag int) error {
	if err := c.usable("send"); err != nil {
		return err
	}
	c.proc.stats.sent(len(b))
	req := c.start(systemPlane, b, to, tag)
	return c.await("send", func() bool { return req.done })
}

func (c *local) sysRecv(from, tag int) ([]byte, error) {
	if err := c.usable("recv"); err != nil {
		return nil, err
	}
	req := c.post(systemPlane, from, tag)
	if err := c.await("recv", func() bool { return req.done }); err != nil {
		return nil, err
	}
	c.proc.stats.received(len(req.data))
	return req.data, nil
}

// copyOf is never nil, so that an empty message differs from none.
func copyOf(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }
