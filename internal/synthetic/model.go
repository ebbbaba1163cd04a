package synthetic

import (
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/trace"
)

// Durations of the simulated machine in ticks.
const (
	origin   = trace.Time(1_000_000_000_000) // time of the first event
	initTime = 1_000_000                     // MPI_Init, start-up included
	overhead = 200                           // a call that waits for nobody
	gap      = 50                            // between two calls
	latency  = 1500                          // of a message, without its bytes
	perByte  = 10                            // bytes transferred in a tick
	slack    = 6000                          // nothing happens after idle for that long
	ioEvery  = 8
	ioTime   = 5000
)

// model is what all programs share. It is read-only after newModel.
//
// The main loop runs in slots of fixed length: step i of every process starts
// at its slot's start, and the slot is long enough for the slowest process.
// What happens in a step therefore depends on the step's number and hashes
// only; waiting inside the step follows from the partners' hashed times.
type model struct {
	o       Options
	n       uint32 // processes
	steps   uint64
	slot    uint64     // length of a step
	start   trace.Time // of the first step
	finish  trace.Time // when every process has done its last step
	bare    bool       // too few events for more than main
	jitter  uint64     // largest random part of the computation
	extra   uint64     // largest persistent part
	workMax uint64
	prog    program
	own     []Comm
	skews   bool
	counts  map[countKey][]uint64
}

// program is the main loop of a kind of program.
type program interface {
	// slotLength returns the length of a step and of all steps beyond steps
	// times that length.
	slotLength() (slot, tail uint64)
	// rounds returns how many steps process proc makes in the given number of
	// slots: the same, but for a process with several steps in a slot.
	rounds(proc uint32, slots uint64) uint64
	// idle returns a time at which proc has done step i-1, step i lies at least
	// slack ticks ahead and no call but main is open. i is the number of steps
	// or a multiple of 4.
	idle(proc uint32, i uint64) trace.Time
	// step writes step i as seen by the pen's location.
	step(w *pen, i uint64)
	// period returns after how many steps their numbers of events repeat, the same for all processes of a shape; 0 where
	// they do not.
	period() uint64
	shape(proc uint32) uint32
	// comms lists the program's own communicators.
	comms() []Comm
}

// base is what most programs do alike.
type base struct{ *model }

func (b base) rounds(_ uint32, slots uint64) uint64 { return slots }
func (b base) idle(_ uint32, i uint64) trace.Time   { return b.slotStart(i) - slack }
func (b base) comms() []Comm                        { return nil }
func (b base) shape(uint32) uint32                  { return 0 }
func (b base) period() uint64                       { return 0 }

// mostCounts is the largest number of steps whose events are counted once for all.
const mostCounts = 1 << 16

// repeats is the period of programs that write every few steps and reduce every so many; 0 is never.
func (b base) repeats(every uint64) uint64 {
	period := max(every, 1)
	for b.o.IO && period%ioEvery != 0 {
		period *= 2
	}
	if period > mostCounts {
		return 0
	}
	return period
}

// Comm is a communicator of a program: its processes by rank.
type Comm struct {
	Name    string
	Members []uint32
}

func newModel(o Options) (*model, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &model{o: o, n: uint32(o.Processes), start: origin + initTime + slack, skews: o.Skew > 0, counts: map[countKey][]uint64{}}
	m.jitter = o.Work * uint64(o.Jitter) / 100
	m.extra = o.Work * uint64(o.Imbalance) / 100
	m.workMax = o.Work + m.jitter + m.extra
	switch o.Program {
	case "stencil":
		m.prog = &stencil{base{m}, newGrid(m.n)}
	case "ring":
		m.prog = &ring{base{m}}
	case "wavefront":
		wait := m.o.Work/4 + m.jitter + m.extra + Flight(m.o.Bytes)
		before := m.o.Work + wait + 4*callTime
		m.prog = &wavefront{base{m}, newGrid(m.n), before + m.jitter + m.extra + Flight(m.o.Bytes) - wait, before}
	case "masterworker":
		v := &masterWorker{base: base{m}, cohorts: max((uint64(m.n)-1+cohort-1)/cohort, 1)}
		serve := Flight(m.o.Bytes) + 4*callTime + 2*think
		v.window = m.jitter + m.extra + (cohort+1)*(serve+20) + Flight(m.o.Bytes) + 2*callTime + slack
		v.round = max(v.cohorts*v.window, v.window+m.o.Work+ioTime+3*slack)
		m.prog = v
	case "irregular":
		v := &irregular{base: base{m}, edge: 1}
		for v.edge*v.edge < m.n {
			v.edge++
		}
		v.numBlocks = (m.n + v.edge - 1) / v.edge
		v.phase = gap + m.workMax + 2*Flight(m.o.Bytes) + 6*callTime + collectiveTime(m.n) + 200 + 2*gap
		m.prog = v
	default:
		return nil, fmt.Errorf("%w: unknown program %q: choose stencil, ring, wavefront, masterworker or irregular", ErrOptions, o.Program)
	}
	m.own = m.prog.comms()
	var tail uint64
	m.slot, tail = m.prog.slotLength()
	m.chooseSteps()
	if hi, total := bits.Mul64(m.steps, m.slot); hi != 0 || total > 1<<62 {
		return nil, fmt.Errorf("%w: %d steps of %d ticks exceed the clock", ErrOptions, m.steps, m.slot)
	}
	if m.prog.period() == 0 && m.steps > maxHashedSteps/uint64(m.n) {
		return nil, fmt.Errorf("%w: %d steps of %d processes: %s counts step by step, at most %d", ErrOptions, m.steps, m.n, o.Program, maxHashedSteps)
	}
	m.finish = m.start + trace.Time(m.steps*m.slot+tail)
	return m, nil
}

// chooseSteps sets the number of steps from the options.
func (m *model) chooseSteps() {
	m.steps = m.o.Iterations
	if m.steps > 0 {
		return
	}
	if m.total(0) > m.o.Events {
		m.bare = true
		return
	}
	if m.prog.period() == 0 {
		frame, sample := m.total(0), max(8, min(64, 64_000/uint64(m.n)))
		m.steps = sample // a step may be another one at the end of the run
		per := (m.total(sample) - frame + sample - 1) / sample
		m.steps = (m.o.Events - frame) / max(per, 1)
		return
	}
	low, high := uint64(0), m.o.Events+1
	for low+1 < high {
		if mid := low + (high-low)/2; m.total(mid) <= m.o.Events {
			low = mid
		} else {
			high = mid
		}
	}
	m.steps = low
}

// total returns the events of a run of the given number of steps, without faults.
func (m *model) total(steps uint64) uint64 {
	sound := *m
	sound.o.Broken = 0
	w := pen{m: &sound}
	sound.writePrologue(&w)
	sound.writeEpilogue(&w)
	sum := w.n * uint64(m.n)
	for p := range m.n {
		r := m.prog.rounds(p, steps)
		sum += m.count(p, 0, 0, r)
		if m.o.Threads > 1 {
			sum += uint64(m.o.Threads-1) * m.count(p, 1, 0, r)
		}
		if sum > maxIterations*2 {
			break
		}
	}
	return sum
}

// countKey names locations whose steps have the same numbers of events.
type countKey struct {
	shape  uint32
	master bool
}

// count returns the events of the steps [from, to) of a location.
func (m *model) count(proc, thread uint32, from, to uint64) uint64 {
	w := pen{m: m, proc: proc, thread: thread}
	period := m.prog.period()
	if period == 0 {
		for i := from; i < to; i++ {
			m.prog.step(&w, i)
		}
		return w.n
	}
	key := countKey{m.prog.shape(proc), thread == 0}
	sums, ok := m.counts[key] // of the first steps
	if !ok {
		sums = []uint64{0}
		for i := range period {
			m.prog.step(&w, i)
			sums = append(sums, w.n)
		}
		m.counts[key] = sums
	}
	before := func(i uint64) uint64 { return i/period*sums[period] + sums[i%period] }
	return before(to) - before(from)
}

func (m *model) slotStart(i uint64) trace.Time { return m.start + trace.Time(i*m.slot) }

// work returns the length of the computation of process p in step i.
func (m *model) work(p uint32, i uint64) uint64 {
	w := m.o.Work
	if m.extra > 0 {
		w += mix(m.o.Seed, uint64(p), 0, saltImbalance) % (m.extra + 1)
	}
	if m.jitter > 0 {
		w += mix(m.o.Seed, uint64(p), i, saltWork) % (m.jitter + 1)
	}
	return w
}

// Flight is the time from the start of a send to the arrival of its last byte.
func Flight(bytes uint64) uint64 { return latency + bytes/perByte }

// collectiveTime is how long a collective over n processes takes once all are there.
func collectiveTime(n uint32) uint64 { return 2000 + 100*uint64(bits.Len32(n)) }

// perturb returns a number in [0, limit), 0 without jitter.
func (m *model) perturb(limit uint64, p uint32, i, salt uint64) uint64 {
	if m.jitter == 0 {
		return 0
	}
	return mix(m.o.Seed, uint64(p), i, salt) % limit
}

// compute writes a computation in [a, b): nested user functions, the innermost
// with a parallel region if there are threads.
func (m *model) compute(w *pen, i uint64, a, b trace.Time) {
	depth := trace.Time(m.o.Depth)
	d := (b - a) / (4 * (depth + 1))
	for k := range depth {
		w.enter(a+k*d, rUser+uint32(k))
		if k == 0 && m.o.Parameters {
			w.record(a, trace.ParameterUnsignedInt, parameterStep, i)
		}
	}
	if m.o.Threads > 1 {
		m.parallel(w, i, a+depth*d, b-depth*d)
	}
	for k := depth; k > 0; k-- {
		w.leave(b-(k-1)*d, rUser+uint32(k-1))
	}
}

// parallel writes a parallel region in [a, b) as seen by the pen's location.
func (m *model) parallel(w *pen, i uint64, a, b trace.Time) {
	team := m.team(w.proc)
	e := (b - a) / 16
	length := (b - a) - 6*e
	own := trace.Time(mix(m.o.Seed, uint64(w.proc), i, saltThread+uint64(w.thread)<<8) % uint64(length/4+1))
	if m.jitter == 0 {
		own = 0
	}
	w.enter(a, rParallel)
	w.record(a, trace.ThreadFork, uint64(trace.ParadigmOpenMP), uint64(m.o.Threads))
	w.any = true
	w.record(a+e, trace.ThreadTeamBegin, uint64(team))
	w.enter(a+2*e, rFor)
	w.leave(b-4*e-own, rFor)
	w.enter(b-3*e-own, rImplicitBarrier)
	w.leave(b-2*e, rImplicitBarrier)
	w.record(b-2*e, trace.ThreadTeamEnd, uint64(team))
	w.any = false
	w.record(b, trace.ThreadJoin, uint64(trace.ParadigmOpenMP))
	w.leave(b, rParallel)
}

// write writes an I/O operation at t in the steps that have one.
func (m *model) write(w *pen, i uint64, t trace.Time) {
	if m.o.IO && (i+1)%ioEvery == 0 {
		m.writeOp(w, i, i/ioEvery+1, t)
	}
}

// endStep ends step i after t, with its write.
func (m *model) endStep(w *pen, i uint64, t trace.Time) {
	if m.o.IO {
		m.write(w, i, t+gap)
		t += gap + ioTime
	}
	w.leave(t+gap, rStep)
}

func (m *model) writeOp(w *pen, i, id uint64, t trace.Time) {
	w.enter(t, rWrite)
	w.record(t, trace.IoOperationBegin, uint64(m.ioHandle(w.proc)), 1, 0, m.o.Bytes, id)
	end := t + ioTime/2 + trace.Time(m.perturb(ioTime/4, w.proc, i, saltLeave))
	w.record(end, trace.IoOperationComplete, uint64(m.ioHandle(w.proc)), m.o.Bytes, id)
	w.leave(end, rWrite)
}
