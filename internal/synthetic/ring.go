package synthetic

import "github.com/coppice-hpc/coppice/trace"

// ring passes a message to the right neighbour in every step, by blocking calls:
//
//	slot | compute | Send | Recv | write | slack
//
// Sends are buffered. A process alone computes only.
type ring struct{ base }

func (r *ring) slotLength() (slot, tail uint64) {
	return gap + r.workMax + overhead + gap + Flight(r.o.Bytes) + overhead + 2*gap + ioTime + collectiveTime(r.n) + 200 + slack, 0
}

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
		w.recv(t, end, left, commWorld, 7, r.o.Bytes)
		t = end
	}
	if r.o.Every > 0 && (i+1)%r.o.Every == 0 {
		end := at + trace.Time(r.slot-ioTime-slack-2*gap-200+r.perturb(200, w.proc, i, saltLeave))
		w.collective(t+gap, end, rAllreduce, opAllreduce, commWorld, noRoot, 8, 8)
		t = end
	}
	r.endStep(w, i, t)
}

func (r *ring) period() uint64 { return r.repeats(r.o.Every) }
