package mpi

import "sync/atomic"

// core is what a kind of communicator does in its own way. Collective calls are between enter and leave of the endpoint.
type core interface {
	Comm
	plane
	// alive returns the error of all calls after another rank failed.
	alive(op string) error

	// send starts a message, receive waits in line for one.
	send(plane int, b []byte, to, tag int) *Request
	receive(plane, from, tag int) *Request
	// try receives a message of the user that is there; nil if none is.
	try(from, tag int) *Request
	// owns says whether a request can be waited for here.
	owns(r *Request) bool
	// await blocks until what is waited for is there.
	await(op string, w waited) error

	bcast(b []byte, root int) ([]byte, error)
	// gather leaves the result on all ranks where root is negative.
	gather(op string, b []byte, root int) ([][]byte, error)
	reduce(v []int64, op Op) error
}

// waited is what a rank waits for. The lock of its requests is held.
type waited interface{ there() bool }

func (r *Request) there() bool { return r.done }

// all are requests, the first n of which are complete.
type all struct {
	reqs []*Request
	n    int
}

func (w *all) there() bool {
	for w.n < len(w.reqs) && (w.reqs[w.n] == nil || w.reqs[w.n].done) {
		w.n++
	}
	return w.n == len(w.reqs)
}

// some are requests, and the indexes of those that are complete and were not handed out.
type some struct {
	reqs []*Request
	list []int
}

// there tells whether there is nothing to wait for: one of them, or none that is open.
func (w *some) there() bool {
	w.list = w.list[:0]
	open := false
	for i, r := range w.reqs {
		switch {
		case r == nil || r.reported:
		case r.done:
			w.list = append(w.list, i)
		default:
			open = true
		}
	}
	return len(w.list) > 0 || !open
}

// endpoint is what communicators of both kinds do alike: they check arguments, and make calls of others.
type endpoint struct {
	self       core
	rank, size int

	inside atomic.Bool // a goroutine is in a collective call
	freed  atomic.Bool
}

func (e *endpoint) Rank() int     { return e.rank }
func (e *endpoint) Size() int     { return e.size }
func (e *endpoint) system() plane { return e.self }

func (e *endpoint) Agree(err error) error { return AgreeOn(e.self, err) }

func (e *endpoint) usable(op string) error {
	if e.freed.Load() {
		return errf(op, ErrComm, "the communicator was freed")
	}
	return e.self.alive(op)
}

// enter begins a collective call, which leave ends.
func (e *endpoint) enter(op string) error {
	if err := e.usable(op); err != nil {
		return err
	}
	if !e.inside.CompareAndSwap(false, true) {
		panic("mpi: " + op + ": two goroutines of a rank are in collective calls of one communicator")
	}
	return nil
}

func (e *endpoint) leave() { e.inside.Store(false) }

// finish waits for a request.
func (e *endpoint) finish(op string, r *Request) error {
	if err := e.self.await(op, r); err != nil {
		return err
	}
	return handOut([]*Request{r})
}

func (e *endpoint) Isend(b []byte, to, tag int) (*Request, error) {
	if err := checkPeer("send", to, e.size, false); err != nil {
		return nil, err
	}
	if err := checkTag("send", tag, false); err != nil {
		return nil, err
	}
	if err := e.usable("send"); err != nil {
		return nil, err
	}
	return e.self.send(userPlane, b, to, tag), nil
}

func (e *endpoint) Send(b []byte, to, tag int) error {
	r, err := e.Isend(b, to, tag)
	if err != nil {
		return err
	}
	return e.finish("send", r)
}

func (e *endpoint) checkRecv(from, tag int) error {
	if err := checkPeer("recv", from, e.size, true); err != nil {
		return err
	}
	if err := checkTag("recv", tag, true); err != nil {
		return err
	}
	return e.usable("recv")
}

func (e *endpoint) Irecv(from, tag int) (*Request, error) {
	if err := e.checkRecv(from, tag); err != nil {
		return nil, err
	}
	return e.self.receive(userPlane, from, tag), nil
}

func (e *endpoint) Recv(from, tag int) ([]byte, Status, error) {
	r, err := e.Irecv(from, tag)
	if err == nil {
		err = e.finish("wait", r)
	}
	if err != nil {
		return nil, Status{}, err
	}
	return r.data, r.st, nil
}

func (e *endpoint) TryRecv(from, tag int) ([]byte, Status, bool, error) {
	if err := e.checkRecv(from, tag); err != nil {
		return nil, Status{}, false, err
	}
	r := e.self.try(from, tag)
	if r == nil {
		return nil, Status{}, false, nil
	}
	if err := e.finish("wait", r); err != nil { // the message is here; only its transfer is waited for
		return nil, Status{}, false, err
	}
	return r.data, r.st, true, nil
}

// checkRequests refuses requests that would never complete here.
func (e *endpoint) checkRequests(reqs []*Request) error {
	for i, r := range reqs {
		if r != nil && !e.self.owns(r) {
			return errf("wait", ErrRequest, "request %d belongs to another rank or kind of communicator", i)
		}
	}
	return nil
}

func (e *endpoint) Wait(reqs ...*Request) error {
	if err := e.checkRequests(reqs); err != nil {
		return err
	}
	if err := e.self.await("wait", &all{reqs: reqs}); err != nil {
		return err
	}
	return handOut(reqs)
}

func (e *endpoint) WaitSome(reqs []*Request) ([]int, error) {
	if err := e.checkRequests(reqs); err != nil {
		return nil, err
	}
	w := &some{reqs: reqs}
	if err := e.self.await("wait", w); err != nil {
		return nil, err
	}
	picked := make([]*Request, len(w.list))
	for k, i := range w.list {
		picked[k] = reqs[i]
	}
	return w.list, handOut(picked)
}

func (e *endpoint) sysSend(b []byte, to, tag int) error {
	if err := e.usable("send"); err != nil {
		return err
	}
	return e.finish("send", e.self.send(systemPlane, b, to, tag))
}

func (e *endpoint) sysRecv(from, tag int) ([]byte, error) {
	if err := e.usable("recv"); err != nil {
		return nil, err
	}
	r := e.self.receive(systemPlane, from, tag)
	err := e.finish("recv", r)
	return r.data, err
}

func (e *endpoint) Bcast(b []byte, root int) ([]byte, error) {
	if err := checkRoot("bcast", root, e.size); err != nil {
		return nil, err
	}
	return e.self.bcast(b, root)
}

func (e *endpoint) Gather(b []byte, root int) ([][]byte, error) {
	if err := checkRoot("gather", root, e.size); err != nil {
		return nil, err
	}
	return e.self.gather("gather", b, root)
}

func (e *endpoint) Allgather(b []byte) ([][]byte, error) { return e.self.gather("allgather", b, -1) }

func (e *endpoint) AllreduceInt64(v []int64, op Op) error {
	return e.self.reduce(v, op)
}
