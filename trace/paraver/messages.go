package paraver

import "github.com/coppice-hpc/coppice/trace"

// A message of Extrae has four times. Logical times are those of the calls that
// start its sides, physical ones tell when it moved:
//
//	logical send      enter of the sending call
//	logical receive   enter of a call that waits for the message itself,
//	                  or leave of one that does not wait (MPI_Irecv)
//	physical receive  leave of the call in which the message is known to be there
//
// All fall on borders of calls, where another call may end or begin at the same
// tick. A side is therefore not given to a call that has its message already.

// attach gives messages of this instant to call f, which has just begun or is
// about to end.
func (d *decoder) attach(b *trace.Batch, f *frame, ends bool) {
	if f.role == 0 || len(d.waiting) == 0 {
		return
	}
	kept := d.waiting[:0]
	for _, w := range d.waiting {
		if !d.take(b, f, &w, ends) {
			kept = append(kept, w)
		}
	}
	d.waiting = kept
}

// take delivers a message if it belongs to call f.
func (d *decoder) take(b *trace.Batch, f *frame, w *waiting, ends bool) bool {
	switch w.kind {
	case sendItem:
		if f.role&sends == 0 || f.sent && f.role&many == 0 {
			return false
		}
		f.sent = true
		d.send(b, w, f.role&starts != 0)
	case postItem:
		if f.role&receives == 0 || f.posted && f.role&many == 0 || f.role&starts != 0 && !ends {
			return false
		}
		f.posted = true
		d.post(b, w, f)
	case receivedItem:
		s, known := d.state[w.id]
		switch {
		case !ends:
			return false
		case !known && f.role&receives == 0, known && s.request && f.role&completes == 0, known && !s.request && s.serial != f.serial:
			return false
		}
		d.received(b, w)
	}
	return true
}

// settle delivers the messages of this instant that no call took, in their order.
func (d *decoder) settle(b *trace.Batch) {
	for i := range d.waiting {
		w := &d.waiting[i]
		f := d.innermostMPI()
		switch w.kind {
		case sendItem:
			d.send(b, w, f != nil && f.role&starts != 0)
		case postItem:
			if f == nil && trace.Time(w.received) == d.now {
				break // outside of calls: received without having been posted
			}
			d.post(b, w, f)
		case receivedItem:
			d.received(b, w)
		}
	}
	d.waiting = d.waiting[:0]
}

// innermostMPI returns the innermost open call if it may have messages.
func (d *decoder) innermostMPI() *frame {
	if n := len(d.open); n > 0 && d.open[n-1].role != 0 {
		return &d.open[n-1]
	}
	return nil
}

// peer returns the rank and the communicator of a message's other side.
func (d *decoder) peer(task uint32) (rank, comm uint64) {
	t := &d.t.head.tasks[task]
	if t.app != d.t.head.tasks[d.task].app {
		return uint64(task), uint64(d.t.tables.universe)
	}
	return uint64(t.number), uint64(d.t.tables.messages[d.t.head.tasks[d.task].app])
}

// send delivers a send. A trace does not tell when one that does not wait is
// complete: it counts as complete when it has begun.
func (d *decoder) send(b *trace.Batch, w *waiting, nonBlocking bool) {
	rank, comm := d.peer(w.peer)
	if !nonBlocking {
		b.Append(d.now, trace.MpiSend, 0, rank, comm, uint64(w.tag), w.size)
		return
	}
	b.Append(d.now, trace.MpiIsend, 0, rank, comm, uint64(w.tag), w.size, w.id)
	b.Append(d.now, trace.MpiIsendComplete, 0, w.id)
}

// post begins a receive in call f, nil outside of calls: as a request, or by
// remembering the call that waits for it.
func (d *decoder) post(b *trace.Batch, w *waiting, f *frame) {
	if f != nil && f.role&receives != 0 && f.role&starts == 0 {
		d.state[w.id] = receiveState{serial: f.serial}
		return
	}
	d.state[w.id] = receiveState{request: true}
	b.Append(d.now, trace.MpiIrecvRequest, 0, w.id)
}

// received ends a receive.
func (d *decoder) received(b *trace.Batch, w *waiting) {
	rank, comm := d.peer(w.peer)
	s := d.state[w.id]
	delete(d.state, w.id)
	if s.request {
		b.Append(d.now, trace.MpiIrecv, 0, rank, comm, uint64(w.tag), w.size, w.id)
		return
	}
	b.Append(d.now, trace.MpiRecv, 0, rank, comm, uint64(w.tag), w.size)
}
