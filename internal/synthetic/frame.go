package synthetic

import (
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Definitions with fixed references.
const (
	parameterStep = 0
	stringProgram = 1
)

// A location's stream consists of units: unit i is step i with the faults
// planted before it; unit 0 begins with the prologue, and one unit more than
// there are steps holds the epilogue.
func (m *model) units(proc uint32) uint64 { return m.prog.rounds(proc, m.steps) + 1 }

// unit writes unit i of the pen's location.
func (m *model) unit(w *pen, i uint64) {
	last := m.units(w.proc) - 1
	m.around(w, i, last)
	if i < last {
		m.prog.step(w, i)
	}
}

// around writes what unit i has but its step: prologue, faults, epilogue.
func (m *model) around(w *pen, i, last uint64) {
	if i == 0 {
		m.writePrologue(w)
	}
	m.plant(w, i, last)
	if i == last {
		m.writeEpilogue(w)
	}
}

// unitEvents returns the events of the units [from, to) of a location.
func (m *model) unitEvents(proc, thread uint32, from, to uint64) uint64 {
	last := m.units(proc) - 1
	w := pen{m: m, proc: proc, thread: thread}
	special := []uint64{0, middle(last), last}
	for _, i := range slices.Compact(special) {
		if from <= i && i < to {
			m.around(&w, i, last)
		}
	}
	return w.n + m.count(proc, thread, min(from, last), min(to, last))
}

// writePrologue writes main's enter and MPI_Init, which creates the communicators.
func (m *model) writePrologue(w *pen) {
	t := origin
	if w.proc > 0 {
		t += trace.Time(m.perturb(1000, w.proc, 0, saltStart))
	}
	if m.o.IO {
		w.record(t, trace.ProgramBegin, stringProgram, 0)
	}
	w.enter(t, rMain)
	if !m.bare {
		end := origin + initTime - 200 + trace.Time(m.perturb(200, w.proc, 1, saltStart))
		w.enter(t+500, rInit)
		w.record(t+500, trace.MpiCollectiveBegin)
		w.record(end-60, trace.CommCreate, uint64(commWorld))
		w.record(end-40, trace.CommCreate, uint64(commSelf))
		w.record(end-20, trace.MpiCollectiveEnd, opCreateHandle, uint64(commWorld), noRoot, 0, 0)
		w.leave(end, rInit)
	}
	if m.o.IO {
		w.record(origin+initTime, trace.IoCreateHandle, uint64(m.ioHandle(w.proc)), 1, 1, 0)
	}
}

const finalizeTime = 5000

// end is when the last call returns to main.
func (m *model) end() trace.Time {
	return m.finish + trace.Time(500+collectiveTime(m.n)+300+finalizeTime+500)
}

// writeEpilogue writes a barrier, MPI_Finalize and main's leave.
func (m *model) writeEpilogue(w *pen) {
	t := m.finish
	if m.o.IO {
		w.record(t-gap, trace.IoDestroyHandle, uint64(m.ioHandle(w.proc)))
	}
	if !m.bare {
		if !m.hits(ShortCollective, w.proc) {
			op := uint32(opBarrier)
			if m.hits(MixedCollective, w.proc) {
				op = opAllreduce
			}
			end := t + trace.Time(500+collectiveTime(m.n)+m.perturb(200, w.proc, 0, saltLeave))
			t += trace.Time(m.perturb(500, w.proc, 2, saltStart))
			w.collective(t, end, rBarrier, op, commWorld, noRoot, 0, 0)
		}
		t = m.end() - finalizeTime - 500
		w.call(t, m.end()-trace.Time(m.perturb(500, w.proc, 3, saltStart)), rFinalize)
	}
	if m.hits(OpenCall, w.proc) {
		w.enter(m.end(), rBroken)
		return
	}
	w.leave(m.end()+gap, rMain)
	if m.o.IO {
		w.record(m.end()+gap, trace.ProgramEnd, 0)
	}
}

// skewOf returns the error of a process's clock, modulo 2^64.
func (m *model) skewOf(proc uint32) trace.Time {
	if !m.skews {
		return 0
	}
	return trace.Time(mix(m.o.Seed, uint64(proc), 0, saltSkew)%(2*m.o.Skew+1) - m.o.Skew)
}

func (m *model) ioHandle(proc uint32) uint32 { return proc }

// team is the communicator of a process's threads.
func (m *model) team(proc uint32) uint32 {
	return commOwn + uint32(len(m.own)) + proc
}
