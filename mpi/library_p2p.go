//go:build cgo && !nompi

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"encoding/binary"
	"runtime"
	"slices"
)

// A message of at most headSize bytes is one MPI message. A longer one is a head and a body:
//
//	head   user's plane, user's tag    16 bytes (total length, body tag; little-endian uint64), first headSize bytes
//	body   system plane, body tag      the remaining bytes, in pieces of at most chunk bytes
//
// A head is longer than any short message, so a receiver can tell them apart. Only heads are matched, by wildcards and in order. A body's
// tag is unique among the long messages that the rank sends at a time, so bodies cannot be confused even if several goroutines receive at
// once. Its pieces have known lengths and are received in place.
const headBytes = 16 + headSize

// libRequest is the MPI part of a request. It is guarded by the library's lock.
type libRequest struct {
	c         *mpiComm
	plane     int
	from, tag int             // what a receive accepts
	matched   bool            // the receive has a message
	handles   []C.MPI_Request // operations in progress; nil entries do not occur
	head      []byte          // head of a long message, or a short message
	inBody    bool            // a receive's body pieces are in progress
	pin       runtime.Pinner
	slot      int // place in library.open
}

// track makes a request. The library keeps it, and so its memory, until it is complete.
func (c *mpiComm) track(op string, plane int) *Request {
	r := &Request{op: op, lib: &libRequest{c: c, plane: plane, slot: len(c.l.open)}}
	c.l.open = append(c.l.open, r)
	return r
}

func (q *libRequest) end(r *Request, err error) {
	if err != nil {
		r.data, r.err = nil, err
	}
	q.pin.Unpin()
	l := q.c.l
	l.moving -= len(q.handles)
	q.head, q.handles = nil, nil
	r.done = true
	last := l.open[len(l.open)-1]
	l.open[q.slot], last.lib.slot = last, q.slot
	l.open[len(l.open)-1] = nil
	l.open = l.open[:len(l.open)-1]
}

// progress advances all operations of the rank, no matter which one a goroutine waits for: otherwise a rank that waits in one call would
// delay messages of others. The lock is held.
func (l *library) progress() {
	l.waiting = slices.DeleteFunc(l.waiting, func(p *mpiPlane) bool {
		p.match()
		return len(p.pending) == 0
	})
	for i := len(l.open) - 1; i >= 0; i-- { // step removes at most request i, and moves a later one to its place
		l.open[i].lib.step(l.open[i])
	}
}

func (c *mpiComm) send(plane int, b []byte, to, tag int) *Request {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	r := c.track("send", plane)
	q := r.lib
	r.st = Status{Source: to, Tag: tag, Len: len(b)}
	rc := C.int(C.MPI_SUCCESS)
	if len(b) <= headSize {
		rc = q.post(b, to, tag, c.plane[plane].h)
	} else {
		id := c.l.nextBody()
		q.head = make([]byte, headBytes)
		binary.LittleEndian.PutUint64(q.head, uint64(len(b)))
		binary.LittleEndian.PutUint64(q.head[8:], uint64(id))
		copy(q.head[16:], b)
		rc = q.post(q.head, to, tag, c.plane[plane].h)
		for at := headSize; at < len(b) && rc == C.MPI_SUCCESS; {
			n := min(c.l.chunk, len(b)-at)
			rc = q.post(b[at:at+n], to, id, c.plane[systemPlane].h)
			at += n
		}
	}
	if rc != C.MPI_SUCCESS {
		q.end(r, c.l.failure("send", rc))
		return r
	}
	if len(q.handles) == 0 {
		q.end(r, nil)
	}
	C.cop_ring(c.node[to])
	return r
}

// post starts one MPI send.
func (q *libRequest) post(b []byte, to, tag int, h C.MPI_Comm) C.int {
	var req C.MPI_Request
	var done C.int
	rc := C.cop_isend(pin(&q.pin, b), C.int(len(b)), C.int(to), C.int(tag), h, &req, &done)
	if rc == C.MPI_SUCCESS && done == 0 {
		q.started(req)
	}
	return rc
}

// nextBody returns the tag for the next body, in turn. There are at least 31744.
func (l *library) nextBody() int {
	id := l.nextID
	l.nextID++
	if l.nextID > l.ids {
		l.nextID = firstID
	}
	return id
}

// receive posts a receive. It is pending until match finds its message.
func (c *mpiComm) receive(plane, from, tag int) *Request {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	r := c.track("recv", plane)
	r.lib.from, r.lib.tag = from, tag
	p := &c.plane[plane]
	p.pending = append(p.pending, r)
	if len(p.pending) == 1 && !slices.Contains(c.l.waiting, p) {
		c.l.waiting = append(c.l.waiting, p)
	}
	return r
}

// overlaps returns whether a message could match both receives.
func overlaps(from, tag, from2, tag2 int) bool {
	return (from == from2 || from == AnySource || from2 == AnySource) &&
		(tag == tag2 || tag == AnyTag || tag2 == AnyTag)
}

// blocked returns whether one of the first n pending receives could take a message that matches (from, tag).
func (p *mpiPlane) blocked(n, from, tag int) bool {
	return slices.ContainsFunc(p.pending[:n], func(r *Request) bool {
		return overlaps(r.lib.from, r.lib.tag, from, tag)
	})
}

// match gives arrived messages to the pending receives, in the order in which these were posted.
func (p *mpiPlane) match() {
	for i := 0; i < len(p.pending); {
		r := p.pending[i]
		if p.blocked(i, r.lib.from, r.lib.tag) || !r.lib.c.probe(r) {
			i++
			continue
		}
		p.pending = slices.Delete(p.pending, i, i+1)
	}
}

// probe looks for a message for r and starts to receive it. It returns whether r is no longer pending: it has a message or an error.
func (c *mpiComm) probe(r *Request) bool {
	q := r.lib
	var found, src, tag, n C.int
	var msg C.MPI_Message
	rc := C.cop_improbe(C.int(q.from), C.int(q.tag), c.plane[q.plane].h, &msg, &found, &src, &tag, &n)
	if rc != C.MPI_SUCCESS {
		q.end(r, c.l.failure("recv", rc))
		return true
	}
	if found == 0 {
		return false
	}
	q.matched = true
	q.head = make([]byte, int(n))
	r.st = Status{Source: int(src), Tag: int(tag), Len: int(n)}
	var req C.MPI_Request
	var done C.int
	rc = C.cop_imrecv(pin(&q.pin, q.head), n, &msg, &req, &done)
	switch {
	case rc != C.MPI_SUCCESS:
		q.end(r, c.l.failure("recv", rc))
	case done == 0:
		q.started(req)
	default:
		c.gotHead(r)
	}
	return true
}

// gotHead continues a receive whose first MPI message has arrived.
func (c *mpiComm) gotHead(r *Request) {
	q := r.lib
	if len(q.head) <= headSize {
		r.data = q.head
		q.end(r, nil)
		return
	}
	total := binary.LittleEndian.Uint64(q.head)
	id := binary.LittleEndian.Uint64(q.head[8:])
	if len(q.head) != headBytes || total <= headSize || uint64(int(total)) != total || int(total) < 0 ||
		id < firstID || id > uint64(c.l.ids) {
		q.end(r, errf("recv", ErrInternal, "message of %d bytes from rank %d is not one of this package", len(q.head), r.st.Source))
		return
	}
	r.data = make([]byte, int(total))
	r.st.Len = int(total)
	copy(r.data, q.head[16:])
	q.inBody = true
	for at := headSize; at < len(r.data); {
		n := min(c.l.chunk, len(r.data)-at)
		var req C.MPI_Request
		rc := C.cop_irecv(pin(&q.pin, r.data[at:at+n]), C.int(n), C.int(r.st.Source), C.int(id), c.plane[systemPlane].h, &req)
		if rc != C.MPI_SUCCESS {
			q.end(r, c.l.failure("recv", rc))
			return
		}
		q.started(req)
		at += n
	}
	C.cop_ring(c.node[r.st.Source]) // the sender may be waiting for this
}

// started adds an operation in progress.
func (q *libRequest) started(req C.MPI_Request) {
	q.handles = append(q.handles, req)
	q.c.l.moving++
}

// step advances a request that has its message. The lock is held.
func (q *libRequest) step(r *Request) {
	if r.done || r.op == "recv" && !q.matched {
		return
	}
	for len(q.handles) > 0 {
		last := len(q.handles) - 1
		var done C.int
		if rc := C.cop_test(&q.handles[last], &done); rc != C.MPI_SUCCESS {
			q.end(r, q.c.l.failure(r.op, rc))
			return
		}
		if done == 0 {
			return
		}
		q.handles = q.handles[:last]
		q.c.l.moving--
	}
	if r.op == "recv" && !q.inBody {
		q.c.gotHead(r)
		return
	}
	if q.inBody {
		C.cop_ring(q.c.node[r.st.Source])
	}
	q.end(r, nil)
}

func (c *mpiComm) try(from, tag int) *Request {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	p := &c.plane[userPlane]
	p.match()
	if p.blocked(len(p.pending), from, tag) {
		return nil
	}
	r := c.track("recv", userPlane)
	r.lib.from, r.lib.tag = from, tag
	if !c.probe(r) {
		r.lib.end(r, nil)
		return nil
	}
	return r
}

// owns excludes requests of other kinds of communicators.
func (c *mpiComm) owns(r *Request) bool { return r.lib != nil && r.lib.c.l == c.l }

func (c *mpiComm) await(_ string, w *all) error {
	return c.l.poll(context.Background(), c.l.allRung, func() (bool, error) { return w.there(), nil })
}
