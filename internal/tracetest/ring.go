package tracetest

import "github.com/coppice-hpc/coppice/trace"

// ring passes a message to the right neighbour in every step, by blocking calls:
//
//	slot | compute | Send | Recv | write | slack
//
// Sends are buffered. A process alone computes only.
type ring struct{ *model }

func (r *ring) slotLength() (slot, tail uint64) {
	return gap + r.workMax + overhead + gap + Flight(r.o.Bytes) + overhead + 2*gap + ioTime + collectiveTime(r.n) + 200 + slack, 0
}

func (r *ring) rounds(_ uint32, slots uint64) uint64 { return slots }

func (r *ring) idle(_ uint32, i uint64) trace.Time { return r.slotStart(i) - slack }

func (r *ring) closed() bool { return true }

func (r *ring) comms() []commInfo { return nil }

// sent is when p starts to send in step i.
func (r *ring) sent(p uint32, i uint64) trace.Time {
	return r.slotStart(i) + gap + trace.Time(r.work(p, i))
}

func (r *ring) step(w *pen, i uint64) {
	at, t := r.slotStart(i), r.sent(w.proc, i)
	w.enter(at, rStep)
	r.compute(w, i, at+gap, t)
	if w.thread > 0 {
		return
	}
	if r.n > 1 {
		right, left := (w.proc+1)%r.n, (w.proc+r.n-1)%r.n
		w.send(t, t+overhead, rSend, right, commWorld, 7, r.o.Bytes)
		t += overhead + gap
		sent := r.sent(left, i)
		end := max(t, sent+trace.Time(Flight(r.o.Bytes))) + overhead
		w.late(sent, t, end, left, true)
		w.recv(t, end, left, commWorld, 7, r.o.Bytes)
		t = end
	}
	if r.reduces(i) {
		end := at + trace.Time(r.slot-ioTime-slack-2*gap-200+r.perturb(200, w.proc, i, saltLeave))
		w.share(shareKey{commWorld, i, 0}, t+gap, t+gap, end)
		w.collective(t+gap, end, rAllreduce, opAllreduce, commWorld, noRoot, 8, 8)
		t = end
	}
	if r.o.IO {
		r.write(w, i, t+gap)
		t += gap + ioTime
	}
	w.leave(t+gap, rStep)
}

func (r *ring) reduces(i uint64) bool { return r.o.Every > 0 && (i+1)%r.o.Every == 0 }

func (r *ring) size(_, thread uint32, from, to uint64) size {
	z := r.stepSize(thread, from, to)
	if thread > 0 {
		return z
	}
	if r.n > 1 {
		z = z.plus(calls(2, 2).times(to - from))
	}
	if r.o.Every > 0 {
		z = z.plus(calls(1, 2).times(to/r.o.Every - from/r.o.Every))
	}
	return z
}

func (r *ring) messages(add func(from, to uint32, count, bytes uint64)) {
	for p := range r.n {
		if r.n > 1 {
			add(p, (p+1)%r.n, r.steps, r.steps*r.o.Bytes)
		}
	}
}

func (r *ring) collectives(add func(comm uint32, count uint64)) {
	if r.o.Every > 0 {
		add(commWorld, r.steps/r.o.Every)
	}
}
