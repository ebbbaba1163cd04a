package synthetic

import "github.com/coppice-hpc/coppice/trace"

// wavefront is a sweep over a two-dimensional grid by blocking calls: receive
// from west and north, compute, send to east and south. Sweeps follow one
// another through the grid like waves.
//
//	step | Recv west | Recv north | compute | Send east | Send south | write | slack
//
// A process on diagonal d works d stages after the corner; every receive finds
// its sender late by about a quarter of the computation, and in the first sweep
// by the filling of the pipeline. Sends are buffered.
type wavefront struct {
	base
	grid
	stage  uint64 // ticks between neighbouring diagonals
	before uint64 // ticks from a step's start to the least end of its computation
}

func (v *wavefront) slotLength() (slot, tail uint64) {
	slot = v.before + v.jitter + v.extra + 2*callTime + ioTime + 3*gap + slack
	return slot, (uint64(v.width) + uint64(v.height) - 2) * v.stage
}

// begin is when p starts step i: in its stage, but in the first sweep at once.
func (v *wavefront) begin(p uint32, i uint64) trace.Time {
	if i == 0 && v.steps > 0 {
		return v.start
	}
	return v.slotStart(i) + trace.Time(v.diagonal(p)*v.stage)
}

func (v *wavefront) idle(p uint32, i uint64) trace.Time { return v.begin(p, i) - slack }

// computed is when p has computed step i and sends to the east; it sends to the
// south one call later.
func (v *wavefront) computed(p uint32, i uint64) trace.Time {
	return v.slotStart(i) + trace.Time(v.diagonal(p)*v.stage+v.before+v.work(p, i)-v.o.Work)
}

func (v *wavefront) step(w *pen, i uint64) {
	t := v.begin(w.proc, i)
	w.enter(t, rStep)
	if q, ok := v.neighbour(w.proc, west); ok {
		t = v.receive(w, t+gap, q, 1, v.computed(q, i))
	}
	if q, ok := v.neighbour(w.proc, north); ok {
		t = v.receive(w, t+gap, q, 2, v.computed(q, i)+callTime)
	}
	end := v.computed(w.proc, i)
	v.compute(w, i, t+gap, end)
	if q, ok := v.neighbour(w.proc, east); ok {
		w.send(end, end+overhead, rSend, q, commWorld, 1, v.o.Bytes)
	}
	end += callTime
	if q, ok := v.neighbour(w.proc, south); ok {
		w.send(end, end+overhead, rSend, q, commWorld, 2, v.o.Bytes)
	}
	end += callTime
	if v.o.IO {
		v.write(w, i, end)
		end += ioTime
	}
	w.leave(end, rStep)
}

func (v *wavefront) period() uint64 { return v.repeats(1) }

func (v *wavefront) shape(p uint32) uint32 { return v.degree(p) }

func (v *wavefront) receive(w *pen, t trace.Time, from uint32, tag uint64, sent trace.Time) trace.Time {
	end := max(t, sent+trace.Time(Flight(v.o.Bytes))) + overhead
	w.recv(t, end, from, commWorld, tag, v.o.Bytes)
	return end
}
