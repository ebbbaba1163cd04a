package mpi

import "sync/atomic"

// core is what each kind of communicator implements itself. Collective methods run between enter and leave of the endpoint.
type core interface {
	Comm
	plane
	// alive returns an error after another rank has failed.
	alive(op string) error

	// send starts a message. receive posts a receive.
	send(plane int, b []byte, to, tag int) *Request
	receive(plane, from, tag int) *Request
	// try receives a user message that has arrived; nil if there is none.
	try(from, tag int) *Request
	// owns returns whether this communicator can wait for a request.
	owns(r *Request) bool
	// await blocks until the requests are complete.
	await(op string, w *all) error

	bcast(b []byte, root int) ([]byte, error)
	// gather returns the result on all ranks if root is negative.
	gather(op string, b []byte, root int) ([][]byte, error)
	reduce(v []int64, op Op) error
}

// all are the requests of one Wait. The first n are complete or nil.
type all struct {
	reqs []*Request
	n    int
}

// there returns whether all are complete. The caller holds the lock of the requests.
func (w *all) there() bool {
	for w.n < len(w.reqs) && (w.reqs[w.n] == nil || w.reqs[w.n].done) {
		w.n++
	}
	return w.n == len(w.reqs)
}

// endpoint is the common part of all communicators: it checks arguments and calls core.
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

// wait waits for all requests and returns the first error in their order. It skips nil.
func (e *endpoint) wait(op string, reqs ...*Request) error {
	if err := e.self.await(op, &all{reqs: reqs}); err != nil {
		return err
	}
	for _, r := range reqs {
		if r != nil && r.err != nil {
			return r.err
		}
	}
	return nil
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
	return e.wait("send", r)
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

func (e *endpoint) Recv(from, tag int) ([]byte, Status, error) {
	if err := e.checkRecv(from, tag); err != nil {
		return nil, Status{}, err
	}
	r := e.self.receive(userPlane, from, tag)
	if err := e.wait("wait", r); err != nil {
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
	if err := e.wait("wait", r); err != nil { // the message has arrived: this waits for the transfer only
		return nil, Status{}, false, err
	}
	return r.data, r.st, true, nil
}

func (e *endpoint) Wait(reqs ...*Request) error {
	for i, r := range reqs {
		if r != nil && !e.self.owns(r) { // it would never complete
			return errf("wait", ErrRequest, "request %d belongs to another rank or kind of communicator", i)
		}
	}
	return e.wait("wait", reqs...)
}

func (e *endpoint) sysSend(b []byte, to, tag int) error {
	if err := e.usable("send"); err != nil {
		return err
	}
	return e.wait("send", e.self.send(systemPlane, b, to, tag))
}

func (e *endpoint) sysRecv(from, tag int) ([]byte, error) {
	if err := e.usable("recv"); err != nil {
		return nil, err
	}
	r := e.self.receive(systemPlane, from, tag)
	err := e.wait("recv", r)
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
