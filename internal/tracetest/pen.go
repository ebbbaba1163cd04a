package tracetest

import "github.com/coppice-hpc/coppice/trace"

// pen writes the events of one location. With a batch it makes events, with a
// tally it sums up what they mean, which is how Truth gets its times.
type pen struct {
	m      *model
	proc   uint32
	thread uint32
	any    bool // the events belong to every thread, not to the master alone
	out    *trace.Batch
	sum    *tally
	skew   trace.Time // clock error of the process, modulo 2^64
}

// mute reports that the current events are not the pen's location's.
func (w *pen) mute() bool { return w.thread > 0 && !w.any }

func (w *pen) enter(t trace.Time, region uint32) {
	if w.mute() {
		return
	}
	if w.sum != nil {
		w.sum.enter(t, region)
		return
	}
	w.metric(t)
	w.out.Append(t+w.skew, trace.Enter, region)
}

func (w *pen) leave(t trace.Time, region uint32) {
	if w.mute() {
		return
	}
	if w.sum != nil {
		w.sum.leave(t, region)
		return
	}
	w.metric(t)
	w.out.Append(t+w.skew, trace.Leave, region)
}

// metric writes the counter value that goes with an enter or leave.
func (w *pen) metric(t trace.Time) {
	if w.m.o.Metrics {
		w.out.Append(t+w.skew, trace.Metric, 0, 0, 1, uint64(trace.TypeUint64), instructions(t, w.proc))
	}
}

// instructions is the program's counter: it grows with time.
func instructions(t trace.Time, proc uint32) uint64 {
	return uint64(t-origin)*2 + uint64(proc)
}

func (w *pen) record(t trace.Time, k trace.Kind, words ...uint64) {
	if w.mute() {
		return
	}
	if w.sum != nil {
		w.sum.at(t)
		return
	}
	w.out.Append(t+w.skew, k, 0, words...)
}

// call writes a call that communicates nothing.
func (w *pen) call(t, end trace.Time, region uint32) {
	w.enter(t, region)
	w.leave(end, region)
}

// isend writes the start of a non-blocking send and returns its end.
func (w *pen) isend(t trace.Time, to, comm uint32, tag, bytes, request uint64) trace.Time {
	w.enter(t, rIsend)
	w.record(t+20, trace.MpiIsend, uint64(to), uint64(comm), tag, bytes, request)
	w.leave(t+overhead, rIsend)
	return t + overhead + gap
}

// irecv writes the start of a non-blocking receive and returns its end.
func (w *pen) irecv(t trace.Time, request uint64) trace.Time {
	w.enter(t, rIrecv)
	w.record(t+20, trace.MpiIrecvRequest, request)
	w.leave(t+overhead, rIrecv)
	return t + overhead + gap
}

// send writes a blocking send that ends at the given time.
func (w *pen) send(t, end trace.Time, region, to, comm uint32, tag, bytes uint64) {
	w.enter(t, region)
	w.record(t+20, trace.MpiSend, uint64(to), uint64(comm), tag, bytes)
	w.leave(end, region)
}

// recv writes a blocking receive that ends at the given time.
func (w *pen) recv(t, end trace.Time, from, comm uint32, tag, bytes uint64) {
	w.enter(t, rRecv)
	w.record(end-20, trace.MpiRecv, uint64(from), uint64(comm), tag, bytes)
	w.leave(end, rRecv)
}

// share notes the member's part in a collective operation: the enter of the
// call that starts it, and of the one that can block, with its leave.
func (w *pen) share(key shareKey, started, enter, left trace.Time) {
	if w.sum != nil && w.thread == 0 {
		w.sum.parts = append(w.sum.parts, share{key, started + w.skew, enter + w.skew, left + w.skew})
	}
}

// collective writes a blocking collective operation.
func (w *pen) collective(t, end trace.Time, region, op, comm, root uint32, sent, received uint64) {
	w.enter(t, region)
	w.record(t, trace.MpiCollectiveBegin)
	w.record(end, trace.MpiCollectiveEnd, uint64(op), uint64(comm), uint64(root), sent, received)
	w.leave(end, region)
}

// late notes a message whose send began at sent, whose receiver could block
// from the given time on and had it at end. A wait is charged for it if charge.
func (w *pen) late(sent, ready, end trace.Time, from uint32, charge bool) {
	if w.sum == nil || w.thread > 0 {
		return
	}
	sent += w.m.skewOf(from)
	ready, end = ready+w.skew, end+w.skew
	w.sum.sendRecv += uint64(max(end, sent) - sent)
	if sent <= ready {
		return
	}
	w.sum.late++
	w.sum.potential += uint64(sent - ready)
	if charge {
		w.sum.wait += uint64(min(sent, end) - ready)
	}
}
