package simnet

import (
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// Iterations that repeat are added instead of run. At the end of some iterations of an outermost loop that all processes
// have, all of them stop. When clocks and stamps under way, relative to the clock of process 0, are then what they were some
// iterations before, and what is left of the loop has the computation of those iterations, it takes the same time again and
// again. This is exact: all numbers are compared.

// Periodic is what a Calc may be, to let iterations be skipped.
type Periodic interface {
	// Repeats returns how often, at most n times, the entries [first, first+period) come again right behind themselves: for
	// each i below the result and k below the period, entry first+(i+1)*period+k equals entry first+k. Calls for one process
	// come from one goroutine at a time.
	Repeats(process uint32, first, period, n uint64) (uint64, error)
}

// leastLoop is the least number of iterations of a loop that is looked at.
const leastLoop = 4

// periods are how many iterations a state may come back after.
var periods = [...]uint64{1, 2, 4, 8}

// skipper is where the search for repeated states stands. It is the same at all ranks.
type skipper struct {
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
	state   []int64
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
func (r *run) lookForLoops(calc Calc, o Options) error {
	_, periodic := calc.(Periodic)
	able := int64(0)
	if periodic && !o.NoSkip {
		able = 1
	}
	for _, w := range r.workers {
		if w.unpaired > 0 {
			able = 0
		}
	}
	able, err := r.least(able)
	if able > 0 {
		r.skip.loops = r.code.commonLoops()
	}
	r.stopAt(0, 1)
	return err
}

// stopAt tells the workers where processes stop next.
func (r *run) stopAt(loop int, iteration uint64) {
	s := &r.skip
	for loop < len(s.loops) && iteration >= s.loops[loop] {
		loop, iteration = loop+1, 1
	}
	s.loop, s.at = loop, iteration
	for _, w := range r.workers {
		if w.stopLoop, w.stopLeft = 0, 0; loop < len(s.loops) {
			w.stopLoop, w.stopLeft = uint32(loop)+1, s.loops[loop]-iteration
		}
	}
}

// giveUp goes on to the next loop.
func (r *run) giveUp() {
	r.skip.ref = 0
	for _, w := range r.workers {
		w.mark = mark{}
	}
	r.stopAt(r.skip.loop+1, 1)
}

// goOn lets the processes that stopped run again.
func (r *run) goOn() {
	for _, w := range r.workers {
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
func (r *run) advance() error {
	s := &r.skip
	base, floor, err := r.origin()
	if err != nil {
		return err
	}
	if s.ref > 0 {
		if s.ref == 1 && s.next == 0 {
			if some, err := r.maybe(); !some || err != nil {
				r.giveUp()
				return err
			}
		}
		same := int64(1)
		for _, w := range r.workers {
			if !w.same(base, floor) {
				same = 0
			}
		}
		period := s.at - s.ref
		n, err := r.least(same * int64((s.loops[s.loop]-s.at-1)/period))
		if err != nil {
			return err
		}
		if n > 0 {
			if n, err = r.repeats(uint64(n)); err != nil {
				return err
			}
		}
		if n > 0 {
			err = r.jump(uint64(n), period, base-s.base)
			r.giveUp()
			return err
		}
		if s.next++; s.next < len(periods) {
			r.stopAt(s.loop, s.ref+periods[s.next])
			return nil
		}
		ref := s.ref
		s.ref = 0
		for _, w := range r.workers {
			w.mark.kept, w.mark.log = false, nil
		}
		r.stopAt(s.loop, max(ref+ref/4, s.at+1))
		return nil
	}
	for _, w := range r.workers {
		w.keep(base, floor)
	}
	s.ref, s.base, s.next = s.at, base, 0
	r.stopAt(s.loop, s.ref+periods[0])
	return nil
}

// origin returns the clock of process 0, and a time before which no message can still arrive but those under way.
func (r *run) origin() (base, floor int64, err error) {
	v := []int64{Never, Never}
	for _, w := range r.workers {
		if w.lo == 0 && len(w.procs) > 0 {
			v[0] = w.procs[0].cpu
		}
		v[1] = min(v[1], w.earliest())
	}
	if r.comm.Size() > 1 {
		err = r.comm.AllreduceInt64(v, mpi.Min)
	}
	return v[0], v[1], err
}

// least returns the least n of all ranks.
func (r *run) least(n int64) (int64, error) {
	if r.comm.Size() == 1 {
		return n, nil
	}
	v := []int64{n}
	err := r.comm.AllreduceInt64(v, mpi.Min)
	return v[0], err
}

// maybe looks whether the first process of any worker has computation that repeats at all.
func (r *run) maybe() (bool, error) {
	some := []int64{0}
	var failed error
	for _, w := range r.workers {
		if len(w.procs) == 0 {
			continue
		}
		first := w.mark.calls[0]
		for _, p := range periods {
			n := uint64(1)
			if w.procs[0].calls > first && failed == nil {
				n, failed = w.calc.(Periodic).Repeats(w.lo, first, p*(w.procs[0].calls-first), 1)
			}
			some[0] += int64(n)
		}
	}
	if err := r.agree(failed); err != nil || r.comm.Size() == 1 {
		return some[0] > 0, err
	}
	err := r.comm.AllreduceInt64(some, mpi.Sum)
	return some[0] > 0, err
}

// repeats returns how often, at most n times, the computation since the state kept comes again, for all processes.
func (r *run) repeats(n uint64) (int64, error) {
	var failed error
	for _, w := range r.workers {
		for i := range w.procs {
			first := w.mark.calls[i]
			if n == 0 || failed != nil || w.procs[i].calls == first {
				continue
			}
			n, failed = w.calc.(Periodic).Repeats(w.lo+uint32(i), first, w.procs[i].calls-first, n)
		}
	}
	if err := r.agree(failed); err != nil {
		return 0, err
	}
	return r.least(int64(n))
}

// jump adds n times what happened since the state kept: period iterations in so much time.
func (r *run) jump(n, period uint64, time int64) error {
	var err error
	for _, w := range r.workers {
		if e := w.jump(n, period, time); e != nil && err == nil {
			err = e
		}
	}
	r.skip.skipped += n * period
	return r.agree(err)
}
