package simnet

import (
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Iterations that repeat are added instead of run. At the end of some iterations of an outermost loop that all processes
// have, all of them stop. When clocks and stamps in progress, relative to the clock of process 0, are then what they were some
// iterations before, and what is left of the loop has the computation of those iterations, it takes the same time again and
// again. This is exact: all numbers are compared.

// leastLoop is the least number of iterations of a loop that is looked at.
const leastLoop = 4

// periods are how many iterations a state may come back after.
var periods = [...]uint64{1, 2, 4, 8}

// skipper is where the search for repeated states is. It is the same at all ranks.
type skipper struct {
	run     *run
	loops   []uint64 // iterations of each loop; nil where none is looked at
	loop    int      // the loop that is looked at
	at      uint64   // the iteration at whose end processes stop
	ref     uint64   // the iteration of the state kept, 0 for none
	next    int      // of periods, the one to compare next
	base    int64    // clock of process 0 then
	skipped uint64
}

// mark is the state of a worker at the end of an iteration.
type mark struct {
	w       *worker
	state   []int64
	now     []int64
	times   []ProcessTimes
	calls   []uint64
	entered []uint64
	events  uint64
	plain   bool
	kept    bool
	log     [][]int64 // of each process: the times of its calls since then, where there is an observer
}

// outerLoops returns the iterations of the outermost loops of a kind, in order; ok is false for very many.
func (c *code) outerLoops(k *kind) (list []uint64, ok bool) {
	const most = 1 << 20
	stack := []frame{{block: k.entry}}
	for steps := 0; len(stack) > 0; steps++ {
		f := &stack[len(stack)-1]
		b := &c.blocks[f.block]
		switch {
		case steps > most:
			return nil, false
		case b.count >= leastLoop && b.len > 0:
			list = append(list, b.count)
			stack = stack[:len(stack)-1]
		case b.count > 1 || f.child == b.len:
			stack = stack[:len(stack)-1]
		default:
			kid := c.kids[b.first+f.child]
			f.child++
			if kid&isCall == 0 {
				stack = append(stack, frame{block: kid})
			}
		}
	}
	return list, true
}

// commonLoops returns the outermost loops that all kinds have, nil if they differ.
func (c *code) commonLoops() []uint64 {
	var common []uint64
	for i := range c.kinds {
		list, ok := c.outerLoops(&c.kinds[i])
		if !ok || i > 0 && !slices.Equal(list, common) {
			return nil
		}
		common = list
	}
	return common
}

// lookForLoops begins the search, where the program and its computation allow one. Collective.
func (s *skipper) lookForLoops(calc Calc, o Options) error {
	_, periodic := calc.(Periodic)
	able := int64(0)
	if periodic && !o.NoSkip {
		able = 1
	}
	for _, w := range s.run.workers {
		if w.unmatched > 0 {
			able = 0
		}
	}
	able, err := s.run.least(able)
	if able > 0 {
		s.loops = s.run.code.commonLoops()
	}
	s.stopAt(0, 1)
	return err
}

// stopAt tells the workers where processes stop next.
func (s *skipper) stopAt(loop int, iteration uint64) {
	for loop < len(s.loops) && iteration >= s.loops[loop] {
		loop, iteration = loop+1, 1
	}
	s.loop, s.at = loop, iteration
	for _, w := range s.run.workers {
		if w.stopLoop, w.stopLeft = 0, 0; loop < len(s.loops) {
			w.stopLoop, w.stopLeft = uint32(loop)+1, s.loops[loop]-iteration
		}
	}
}

// giveUp goes on to the next loop.
func (s *skipper) giveUp() {
	s.ref = 0
	for _, w := range s.run.workers {
		w.mark = mark{w: w}
	}
	s.stopAt(s.loop+1, 1)
}

// goOn lets the processes that stopped run again.
func (s *skipper) goOn() {
	for _, w := range s.run.workers {
		if w.stopped == 0 {
			continue
		}
		w.stopped = 0
		for i := len(w.procs) - 1; i >= 0; i-- {
			if w.procs[i].state == stopped {
				w.ready = append(w.ready, w.lo+uint32(i))
			}
		}
	}
}

// advance looks at the state at the end of an iteration at which all processes have stopped, skips iterations if it came
// back, and chooses where to stop next. Collective.
func (s *skipper) advance() error {
	base, floor, err := s.origin()
	if err != nil {
		return err
	}
	if s.ref > 0 {
		if s.ref == 1 && s.next == 0 {
			if some, err := s.maybe(); !some || err != nil {
				s.giveUp()
				return err
			}
		}
		same := int64(1)
		for _, w := range s.run.workers {
			if !w.mark.same(base, floor) {
				same = 0
			}
		}
		period := s.at - s.ref
		n, err := s.run.least(same * int64((s.loops[s.loop]-s.at-1)/period))
		if err != nil {
			return err
		}
		if n > 0 {
			if n, err = s.repeats(uint64(n)); err != nil {
				return err
			}
		}
		if n > 0 {
			err = s.jump(uint64(n), period, base-s.base)
			s.giveUp()
			return err
		}
		if s.next++; s.next < len(periods) {
			s.stopAt(s.loop, s.ref+periods[s.next])
			return nil
		}
		ref := s.ref
		s.ref = 0
		for _, w := range s.run.workers {
			w.mark.kept, w.mark.log = false, nil
		}
		s.stopAt(s.loop, max(ref+ref/4, s.at+1))
		return nil
	}
	for _, w := range s.run.workers {
		w.mark.keep(base, floor)
	}
	s.ref, s.base, s.next = s.at, base, 0
	s.stopAt(s.loop, s.ref+periods[0])
	return nil
}

// origin returns the clock of process 0, and a time before which no message can still arrive but those in progress.
func (s *skipper) origin() (base, floor int64, err error) {
	v := []int64{network.Never, network.Never}
	for _, w := range s.run.workers {
		if w.lo == 0 && len(w.procs) > 0 {
			v[0] = w.procs[0].cpu
		}
		v[1] = min(v[1], w.mark.earliest())
	}
	err = s.run.comm.AllreduceInt64(v, mpi.Min)
	return v[0], v[1], err
}

// maybe looks whether the first process of any worker has computation that repeats at all.
func (s *skipper) maybe() (bool, error) {
	some := []int64{0}
	var failed error
	for _, w := range s.run.workers {
		if len(w.procs) == 0 {
			continue
		}
		first := w.mark.calls[0]
		for _, p := range periods {
			n := uint64(1)
			if w.procs[0].calls > first && failed == nil {
				n, failed = w.windows.calc.(Periodic).Repeats(w.lo, first, p*(w.procs[0].calls-first), 1)
			}
			some[0] += int64(n)
		}
	}
	if err := s.run.agree(failed); err != nil {
		return false, err
	}
	err := s.run.comm.AllreduceInt64(some, mpi.Sum)
	return some[0] > 0, err
}

// repeats returns how often, at most n times, the computation since the state kept comes again, for all processes.
func (s *skipper) repeats(n uint64) (int64, error) {
	var failed error
	for _, w := range s.run.workers {
		for i := range w.procs {
			first := w.mark.calls[i]
			if n == 0 || failed != nil || w.procs[i].calls == first {
				continue
			}
			n, failed = w.windows.calc.(Periodic).Repeats(w.lo+uint32(i), first, w.procs[i].calls-first, n)
		}
	}
	if err := s.run.agree(failed); err != nil {
		return 0, err
	}
	return s.run.least(int64(n))
}

// jump adds n times what happened since the state kept: period iterations in so much time.
func (s *skipper) jump(n, period uint64, time int64) error {
	var err error
	for _, w := range s.run.workers {
		if e := w.mark.jump(n, period, time); e != nil && err == nil {
			err = e
		}
	}
	s.skipped += n * period
	return s.run.agree(err)
}

// earliest returns the earliest clock of a process and arrival of a message that is not received.
func (m *mark) earliest() int64 {
	w := m.w
	t := int64(network.Never)
	for i := range w.procs {
		t = min(t, w.procs[i].cpu)
	}
	for i := range w.chans {
		c := &w.chans[i]
		if c.flags&(alias|null|toFar) != 0 {
			continue
		}
		for k := c.doneR; k != c.sent; k++ {
			if c.flags&wide == 0 {
				t = min(t, *w.narrow(c, k))
			} else {
				t = min(t, w.wide(c, k)[slotArrival])
			}
		}
	}
	return t
}

// scan adds all clocks and stamps in progress, relative to base, to a list. A clock that can no longer matter counts as the least that
// can: a send begins at the process's own clock at the earliest, and no message arrives before floor.
func (m *mark) scan(list []int64, base, floor int64) []int64 {
	w := m.w
	for i := range w.procs {
		p := &w.procs[i]
		list = append(list, p.cpu-base, max(p.tx, p.cpu)-base, max(p.tb, p.cpu)-base, max(p.rx, floor)-base)
	}
	stamp := func(x *int64) { list = append(list, *x-base) }
	posted := func(x *int64) { list = append(list, max(*x, floor)-base) }
	for i := range w.chans {
		c := &w.chans[i]
		if c.flags&(alias|null) != 0 {
			continue
		}
		first := c.first()
		list = append(list, int64(c.sent-first))
		if c.flags&(toFar|fromFar) == 0 { // a half knows of the other what it was told
			list = append(list, int64(c.doneS-first)<<32|int64(c.doneR-first))
		}
		if c.flags&toFar == 0 || c.flags&rendezvous != 0 {
			list = append(list, int64(c.posted-first))
		}
		for k := first; c.flags&wide != 0 && k != c.sent; k++ {
			list = append(list, w.wide(c, k)[slotCost])
		}
		w.each(c, stamp, posted)
	}
	return list
}

// isPlain tells whether the state holds all that is in progress: no collective operation and nothing completed out of order.
func (m *mark) isPlain() bool {
	w := m.w
	return len(w.holes) == 0 && len(w.coll.meetings) == 0 && len(w.steps.messages.first) == 0 &&
		!slices.ContainsFunc(w.coll.pending, func(q []pending) bool { return len(q) > 0 })
}

// keep remembers the state.
func (m *mark) keep(base, floor int64) {
	w := m.w
	m.state, m.plain, m.kept = m.scan(m.state[:0], base, floor), m.isPlain(), true
	if w.observer != nil {
		m.log = make([][]int64, len(w.procs))
	}
	m.times = append(m.times[:0], w.times...)
	m.entered = append(m.entered[:0], w.coll.entered...)
	m.events = w.events
	m.calls = m.calls[:0]
	for i := range w.procs {
		m.calls = append(m.calls, w.procs[i].calls)
	}
}

// same tells whether the state is the one kept.
func (m *mark) same(base, floor int64) bool {
	if !m.plain || !m.isPlain() {
		return false
	}
	m.now = m.scan(m.now[:0], base, floor)
	return slices.Equal(m.now, m.state)
}

// report tells the observer of the calls of a process in n periods that are skipped.
func (m *mark) report(i int, n uint64, time int64) error {
	w := m.w
	times := m.log[i]
	first := w.procs[i].calls
	for range n {
		for k := range times {
			times[k] += time
		}
		if err := w.observer.Calls(w.lo+uint32(i), first, times); err != nil {
			return err
		}
		first += uint64(len(times) / 2)
	}
	return nil
}

// jump adds n times what happened since the state was kept: so many iterations, and so much time.
func (m *mark) jump(n, iterations uint64, time int64) error {
	w := m.w
	most := int64(0)
	for i := range w.procs {
		p := &w.procs[i]
		most = max(most, p.cpu, p.tx, p.tb, p.rx)
	}
	shift := network.MulTime(int64(n), time)
	if most > network.Never-shift-network.Longest {
		return program.Errorf("a process is busy for more than 106 days, the range of a clock")
	}
	for i := range w.procs {
		p, t, old := &w.procs[i], &w.times[i], &m.times[i]
		if w.observer != nil && len(m.log[i]) > 0 {
			if err := m.report(i, n, time); err != nil {
				return err
			}
		}
		p.cpu, p.tx, p.tb, p.rx = p.cpu+shift, p.tx+shift, p.tb+shift, p.rx+shift
		p.calls += n * (p.calls - m.calls[i])
		w.frames[p.stack+uint32(p.outer)-1].left -= n * iterations
		k := int64(n)
		t.Compute += k * (t.Compute - old.Compute)
		t.Send += k * (t.Send - old.Send)
		t.Receive += k * (t.Receive - old.Receive)
		t.Wait += k * (t.Wait - old.Wait)
		t.Collective += k * (t.Collective - old.Collective)
		t.File += k * (t.File - old.File)
		t.Messages += n * (t.Messages - old.Messages)
		mask := uint64(1)<<w.windows.log - 1
		if p.calls&mask != 0 {
			if err := w.windows.calc.Fill(w.lo+uint32(i), p.calls&^mask, w.windows.of(uint32(i))); err != nil {
				return err
			}
		}
	}
	for i := range w.coll.entered {
		w.coll.entered[i] += n * (w.coll.entered[i] - m.entered[i])
	}
	w.events += n * (w.events - m.events)
	later := func(x *int64) { *x += shift }
	for i := range w.chans {
		if c := &w.chans[i]; c.flags&(alias|null) == 0 {
			w.each(c, later, later)
		}
	}
	return nil
}
