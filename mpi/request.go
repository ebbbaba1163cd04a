package mpi

// Request is a started Isend or Irecv. It belongs to the communicator that made it and is completed by Wait or
// WaitSome of that communicator or a relative. A request must be waited for.
type Request struct {
	op       string
	data     []byte
	st       Status
	err      error
	done     bool // set under the lock of the implementation
	reported bool // handed out by WaitSome or Wait

	local *localRequest // in-process
	lib   *libRequest   // MPI
}

// Data returns the received bytes after completion, and nil for a send.
func (r *Request) Data() []byte { return r.data }

// Status describes the received message after completion. For a send it holds the receiver as Source, the tag and the
// length.
func (r *Request) Status() Status { return r.st }

// Err returns the error of a completed request.
func (r *Request) Err() error { return r.err }

// ended appends the indexes of the requests that are complete and were not handed out. It tells whether there is nothing
// to wait for: one of them, or none that is open. The lock of the implementation is held.
func ended(reqs []*Request, list []int) (_ []int, enough bool) {
	open := false
	for i, r := range reqs {
		switch {
		case r == nil || r.reported:
		case r.done:
			list = append(list, i)
		default:
			open = true
		}
	}
	return list, len(list) > 0 || !open
}

// pick returns the requests with the given indexes.
func pick(reqs []*Request, list []int) []*Request {
	picked := make([]*Request, len(list))
	for k, i := range list {
		picked[k] = reqs[i]
	}
	return picked
}

// handOut marks complete requests as handed out and counts what was received. It returns the first error in their order.
func handOut(reqs []*Request, stats *counters) error {
	var first error
	for _, r := range reqs {
		if r == nil {
			continue
		}
		if !r.reported && r.op == "recv" && r.err == nil {
			stats.received(len(r.data))
		}
		r.reported = true
		if first == nil {
			first = r.err
		}
	}
	return first
}
