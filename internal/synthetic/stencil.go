package synthetic

import "github.com/coppice-hpc/coppice/trace"

// stencil is a two-dimensional halo exchange: each process computes, exchanges
// its borders with up to four neighbours by Irecv, Isend and Waitall, and every
// few steps all reduce a norm.
//
//	slot | compute | 4 x Irecv | 4 x Isend | Waitall | Allreduce | write | slack
//
// A border without neighbour leaves its place in the order of calls empty.
type stencil struct {
	base
	grid
}

// callTime is the distance of two calls that start communication.
const callTime = overhead + gap

// ready is when p has computed step i.
func (s *stencil) ready(p uint32, i uint64) trace.Time {
	return s.slotStart(i) + gap + trace.Time(s.work(p, i))
}

// sent is when p starts to send in a direction.
func (s *stencil) sent(p, direction uint32, i uint64) trace.Time {
	return s.ready(p, i) + trace.Time(4+direction)*callTime
}

// exchanged bounds the end of the exchange of every process, from the slot's start.
func (s *stencil) exchanged() uint64 {
	return gap + s.workMax + 8*callTime + Flight(s.o.Bytes) + overhead
}

func (s *stencil) slotLength() (slot, tail uint64) {
	return s.exchanged() + gap + collectiveTime(s.n) + 200 + gap + ioTime + gap + slack, 0
}

func (s *stencil) step(w *pen, i uint64) {
	at := s.slotStart(i)
	w.enter(at, rStep)
	t := s.ready(w.proc, i)
	s.compute(w, i, at+gap, t)
	if w.thread > 0 {
		return
	}
	first := i*8 + 1
	for d := range uint32(4) {
		if _, ok := s.neighbour(w.proc, d); ok {
			w.irecv(t+trace.Time(d)*callTime, first+uint64(d))
		}
	}
	for d := range uint32(4) {
		if q, ok := s.neighbour(w.proc, d); ok {
			w.isend(s.sent(w.proc, d, i), q, commWorld, uint64(d), s.o.Bytes, first+4+uint64(d))
		}
	}
	t = s.waitall(w, i, t+8*callTime, first)
	if (i+1)%s.o.Every == 0 {
		t = s.reduce(w, i, t+gap)
	}
	s.endStep(w, i, t)
}

// waitall completes the exchange and returns its end.
func (s *stencil) waitall(w *pen, i uint64, t trace.Time, first uint64) trace.Time {
	end := t
	for d := range uint32(4) {
		if q, ok := s.neighbour(w.proc, d); ok {
			end = max(end, s.sent(q, d^1, i)+trace.Time(Flight(s.o.Bytes)))
		}
	}
	end += overhead
	w.enter(t, rWaitall)
	for d := range uint32(4) {
		if q, ok := s.neighbour(w.proc, d); ok {
			w.record(end-100+10*trace.Time(d), trace.MpiIrecv, uint64(q), uint64(commWorld), uint64(d^1), s.o.Bytes, first+uint64(d))
		}
	}
	for d := range uint32(4) {
		if _, ok := s.neighbour(w.proc, d); ok {
			w.record(end-60+10*trace.Time(d), trace.MpiIsendComplete, first+4+uint64(d))
		}
	}
	w.leave(end, rWaitall)
	return end
}

func (s *stencil) period() uint64 { return s.repeats(s.o.Every) }

func (s *stencil) shape(p uint32) uint32 { return s.degree(p) }

// reduce writes the reduction of step i and returns its end: nobody leaves
// before the last possible one has entered.
func (s *stencil) reduce(w *pen, i uint64, t trace.Time) trace.Time {
	end := s.slotStart(i) + trace.Time(s.exchanged()+gap+collectiveTime(s.n)+s.perturb(200, w.proc, i, saltLeave))
	w.collective(t, end, rAllreduce, opAllreduce, commWorld, noRoot, 8, 8)
	return end
}
