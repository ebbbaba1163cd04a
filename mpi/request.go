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

// handOut marks complete requests as handed out. It returns the first error in their order.
func handOut(reqs []*Request) error {
	var first error
	for _, r := range reqs {
		if r == nil {
			continue
		}
		r.reported = true
		if first == nil {
			first = r.err
		}
	}
	return first
}
