package synthetic

import "github.com/coppice-hpc/coppice/trace"

// pen writes the events of one location into a batch, or counts them where there is none.
type pen struct {
	m      *model
	proc   uint32
	thread uint32
	any    bool // the events belong to every thread, not to the master alone
	out    *trace.Batch
	n      uint64     // events counted
	skew   trace.Time // clock error of the process, modulo 2^64
}

// put writes an event, unless it is not one of the pen's location.
func (w *pen) put(t trace.Time, k trace.Kind, ref uint32, words ...uint64) {
	switch {
	case w.thread > 0 && !w.any:
	case w.out == nil:
		w.n++
	default:
		w.out.Append(t+w.skew, k, ref, words...)
	}
}

func (w *pen) enter(t trace.Time, region uint32) {
	w.metric(t)
	w.put(t, trace.Enter, region)
}

func (w *pen) leave(t trace.Time, region uint32) {
	w.metric(t)
	w.put(t, trace.Leave, region)
}

// metric writes the counter value that goes with an enter or leave: it grows with time.
func (w *pen) metric(t trace.Time) {
	if w.m.o.Metrics {
		w.put(t, trace.Metric, 0, 0, 1, uint64(trace.TypeUint64), uint64(t-origin)*2+uint64(w.proc))
	}
}

func (w *pen) record(t trace.Time, k trace.Kind, words ...uint64) {
	w.put(t, k, 0, words...)
}

// call writes a call that communicates nothing.
func (w *pen) call(t, end trace.Time, region uint32) {
	w.enter(t, region)
	w.leave(end, region)
}

// isend writes the start of a non-blocking send.
func (w *pen) isend(t trace.Time, to, comm uint32, tag, bytes, request uint64) {
	w.enter(t, rIsend)
	w.record(t+20, trace.MpiIsend, uint64(to), uint64(comm), tag, bytes, request)
	w.leave(t+overhead, rIsend)
}

// irecv writes the start of a non-blocking receive.
func (w *pen) irecv(t trace.Time, request uint64) {
	w.enter(t, rIrecv)
	w.record(t+20, trace.MpiIrecvRequest, request)
	w.leave(t+overhead, rIrecv)
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

// collective writes a blocking collective operation.
func (w *pen) collective(t, end trace.Time, region, op, comm, root uint32, sent, received uint64) {
	w.enter(t, region)
	w.record(t, trace.MpiCollectiveBegin)
	w.record(end, trace.MpiCollectiveEnd, uint64(op), uint64(comm), uint64(root), sent, received)
	w.leave(end, region)
}
